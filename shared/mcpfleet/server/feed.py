"""The fleet's events as the streams of one process read them: the log is read once, however many streams are open.

The newest entries are kept in memory. Whoever is at one of them, or at the end, is served from there; whoever is
further back, or in another history, reads the log itself until it has caught up. So the memory is a copy and decides
nothing.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from functools import partial
from itertools import islice
from typing import Final, NoReturn

from mcpfleet.backplane.base import Backplane, Entry, Position
from mcpfleet.backplane.follow import PAGE, follow
from mcpfleet.backplane.outage import outlast
from mcpfleet.errors import LogGap
from mcpfleet.server.events import EVENTS

RECENT: Final = 256


class Feed:
    """One reader of the events log; `run` it as a task of the process."""

    def __init__(self, backplane: Backplane, *, ttl: float) -> None:
        """`ttl` is the life in seconds that the log has after somebody last read it."""
        self._backplane = backplane
        self._ttl = ttl
        self._recent: deque[Entry] = deque(maxlen=RECENT)
        self._end: Position | None = None
        self._news = asyncio.Event()
        self._doubts = 0

    async def run(self) -> NoReturn:
        """Read the log until cancelled."""
        while True:
            self._end = await self.end()
            self._recent.clear()
            self._tell()
            with suppress(LogGap):
                async with aclosing(follow(self._backplane, EVENTS, self._end, ttl=self._ttl)) as entries:
                    async for entry in entries:
                        self._recent.append(entry)
                        self._end = entry.position
                        self._tell()

    async def end(self) -> Position:
        """Where the log ends now; outages are waited out."""
        return await outlast(partial(self._backplane.open, EVENTS, ttl=self._ttl))

    def doubt(self) -> None:
        """Let everybody who reads see a gap: something has changed that no entry tells of."""
        self._doubts += 1
        self._tell()

    async def after(self, position: Position) -> AsyncGenerator[Entry, None]:
        """Yield every entry after the position, in order, once; outages are waited out.

        `LogGap`: something is lost, or may have changed without an entry. Close it when leaving early.
        """
        doubts = self._doubts
        while True:
            news = self._news
            if self._doubts != doubts:
                raise LogGap("the fleet has changed")
            entries = self._copied(position)
            if entries is None:
                entries = await outlast(partial(self._backplane.read, EVENTS, after=position, ttl=self._ttl))
            for entry in entries:
                position = entry.position
                yield entry
            if not entries:
                await news.wait()

    def _copied(self, position: Position) -> Sequence[Entry] | None:
        """What follows the position, from memory; None if it is not in memory."""
        if position == self._end:
            return ()
        if not self._recent:
            return None
        index = position.offset - self._recent[0].position.offset
        if 0 <= index < len(self._recent) and self._recent[index].position == position:
            return tuple(islice(self._recent, index + 1, index + 1 + PAGE))
        return None

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
