"""A bounded number of places, and a bounded line before them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final

from mcpfleet.errors import Overloaded

WAITING: Final = 200
PATIENCE: Final = 30.0


class Place:
    """One place, given up once its block is left, and all has ended that was begun in it and goes on after that."""

    __slots__ = ("_holders", "_leave")

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave = leave
        self._holders = 1

    def hold(self) -> None:
        """Keep the place for something that may go on for longer; `drop` it then."""
        self._holders += 1

    def drop(self) -> None:
        """Note that one who kept the place has ended."""
        self._holders -= 1
        if not self._holders:
            self._leave()


TAKEN: Final[ContextVar[Place | None]] = ContextVar("place", default=None)
"""The place that the current task is in."""


class Places:
    """Lets up to `limit` in at once; up to `waiting` more wait, each at most `patience` seconds.

    For use from one event loop. Beyond these bounds `taken` raises `Overloaded`.
    """

    def __init__(self, limit: int, waiting: int = WAITING, patience: float = PATIENCE) -> None:
        self._places = asyncio.Semaphore(limit)
        self._waiting = waiting
        self._patience = patience
        self._in_line = 0

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Hold a place for the time of the block, and of what it leaves running: see `Place`."""
        await self.take()
        place = Place(self.leave)
        outer = TAKEN.set(place)
        try:
            yield
        finally:
            TAKEN.reset(outer)
            place.drop()

    async def take(self) -> None:
        """Wait for a place, first come, first served."""
        if self._places.locked() and self._in_line >= self._waiting:
            raise Overloaded
        self._in_line += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._places.acquire()
        except TimeoutError:
            raise Overloaded from None
        finally:
            self._in_line -= 1

    def leave(self) -> None:
        """Give a place up."""
        self._places.release()
