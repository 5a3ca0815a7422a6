"""A session's standalone stream: its own log merged with the fleet's events (transports, "Listening for Messages").

Which connection delivers is decided by the order of the session's log: each connection enters a `Holder`, and what
follows it is its own. An earlier connection that reads the entry falls silent, or ends if it was the one resumed. So a
half-dead connection never blocks a new one, and nothing is copied per session for a broadcast: an event id carries the
positions in both logs.
"""

import asyncio
from contextlib import aclosing
from typing import Final

from mcpfleet.backplane.base import ABSENT, Position, mint
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.follow import follow
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import LogGap, LogGone, Unavailable
from mcpfleet.protocol import sse
from mcpfleet.protocol.jsonrpc import encode_notification
from mcpfleet.server import eventids
from mcpfleet.server.control import Holder, Signal
from mcpfleet.server.eventids import StandalonePlace
from mcpfleet.server.events import EVENTS, METHODS, Change, Kind
from mcpfleet.server.peer import Peer
from mcpfleet.server.process import Process
from mcpfleet.server.sessions import Session, Sessions, standalone_of

MAX_SILENT: Final = 3
"""How many newer connections a silent one sees come before it ends: four of a session are open at most."""
RETRY_MS: Final = 1000
"""When a client whose stream ended should connect again."""
OFFERED: Final[tuple[Kind, ...]] = ("tools",)
"""The kinds of list that a server has; after a gap each of them counts as changed."""


class _Over(Exception):
    """This connection has nothing more to deliver."""


class Standalone:
    """Serves standalone streams; the process keeps nothing of them but their open connections."""

    def __init__(self, process: Process, sessions: Sessions) -> None:
        self.backplane = process.backplane
        self.policy = process.policy
        self._process = process
        self._sessions = sessions

    async def serve(self, session: Session, after: StandalonePlace | None, peer: Peer) -> None:
        """Stream to the peer until the session ends, another connection takes over, or the process drains."""
        token = mint()
        place = await self._take_over(session, token, after)
        await peer.begin()
        connection = _Connection(self, session, token, place, peer)
        gone = asyncio.Event()
        with self._process.keeper.touching(
            lambda: self._sessions.touch(session), every=self.policy.session_idle / 4, on_gone=gone.set
        ):
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(connection.follow_own())
                    tasks.create_task(connection.follow_events())
                    tasks.create_task(_until(self._process.draining))
                    tasks.create_task(_until(gone))
            except* (_Over, Unavailable):
                pass  # a client that finds the stream ended connects again, with its last event id
        await peer.send(sse.encode(None, retry_ms=RETRY_MS))

    async def _take_over(self, session: Session, token: str, after: StandalonePlace | None) -> StandalonePlace:
        """Enter this connection into the session's log; returns where it begins to deliver.

        A session's first connection begins where the session did, a resumed one after its last event, any other now.
        """
        ttl, mark = self.policy.session_idle, mint()
        data = pack(Signal(Holder(token, resumes=after is not None)))
        events, first = await asyncio.gather(
            self.backplane.open(EVENTS, ttl=self.policy.session_idle * 2),
            self.backplane.put(standalone_of(session.id), data, ttl=ttl, expect=ABSENT),
        )
        own = await settled(
            lambda: self.backplane.append(session.log, data, ttl=ttl, keep=self.policy.retention.keep, mark=mark)
        )
        if after is not None:
            return after
        if first:
            return StandalonePlace(Position.parse(session.record.birth), Position.parse(session.record.events))
        return StandalonePlace(own, events)


class _Connection:
    """One connection to a standalone stream."""

    def __init__(self, stream: Standalone, session: Session, token: str, place: StandalonePlace, peer: Peer) -> None:
        self._stream = stream
        self._session = session
        self._token = token
        self._own = place.own
        self._events = place.events
        self._peer = peer
        self._turn = asyncio.Lock()
        self._holds = False
        self._newer = 0

    async def follow_own(self) -> None:
        """Heed the session's log; ends the connection with the session."""
        while True:
            try:
                async with aclosing(
                    follow(self._stream.backplane, self._session.log, self._own, ttl=self._stream.policy.session_idle)
                ) as entries:
                    async for entry in entries:
                        self._own = entry.position
                        signal = unpack(Signal, entry.data).body
                        if isinstance(signal, Holder):
                            self._heed(signal)
            except LogGap:
                self._own = await self._end_of_own()

    async def follow_events(self) -> None:
        """Deliver the fleet's changes; after a gap, every kind counts as changed."""
        ttl = self._stream.policy.session_idle * 2
        while True:
            try:
                async with aclosing(follow(self._stream.backplane, EVENTS, self._events, ttl=ttl)) as entries:
                    async for entry in entries:
                        await self._deliver(unpack(Change, entry.data).kind, entry.position)
            except LogGap:
                end = await self._stream.backplane.open(EVENTS, ttl=ttl)
                for kind in OFFERED:
                    await self._deliver(kind, end)

    def _heed(self, holder: Holder) -> None:
        if holder.token == self._token:
            self._holds = True
        elif self._holds:
            self._newer += 1
            if holder.resumes or self._newer > MAX_SILENT:
                raise _Over

    async def _deliver(self, kind: Kind, position: Position) -> None:
        async with self._turn:
            self._events = position
            if self._newer:
                return
            place = StandalonePlace(self._own, self._events)
            await self._peer.send(
                sse.encode(encode_notification(METHODS[kind]), id=eventids.write(self._session.id, place))
            )

    async def _end_of_own(self) -> Position:
        try:
            return await self._stream.backplane.open(
                self._session.log, ttl=self._stream.policy.session_idle, create=False
            )
        except LogGone:
            raise _Over from None


async def _until(event: asyncio.Event) -> None:
    await event.wait()
    raise _Over
