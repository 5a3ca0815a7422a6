"""Who is to be told of what in this process: one reader of the fleet's events, however many streams are open.

A watch never holds more than one notice of each of its topics, so a stream that is read slowly costs no memory, a burst
becomes one notice, and the last of a burst is always told.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from typing import NoReturn

from mcpfleet.errors import LogGap
from mcpfleet.server import events
from mcpfleet.server.feed import Feed
from mcpfleet.server.topics import Topic


class Watch:
    """What one stream is still to tell."""

    __slots__ = ("_doubtful", "_due", "_news", "_over", "owner", "topics")

    def __init__(self, topics: frozenset[Topic], owner: tuple[str, str, str]) -> None:
        self.topics = topics
        self.owner = owner
        self._due: dict[Topic, None] = {}
        self._doubtful = False
        self._over = False
        self._news = asyncio.Event()

    @property
    def doubtful(self) -> bool:
        """Whether what is due next is due because changes may have been missed."""
        return self._doubtful

    def changed(self, topic: Topic) -> None:
        """Note that this topic is to be told of."""
        self._due[topic] = None
        self._news.set()

    def doubt(self) -> None:
        """Note that any of the topics may have changed."""
        self._doubtful = True
        self._news.set()

    def end(self) -> None:
        """Let there be no more news."""
        self._over = True
        self._news.set()

    async def news(self) -> bool:
        """Wait until something is due; False once it is over, whatever is due then."""
        await self._news.wait()
        return not self._over

    def take(self) -> Sequence[Topic]:
        """What is due, each topic once, in the order in which it changed first; nothing of it is due any more."""
        if self._doubtful:
            self._due.update(dict.fromkeys(sorted(self.topics)))
        due = tuple(self._due)
        self._due.clear()
        self._doubtful = False
        if not self._over:
            self._news.clear()
        return due


class Watches:
    """The watches of one process; `run` it as a task of the process."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._watches: set[Watch] = set()
        self._by_topic: defaultdict[Topic, set[Watch]] = defaultdict(set)

    def __len__(self) -> int:
        """How many streams watch."""
        return len(self._watches)

    @contextmanager
    def watching(self, topics: frozenset[Topic], owner: tuple[str, str, str]) -> Iterator[Watch]:
        """A watch for the time of the block: it misses nothing that is published after it was made."""
        watch = Watch(topics, owner)
        self._watches.add(watch)
        for topic in topics:
            self._by_topic[topic].add(watch)
        try:
            yield watch
        finally:
            self._watches.discard(watch)
            for topic in topics:
                self._forget(topic, watch)

    async def run(self) -> NoReturn:
        """Hand out what the fleet publishes until cancelled; after a gap, and at the start, everything is in doubt."""
        while True:
            doubts = self._feed.doubts
            position = await self._feed.end()
            self._doubt_all()
            with suppress(LogGap):
                async with aclosing(self._feed.after(position, doubts=doubts)) as entries:
                    async for entry in entries:
                        self._hand_out(entry.data)

    def _hand_out(self, data: bytes) -> None:
        change = events.read(data)
        if change is None:
            return
        if change.kind == events.VERSION_GONE:
            self._doubt_all()
        for watch in self._by_topic.get(change.topic, ()):
            if change.concerns(watch.owner):
                watch.changed(change.topic)

    def _doubt_all(self) -> None:
        for watch in self._watches:
            watch.doubt()

    def _forget(self, topic: Topic, watch: Watch) -> None:
        watches = self._by_topic[topic]
        watches.discard(watch)
        if not watches:
            del self._by_topic[topic]
