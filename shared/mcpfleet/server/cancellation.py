"""Cancellation across processes: a cancel lands anywhere and goes through the session's log to whoever runs the call.

A call is followed from the position that was taken with its session's load, so a cancel that was sent after the call
cannot be missed, and one that was sent before cannot hit it. Several calls in flight may share a JSON-RPC id: each
that outlives the first moments registers under it, the last one wins, and a cancel names the one that is registered.
"""

import asyncio
import hashlib
from contextlib import aclosing

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import Position, mint
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.follow import follow
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import LogGap, LogGone, Unavailable
from mcpfleet.protocol.jsonrpc import RequestId
from mcpfleet.protocol.jsontext import dumps
from mcpfleet.server.control import Cancel, Registration, Signal
from mcpfleet.server.exchange import Exchange
from mcpfleet.server.process import Process
from mcpfleet.server.sessions import Session


class Cancellations:
    """Sends cancels of a session's requests, and hears them."""

    def __init__(self, process: Process) -> None:
        self._backplane = process.backplane
        self._policy = process.policy

    async def send(self, session: Session, request_id: RequestId) -> None:
        """Cancel the newest call with this id, on whichever process it runs; an unknown id changes nothing."""
        found = await self._backplane.get(_registration(session.id, request_id))
        exchange = unpack(Registration, found).exchange if found is not None else None
        data, mark = pack(Signal(Cancel(_text(request_id), exchange))), mint()
        ttl, keep = self._policy.session_idle, self._policy.retention.keep
        await settled(lambda: self._backplane.append(session.log, data, ttl=ttl, keep=keep, mark=mark))

    async def heard(self, session: Session, exchange: Exchange, request_id: RequestId) -> None:
        """Return when the call is cancelled or its session has ended; outages are waited out."""
        backoff = Backoff()
        position: Position | None = session.position
        while position is not None:
            try:
                position = await self._follow(session, exchange, request_id, position)
            except LogGap:
                position = await self._end_of(session)
            except Unavailable:
                await asyncio.sleep(backoff.pause())

    async def register(self, exchange: Exchange, request_id: RequestId) -> None:
        """Let cancels of this id name this call from now on."""
        name = _registration(exchange.session, request_id)
        await self._backplane.put(name, pack(Registration(exchange.id)), ttl=self._policy.retention.ttl)

    async def forget(self, exchange: Exchange, request_id: RequestId) -> None:
        """Take the registration back, unless a newer call has taken it over."""
        name = _registration(exchange.session, request_id)
        await self._backplane.delete(name, expect=pack(Registration(exchange.id)))

    async def _follow(
        self, session: Session, exchange: Exchange, request_id: RequestId, position: Position
    ) -> Position | None:
        text, ttl = _text(request_id), self._policy.session_idle
        async with aclosing(follow(self._backplane, session.log, position, ttl=ttl)) as entries:
            async for entry in entries:
                signal = unpack(Signal, entry.data).body
                if isinstance(signal, Cancel) and signal.request == text and signal.exchange in (None, exchange.id):
                    return None
        return position

    async def _end_of(self, session: Session) -> Position | None:
        try:
            return await self._backplane.open(session.log, ttl=self._policy.session_idle, create=False)
        except LogGone:
            return None


def _text(request_id: RequestId) -> str:
    return dumps(request_id).decode()


def _registration(session_id: str, request_id: RequestId) -> str:
    digest = hashlib.blake2b(_text(request_id).encode(), digest_size=8).hexdigest()
    return f"{session_id}/id/{digest}"
