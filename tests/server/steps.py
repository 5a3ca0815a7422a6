"""One step of a process, at which it stops: between any two of its steps something else can happen."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from itertools import count
from typing import Any, Final, Literal, TypeVar

from mcpfleet.backplane.intercepted import Verb
from mcpfleet.errors import BackplaneError
from mcpfleet.server.events import EVENTS
from mcpfleet.server.sessions import SEATS
from tests.server.wire import DEADLINE

Moment = Literal["before", "after"]

_Result = TypeVar("_Result")

_SESSIONS: Final = re.compile(r"[0-9a-f]{32}(/|$)")


class Step:
    """The verb with this number, of those that a process asks for sessions from now on; and before or after it acts."""

    def __init__(self, number: int, moment: Moment) -> None:
        self.reached = asyncio.Event()
        self.acting = 0
        """How many verbs are under way."""
        self._number = number
        self._moment = moment
        self._what = "nothing"
        self._count = count()
        self._gate = asyncio.Event()

    def go(self) -> None:
        """Let the process go on."""
        self._gate.set()

    async def take(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        """Do it, stopping if this is the step."""
        if not _of_sessions(verb, name) or next(self._count) != self._number:
            return await self._counted(act)
        self._what = f"{verb} {name}"
        if self._moment == "before":
            await self._stop()
            return await self._counted(act)
        try:
            result = await self._counted(act)
        except BackplaneError:
            await self._stop()
            raise
        await self._stop()
        return result

    async def _counted(self, act: Callable[[], Awaitable[_Result]]) -> _Result:
        self.acting += 1
        try:
            return await act()
        finally:
            self.acting -= 1

    async def _stop(self) -> None:
        self.reached.set()
        await self._gate.wait()

    def __str__(self) -> str:
        return f"{self._moment} step {self._number}, {self._what}"


def every_step() -> Iterator[Step]:
    """Every step there may be; break when one is not reached."""
    for number in count():
        yield from (Step(number, "before"), Step(number, "after"))


async def first(*ways: Coroutine[Any, Any, object]) -> None:
    """Return when the first of them does."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, timeout=DEADLINE, return_when=asyncio.FIRST_COMPLETED)
        assert done, "none of them has come"
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _of_sessions(verb: Verb, name: str) -> bool:
    return bool(_SESSIONS.match(name)) or name == SEATS or (name == EVENTS and verb != "read")
