"""Processes that run calls, and others that follow them, for tests that stop either anywhere."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final, TypeVar

from mcpfleet.backplane.base import Backplane, Bell, Position
from mcpfleet.backplane.faults import Died
from mcpfleet.backplane.intercepted import Intercepted, Verb
from mcpfleet.backplane.leases import Keeper
from mcpfleet.errors import LogGap
from mcpfleet.server.exchange import Delivery, Exchange, Record, Retention
from mcpfleet.server.streams import CallEnded, CallStream, read_call
from tests.clock import Clock

RETENTION: Final = Retention(ttl=60, keep=100)
LEASE: Final = 0.3

_Result = TypeVar("_Result")
_ids = count()


class Impatient(Intercepted):
    """A view whose bells ring at once, as if `poll` had passed."""

    def __init__(self, inner: Backplane) -> None:
        super().__init__(inner, self)

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        return await act()

    def bell(self, inner: Bell, /) -> Bell:
        return self

    async def rung(self) -> None:
        await asyncio.sleep(0)


class Runner:
    """A process that runs one call, and whose keeper makes no rounds."""

    def __init__(self, view: Backplane, *, lease: float = LEASE) -> None:
        self.view = view
        self.keeper = Keeper(view, lease=lease)
        self.exchange = Exchange("session", f"{next(_ids):016x}")
        self.start: asyncio.Future[Position] = asyncio.get_running_loop().create_future()

    async def run(self, messages: list[bytes], opened: Callable[[], Awaitable[object]] | None = None) -> bool:
        """Write the messages and the result; False if the call was ended without it."""
        ended: list[bool] = []
        try:
            async with asyncio.TaskGroup() as tasks:
                stream = await self.open(tasks)
                if opened is not None:
                    await opened()
                self.start.set_result(stream.start)
                for message in messages:
                    await stream.write(message)
                await stream.end(b"result")
        except* (CallEnded, Died):
            ended.append(True)
        return not ended

    async def open(self, tasks: asyncio.TaskGroup) -> CallStream:
        """Open the stream of its call."""
        record = Record(7, "tools/call")
        return await CallStream.open(tasks, self.view, self.keeper, self.exchange, record, retention=RETENTION)


class Reader:
    """A process that follows calls and has been in contact with the store for long."""

    def __init__(self, view: Backplane) -> None:
        self.view = view
        self._clock = Clock()
        self.keeper = Keeper(view, lease=LEASE, clock=self._clock)
        self.gap = False

    def in_contact(self) -> "Reader":
        """Itself, after a lease time of answers; its clock stands still then, so that contact is not broken again."""
        for _ in range(5):
            self.keeper.contact.answered(self._clock())
            self._clock.pass_by(LEASE / 3)
        self.keeper.contact.answered(self._clock())
        return self

    async def read(self, runner: Runner) -> list[bytes | None]:
        """All that it is given of a call once it is open, up to the end or a gap."""
        given: list[Delivery] = []
        with self._noting_a_gap():
            async for delivery in read_call(
                self.view,
                self.keeper,
                runner.exchange,
                await runner.start,
                retention=RETENTION,
                failure=lambda _: b"unknown",
            ):
                given.append(delivery)  # noqa: PERF401 - what was given before a gap counts too
        assert self.gap or given[-1].last
        return [delivery.body for delivery in given]

    @contextmanager
    def _noting_a_gap(self) -> Iterator[None]:
        try:
            yield
        except LogGap:
            self.gap = True
