"""The way from a task's run to its client, which is not there: what is said and asked is written on the task."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from mcpfleet.errors import NotAnswered, Unavailable
from mcpfleet.protocol.jsontext import dumps
from mcpfleet.server.recurrence import Recurrence
from mcpfleet.server.round import Memory
from mcpfleet.server.tasks.attempt import Attempt, Stop, Superseded
from mcpfleet.server.tasks.record import Record
from mcpfleet.server.tasks.slots import Slot
from mcpfleet.server.tasks.store import UnknownTask
from mcpfleet.server.tool import Tool

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL,
    "emergency": logging.CRITICAL,
}

log = logging.getLogger("mcpfleet.tasks.run")


class TaskOutlet:
    """The outlet of one attempt at a task.

    A question parks the task: its client finds it there, and answers it whenever it likes. An answer, and what a step
    came to, is found again by a later attempt.
    """

    def __init__(
        self,
        attempt: Attempt,
        memory: Memory,
        slot: Slot,
        *,
        on_park: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        """`memory` is what the call had come to before it was a task; `on_park` is called whenever the handler begins
        to wait for an answer; `clock` tells Unix seconds."""
        self._attempt = attempt
        self._memory = memory
        self._slot = slot
        self._on_park = on_park
        self._clock = clock
        self._recurrence = Recurrence()
        self._writing = asyncio.Lock()

    async def notify(self, method: str, params: Mapping[str, Any], *, newest_of: str | None = None) -> None:
        """Progress becomes the task's message, and a log message goes to the process's log: neither may be sent for a
        task ("Task Status Notifications"). All else is dropped."""
        if method == "notifications/progress":
            dumps(params)  # what no client could be sent is refused here, as it is in a call
            self._attempt.say(_progress(params))
        elif method == "notifications/message":
            log.log(LEVELS[params["level"]], "%s: %s", self._attempt.names.id, params["data"])

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> Mapping[str, Any]:
        """The answer, now or whenever it comes; without `timeout` the client has as long as the task lives."""
        if self._attempt.stopped is not None:  # a handler that cleans up, for whom no answer would come
            raise asyncio.CancelledError
        question = {"method": method, "params": dict(params)}
        key = self._recurrence.key("q", question)
        if key in self._attempt.record.closed:
            raise NotAnswered("The client did not answer in time.")
        found = self._attempt.record.answer(key)
        if found is None:
            found = self._memory.answers.get(key)
        if found is not None:
            return found

        def asking(record: Record) -> Record | None:
            known = key in record.questions or record.answer(key) is not None
            return None if known else record.asking(key, question, self._clock())

        await self._write(asking)
        try:
            async with self._slot.parking(), asyncio.timeout(timeout):
                self._on_park()
                return await self._attempt.answer(key)
        except TimeoutError:
            return await self._give_up(key)

    async def hang_up(self, retry_ms: int) -> None:
        """Do nothing: no connection waits."""

    async def detach(self, tool: Tool) -> None:
        """Do nothing: it is a task."""

    async def step(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """What the work came to in an earlier attempt, else now; it is stored before it is returned."""
        key = self._recurrence.key("s", name)
        if key in self._memory.steps:
            return self._memory.steps[key]
        if (done := self._attempt.record.step(key)) is not None:
            return done[0]
        value = await work()
        await self._write(
            lambda record: None if record.step(key) is not None else record.stepped(key, value, self._clock())
        )
        return value

    async def _give_up(self, key: str) -> Mapping[str, Any]:
        def giving_up(record: Record) -> Record | None:
            return record.given_up(key, self._clock()) if key in record.questions else None

        await self._write(giving_up)
        answer = self._attempt.record.answer(key)  # which may have come at the last moment
        if answer is None:
            raise NotAnswered("The client did not answer in time.")
        return answer

    async def _write(self, make: Callable[[Record], Record | None]) -> None:
        """One change at a time: a handler may do several things at once."""
        try:
            async with self._writing:
                await self._attempt.change(make)
        except (Superseded, UnknownTask):
            self._attempt.stop(Stop.SUPERSEDED)
            await asyncio.sleep(0)  # here the handler is cancelled, unless it has been already
            raise asyncio.CancelledError from None
        except Unavailable:
            raise NotAnswered("The server cannot reach its store.") from None


def _progress(params: Mapping[str, Any]) -> str:
    if "message" in params:
        return str(params["message"])
    done, total = params["progress"], params.get("total")
    return f"{done:g}" if total is None else f"{done:g} of {total:g}"
