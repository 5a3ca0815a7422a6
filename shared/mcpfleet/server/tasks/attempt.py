"""One attempt at a task: what its run may still write, which is nothing once the record is in other hands."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Any, Final, NoReturn

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import Backplane
from mcpfleet.errors import BackplaneError, McpFleetError, Unavailable
from mcpfleet.server.outcome import STOPPED, Outcome
from mcpfleet.server.tasks.names import Names
from mcpfleet.server.tasks.record import Record
from mcpfleet.server.tasks.store import Step, Tasks, UnknownTask

SAY_EVERY: Final = 0.25
"""Of what a run says of itself, the newest is stored once in so many seconds."""

log = logging.getLogger("mcpfleet.tasks")


class Stop(Enum):
    """Why a run ends before its handler does."""

    SUPERSEDED = "superseded"
    """Its task has ended, or is in other hands."""
    EXPIRED = "expired"
    LEAVING = "leaving"
    """The process is told to stop."""
    NOT_BEGUN = "not_begun"
    """It was not known to be safe to begin."""


class Superseded(McpFleetError):
    """The task has ended, or another attempt is made at it."""


class Attempt:
    """A task in the hands of the asyncio task that made this; `record` is as it was last seen."""

    def __init__(self, tasks: Tasks, names: Names, record: Record, lease: bytes, *, hold: float) -> None:
        """For `hold` seconds a write is tried again while the store is away."""
        self.names = names
        self.record = record
        self.stopped: Stop | None = None
        self._tasks = tasks
        self._lease = lease
        self._hold = hold
        self._handler: asyncio.Task[Any] | None = None
        self._done = False
        self._news = asyncio.Condition()
        self._said: str | None = None
        self._to_say = asyncio.Event()

    def stop(self, why: Stop) -> None:
        """Cancel the handler, or let it not begin; only the first reason counts, and none once it is done."""
        if self.stopped is None and not self._done:
            self.stopped = why
            if self._handler is not None:
                self._handler.cancel()

    async def served(self, handling: Awaitable[Outcome]) -> Outcome:
        """What the handler comes to; it means nothing if the attempt was stopped, or its task's time was up."""
        self._handler = asyncio.current_task()
        left = max(0.0, self.record.ends - self._tasks.clock())
        timer = asyncio.get_running_loop().call_later(left, self.stop, Stop.EXPIRED)
        try:
            outcome = await handling
        except asyncio.CancelledError:
            if self.stopped is None or self._handler is None or self._handler.uncancel():
                raise
            return STOPPED
        finally:
            timer.cancel()
            self._done = True
        if self.stopped is not None and self._handler is not None:  # it took no notice of being cancelled
            self._handler.uncancel()
        return outcome

    async def change(self, make: Callable[[Record], Record | None]) -> None:
        """Change the record; None: it is as it should be. Raises `Superseded`, or `Unavailable` in the end."""

        def step(record: Record) -> Step | None:
            self._demand(record)
            made = make(record)
            return None if made is None else Step(made)

        await self._seen(await self.persist(step))

    async def end(self, make: Callable[[Record], Step]) -> None:
        """Write how the attempt ends, unless it has been ended; `Unavailable` if that could not be written."""

        def step(record: Record) -> Step | None:
            return None if record.terminal or record.runner != self.record.runner else make(record)

        with suppress(UnknownTask):
            await self.persist(step)

    async def persist(self, step: Callable[[Record], Step | None]) -> Record:
        """Write it, however often the store is away meanwhile, for the time to hold."""
        loop, backoff = asyncio.get_running_loop(), Backoff()
        deadline = loop.time() + self._hold
        while True:
            try:
                return await self._tasks.change(self.names, step)
            except Unavailable:
                if loop.time() >= deadline:
                    raise
                await asyncio.sleep(backoff.pause())

    async def answer(self, key: str) -> Mapping[str, Any]:
        """Wait for the client's answer to a question that was asked."""
        async with self._news:
            while (answer := self.record.answer(key)) is None:
                await self._news.wait()
        return answer

    def say(self, message: str) -> None:
        """Let the task's clients read this soon, unless something newer is said before."""
        self._said = message
        self._to_say.set()

    async def talk(self) -> NoReturn:
        """Store what is said until cancelled."""
        while True:
            await self._to_say.wait()
            self._to_say.clear()
            if self._said is not None:
                life = self.record.life(self._tasks.clock())
                with suppress(BackplaneError):  # what is said next will do
                    await self._tasks.say(self.names, self._lease, self._said, life=life)
            await asyncio.sleep(SAY_EVERY)

    async def watch(self, backplane: Backplane) -> NoReturn:
        """Heed what others write to the task, until cancelled: answers, and its end."""
        backoff = Backoff()
        async with backplane.watch(self.names.record) as bell:
            while True:
                try:
                    await self.look()
                except Unavailable:
                    await asyncio.sleep(backoff.pause())
                else:
                    backoff.reset()
                    await bell.rung()

    async def look(self) -> None:
        """See how the record is now; one that is in other hands stops the run."""
        try:
            found = await self._tasks.find(self.names.id)
            self._demand(found.record)
        except (UnknownTask, Superseded):
            self.stop(Stop.SUPERSEDED)
        else:
            await self._seen(found.record)

    def _demand(self, record: Record) -> None:
        if record.terminal or record.runner != self.record.runner:
            raise Superseded(self.names.id)

    async def _seen(self, record: Record) -> None:
        async with self._news:
            self.record = record
            self._news.notify_all()
