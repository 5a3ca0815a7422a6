"""One connection to a session's standalone stream, while it is open."""

import asyncio
from contextlib import aclosing, suppress
from random import SystemRandom
from typing import Final

from mcpfleet.backplane.base import Position
from mcpfleet.backplane.follow import follow
from mcpfleet.backplane.outage import outlast
from mcpfleet.errors import LogGap
from mcpfleet.protocol import sse
from mcpfleet.protocol.jsonrpc import encode_notification
from mcpfleet.server import eventids, events, signals
from mcpfleet.server.eventids import StandalonePlace
from mcpfleet.server.feed import Doubted, Feed
from mcpfleet.server.peer import Peer
from mcpfleet.server.process import Process
from mcpfleet.server.sessions import Session
from mcpfleet.server.signals import Holder
from mcpfleet.server.subscriptions import Interest
from mcpfleet.server.tenure import Tenure
from mcpfleet.server.topics import Topic, told

_uniform: Final = SystemRandom().uniform


class StandaloneReader:
    """Delivers to one peer what its connection has to deliver, until it is over."""

    def __init__(
        self,
        process: Process,
        feed: Feed,
        session: Session,
        interest: Interest,
        holder: Holder,
        peer: Peer,
        *,
        entered: Position,
        after: StandalonePlace,
        doubts: int,
    ) -> None:
        """`entered` is where `holder` is in the session's log, `after` is where the connection begins to read.

        `doubts` are those of the feed before any of these was found.
        """
        self._backplane = process.backplane
        self._policy = process.policy
        self._feed = feed
        self._session = session
        self._interest = interest
        self._holder = holder
        self._peer = peer
        self._entered = entered
        self._own = after.own
        self._events = after.events
        self._number = after.number
        self._owing = after.owing
        self._doubts = doubts
        self._tenure = Tenure(holder)
        self._held = asyncio.Event()
        self._over = asyncio.Event()

    def end(self) -> None:
        """Let `run` return soon."""
        self._over.set()

    def priming(self) -> bytes:
        """An event without a message, whose id is where the stream begins."""
        return sse.encode(b"", id=self._id())

    async def run(self) -> None:
        """Read both logs until another connection takes over, the session ends, or `end` is called."""
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(self._read_own()), tasks.create_task(self._read_events())
            await self._over.wait()
            for each in reading:
                each.cancel()

    async def _read_own(self) -> None:
        """Heed who enters the session's log; another's turn and the end of the log are the connection's end."""
        with suppress(LogGap):
            await self._heed_all(self._own)
        if not self._held.is_set():
            await self._begin_now()
        self.end()

    async def _begin_now(self) -> None:
        """What was before the connection's own entry is lost, and so is who delivered what: all may have changed."""
        self._own = self._entered
        self._tenure.heed(self._holder)
        await self._begin_again()
        await self._all_changed()
        self._held.set()
        with suppress(LogGap):
            await self._heed_all(self._own)

    async def _heed_all(self, after: Position) -> None:
        ttl = self._policy.session_idle
        async with aclosing(follow(self._backplane, self._session.log, after, ttl=ttl)) as entries:
            async for entry in entries:
                signal = signals.read(entry.data)
                if isinstance(signal, Holder):
                    self._tenure.heed(signal)
                if self._tenure.over:
                    return
                if not self._tenure.silent:  # an id tells where the stream was when it last delivered
                    self._own = entry.position
                if self._tenure.held:
                    self._held.set()

    async def _read_events(self) -> None:
        await self._held.wait()
        if self._owing:
            await self._all_changed()
        while True:
            try:
                await self._deliver_all()
            except LogGap as gap:
                await asyncio.sleep(_uniform(0, self._policy.spread))
                if not isinstance(gap, Doubted):
                    await self._begin_again()
                await self._all_changed()

    async def _deliver_all(self) -> None:
        async with aclosing(self._feed.after(self._events, doubts=self._doubts)) as entries:
            async for entry in entries:
                self._events = entry.position
                change = events.read(entry.data)
                if change is None:
                    continue
                if self._interest.is_changed_by(change):
                    await outlast(self._interest.refresh)
                elif change.kind == events.VERSION_GONE and self._tenure.delivers(entry.position.offset):
                    await asyncio.sleep(_uniform(0, self._policy.spread))
                    await self._send_all()
                elif self._interest.includes(change) and self._tenure.delivers(entry.position.offset):
                    await self._send(change.topic)

    async def _begin_again(self) -> None:
        """Go on from the end of the events: what was before is lost."""
        self._doubts = self._feed.doubts
        self._events = await self._feed.end()
        self._tenure.begin_again()

    async def _all_changed(self) -> None:
        """Say that everything has changed, since it may have; what entries tell of is told besides.

        Whoever takes the stream up again before all of that was said is told all of it again.
        """
        self._doubts = self._feed.doubts
        await outlast(self._interest.refresh)
        if not self._tenure.silent:
            await self._send_all()
        self._owing = False

    async def _send_all(self) -> None:
        topics = self._interest.topics
        for left in range(len(topics) - 1, -1, -1):
            self._owing = left > 0
            await self._send(topics[-1 - left])

    async def _send(self, topic: Topic) -> None:
        if (telling := told(topic)) is not None:
            await self._peer.send(sse.encode(encode_notification(*telling), id=self._id()))

    def _id(self) -> str:
        self._number += 1
        place = StandalonePlace(self._holder.stream, self._own, self._events, self._number, self._owing)
        return eventids.write(self._session.id, place)
