"""How long a request is waited for: progress shows that it is alive, and only so much can be had by that."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcpfleet.errors import RequestTimedOut


class Patience:
    """Waits `timeout` seconds from the beginning or the last progress, and `most` in all; None: for ever."""

    def __init__(self, timeout: float | None, most: float | None) -> None:
        self._timeout = timeout
        self._most = most
        self._ends: float | None = None
        self._running: asyncio.Timeout | None = None

    @asynccontextmanager
    async def bounding(self) -> AsyncIterator[None]:
        """Raise `RequestTimedOut` from the block once the time is over."""
        now = asyncio.get_running_loop().time()
        self._ends = None if self._most is None else now + self._most
        try:
            async with asyncio.timeout_at(self._deadline(now)) as self._running:
                yield
        except TimeoutError:
            if self._running is None or not self._running.expired():
                raise
            raise RequestTimedOut("no answer came in time") from None

    def extend(self) -> None:
        """Begin to wait anew: it goes on."""
        if self._running is not None and not self._running.expired():
            self._running.reschedule(self._deadline(asyncio.get_running_loop().time()))

    def _deadline(self, now: float) -> float | None:
        bounds = [
            bound for bound in (None if self._timeout is None else now + self._timeout, self._ends) if bound is not None
        ]
        return min(bounds, default=None)
