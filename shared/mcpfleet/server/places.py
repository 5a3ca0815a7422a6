"""A bounded number of places, and a bounded line before them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from mcpfleet.errors import Overloaded

WAITING: Final = 200
PATIENCE: Final = 30.0


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
        """Hold a place for the time of the block."""
        await self.take()
        try:
            yield
        finally:
            self.leave()

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
