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
        self._over = False
        self._waiting = 0
        self._coming_back = asyncio.Lock()

    @property
    def parked(self) -> bool:
        """Whether its run does nothing but wait."""
        return self._waiting > 0

    @asynccontextmanager
    async def parking(self) -> AsyncIterator[None]:
        """Let others have the place for the time of the block; its run may be in several such blocks at once.

        Whoever leaves the last of them waits for a place, unless he was cancelled.
        """
        cancelled = False
        self._waiting += 1
        self._release()
        try:
            yield
        except asyncio.CancelledError:
            cancelled = True
            raise
        finally:
            self._waiting -= 1
            if not cancelled:
                await self._resume()

    def leave(self) -> None:
        """Give it up for good."""
        self._over = True
        self._release()

    async def _resume(self) -> None:
        async with self._coming_back:  # a run has one place, however many parts of it come back at once
            if not (self._held or self._waiting or self._over):
                await self._free.acquire()
                self._held = True
        if self._waiting or self._over:  # meanwhile another part has begun to wait, or the run has ended
            self._release()

    def _release(self) -> None:
        if self._held:
            self._held = False
            self._free.release()
