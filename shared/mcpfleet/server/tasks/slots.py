"""How many tasks one process works at: a run that only waits for its client leaves its place to others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """A number of places."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    async def take(self) -> "Slot":
        """Wait for a place."""
        await self._free.acquire()
        return Slot(self._free)


class Slot:
    """One place, until it is left."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._held = True
        self._waiting = 0

    @property
    def parked(self) -> bool:
        """Whether its run does nothing but wait."""
        return self._waiting > 0

    @asynccontextmanager
    async def parking(self) -> AsyncIterator[None]:
        """Let others have the place for the time of the block; its run may be in several such blocks at once."""
        self._waiting += 1
        self.leave()
        try:
            yield
        except asyncio.CancelledError:
            self._waiting -= 1
            raise
        except TimeoutError:
            await self._resume()
            raise
        await self._resume()

    async def _resume(self) -> None:
        self._waiting -= 1
        if not self._waiting and not self._held:
            await self._free.acquire()
            self._held = True

    def leave(self) -> None:
        """Give it up."""
        if self._held:
            self._held = False
            self._free.release()
