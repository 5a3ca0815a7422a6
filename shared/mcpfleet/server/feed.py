"""The fleet's events as the streams of one process read them: the log is read once, however many streams are open.

The newest entries are kept in memory. Whoever is at one of them, or at the end, is served from there; whoever is
further back, or in another history, reads the log itself until it has caught up. So the memory is a copy and decides
nothing.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
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


class Doubted(LogGap):
    """Something may have changed of which no entry tells; the entries themselves go on where they were."""


class Feed:
    """One reader of the events log; `run` it as a task of the process."""

    def __init__(self, backplane: Backplane, *, ttl: float, on_loss: Callable[[], None] = lambda: None) -> None:
        """`ttl` is the life in seconds that the log has after somebody last read it.

        `on_loss` is called when the store has come back, or has lost entries: it may lack other things too.
        """
        self._backplane = backplane
        self._on_loss = on_loss
        self._ttl = ttl
        self._recent: deque[Entry] = deque()
        self._places: deque[Position] = deque()
        """Where the oldest of the recent entries follows, and where each of them is."""
        self._news = asyncio.Event()
        self._doubts = 0

    async def run(self) -> NoReturn:
        """Read the log until cancelled; an outage of the store is a gap, since nobody could publish meanwhile."""
        while True:
            end = await self.end()
            self._recent.clear()
            self._places = deque([end])
            self._tell()
            with suppress(LogGap):
                following = follow(self._backplane, EVENTS, end, ttl=self._ttl, on_return=self._returned)
                async with aclosing(following) as entries:
                    async for entry in entries:
                        self._keep(entry)
            self._on_loss()

    async def end(self) -> Position:
        """Where the log ends now; outages are waited out."""
        return await outlast(partial(self._backplane.open, EVENTS, ttl=self._ttl))

    def doubt(self) -> None:
        """Let everybody who reads see a gap: something has changed that no entry tells of."""
        self._doubts += 1
        self._tell()

    @property
    def doubts(self) -> int:
        """How often something may have changed without an entry; taken before a position, it goes with it."""
        return self._doubts

    async def after(self, position: Position, *, doubts: int) -> AsyncGenerator[Entry, None]:
        """Yield every entry after the position, in order, once; outages are waited out.

        `LogGap`: something is lost. `Doubted`: something may have changed without an entry since `doubts` was taken,
        before the position was. Close it when leaving early.
        """
        while True:
            news = self._news
            if self._doubts != doubts:
                raise Doubted("the fleet has changed")
            entries = self.recent(position)
            if entries is None:
                entries = await outlast(partial(self._backplane.read, EVENTS, after=position, ttl=self._ttl))
            for entry in entries:
                position = entry.position
                yield entry
            if not entries:
                await news.wait()

    def recent(self, position: Position) -> Sequence[Entry] | None:
        """What follows the position, as far as memory has it; None if the position itself is not in memory."""
        if not self._places:
            return None
        index = position.offset - self._places[0].offset
        if 0 <= index < len(self._places) and self._places[index] == position:
            return tuple(islice(self._recent, index, index + PAGE))
        return None

    def _returned(self) -> None:
        self._on_loss()
        self.doubt()

    def _keep(self, entry: Entry) -> None:
        self._recent.append(entry)
        self._places.append(entry.position)
        if len(self._recent) > RECENT:
            self._recent.popleft()
            self._places.popleft()
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
