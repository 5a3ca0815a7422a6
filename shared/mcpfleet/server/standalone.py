"""A session's standalone streams: its own log merged with the fleet's events (transports, "Listening for Messages").

Which connection delivers is decided by the order of the session's log, see `tenure`. So a half-dead connection never
blocks a new one, and nothing is copied per session for a broadcast: an event id carries the positions in both logs.
"""

from contextlib import suppress
from random import SystemRandom
from typing import Final

import msgspec

from mcpfleet.backplane.base import Position, mint
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.stored import pack
from mcpfleet.errors import Unavailable
from mcpfleet.protocol import sse
from mcpfleet.server.auth import Principal
from mcpfleet.server.eventids import StandalonePlace
from mcpfleet.server.events import EVENTS
from mcpfleet.server.feed import Feed
from mcpfleet.server.peer import Peer
from mcpfleet.server.permission import permitted
from mcpfleet.server.process import Process
from mcpfleet.server.reader import StandaloneReader
from mcpfleet.server.records import Records
from mcpfleet.server.server import Server
from mcpfleet.server.sessions import Session, Sessions, clear_if_ended, standalone_of
from mcpfleet.server.signals import Holder, Signals
from mcpfleet.server.subscriptions import Interest, Subscriptions
from mcpfleet.server.topics import LISTS, Topic, offered

RETRY_MS: Final = (500, 2000)
"""When, at random between these, a client whose stream ended with its process should connect again."""

_between: Final = SystemRandom().randint


class Begun(msgspec.Struct, frozen=True):
    """The session has had a standalone stream."""


class Standalone:
    """Serves standalone streams; the process keeps nothing of them but their open connections."""

    def __init__(
        self,
        server: Server,
        process: Process,
        sessions: Sessions,
        signals: Signals,
        subscriptions: Subscriptions,
        records: Records,
        feed: Feed,
    ) -> None:
        self._server = server
        self._subscriptions = subscriptions
        self._records = records
        self._process = process
        self._backplane = process.backplane
        self._idle = process.policy.session_idle
        self._sessions = sessions
        self._signals = signals
        self._feed = feed

    async def serve(
        self, session: Session, after: StandalonePlace | None, principal: Principal | None, peer: Peer
    ) -> None:
        """Stream to the peer until the session ends, another connection takes over, or the process drains.

        Raises `Unavailable` or `LogGone`, before anything was sent, if the connection cannot be entered.
        """
        draining = self._process.draining
        if not draining.begun:
            lists = await self._lists(session, principal)
            reader = await self._take_over(session, after, lists, peer)
            await peer.begin()
            await self._note_begun(session)
            if session.revision.priming_event:
                await peer.send(reader.priming())
            keeping = self._process.keeper.touching(
                lambda: self._touch(session), every=self._idle / 4, on_gone=reader.end
            )
            with keeping, draining.telling(reader.end):
                await reader.run()
        if draining.begun:
            await peer.begin()
            await peer.send(sse.encode(None, retry_ms=_between(*RETRY_MS)))

    async def _lists(self, session: Session, principal: Principal | None) -> frozenset[Topic]:
        """The lists whose changes this session is told of."""
        kinds = offered(self._server.initialization(session.revision).capabilities)
        lists = (topic for topic in LISTS if topic.kind in kinds)
        return frozenset(await permitted(self._server.watch_hook, principal, lists))

    async def _take_over(
        self, session: Session, after: StandalonePlace | None, lists: frozenset[Topic], peer: Peer
    ) -> StandaloneReader:
        """Enter this connection into the session's log, and decide where it begins.

        A session's first stream begins where the session did, a resumed one after its last event, any other now.
        """
        doubts = self._feed.doubts
        begun = await self._backplane.get(standalone_of(session.id), ttl=self._idle)
        events = await settled(lambda: self._backplane.open(EVENTS, ttl=self._idle * 2))
        holder = Holder(mint() if after is None else after.stream, mint(), events.offset)
        entered = await self._signals.send(session, holder)
        if after is None and begun is None:
            born = Position.parse(session.record.birth), Position.parse(session.record.events)
            after = StandalonePlace(holder.stream, *born)
        elif after is None:
            after = StandalonePlace(holder.stream, session.position, events)
        interest = Interest(session, lists, self._subscriptions, self._records)
        await interest.refresh()  # after the position was taken: a later change is announced there
        return StandaloneReader(
            self._process, self._feed, session, interest, holder, peer, entered=entered, after=after, doubts=doubts
        )

    async def _note_begun(self, session: Session) -> None:
        """Note that the session has had a stream: only now, since one that never began has delivered nothing."""
        cell = standalone_of(session.id)
        with suppress(Unavailable):
            await self._backplane.put(cell, pack(Begun()), ttl=self._idle)
            await clear_if_ended(self._backplane, session.id, cell)

    async def _touch(self, session: Session) -> bool:
        await self._backplane.get(standalone_of(session.id), ttl=self._idle)
        return await self._sessions.touch(session)
