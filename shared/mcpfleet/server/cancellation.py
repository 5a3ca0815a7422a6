"""Cancellation across processes: a cancel lands anywhere and goes through the session's log to whoever runs the call.

A call hears what follows the position that was taken with its session's load, so a cancel that was sent after the call
cannot be missed, and one that was sent before cannot hit it. Several calls in flight may share a JSON-RPC id: each
that outlives the first moments registers under it, the last one wins, and a cancel names the one that is registered.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import msgspec

from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import Unavailable
from mcpfleet.protocol.jsonrpc import RequestId
from mcpfleet.protocol.jsontext import dumps
from mcpfleet.server.process import Process
from mcpfleet.server.sessions import Session
from mcpfleet.server.signals import Cancel, Signals

MAX_REASON: Final = 1000
"""How many characters of a client's reason are kept."""


class Registration(msgspec.Struct, frozen=True):
    """Which call a cancel of a request id means: the one that registered last."""

    call: str


class Cancellations:
    """Sends cancels of a session's requests, and keeps whom they mean."""

    def __init__(self, process: Process, signals: Signals) -> None:
        self._backplane = process.backplane
        self._ttl = process.policy.session_idle
        self._signals = signals

    async def send(self, session: Session, request_id: RequestId, reason: str | None = None) -> None:
        """Cancel the newest call with this id, on whichever process it runs; an unknown id changes nothing."""
        found = await self._backplane.get(_registration(session, request_id))
        call = None if found is None else unpack(Registration, found).call
        await self._signals.send(session, Cancel(_digest(request_id), call, reason))

    @asynccontextmanager
    async def registered(self, session: Session, request_id: RequestId, call: str) -> AsyncIterator[None]:
        """For the time of the block, and until another call registers, cancels of this id name this call.

        Unregistered, while the store is away, it is still found by the id alone.
        """
        name, value = _registration(session, request_id), pack(Registration(call))
        try:
            with suppress(Unavailable):
                await self._backplane.put(name, value, ttl=self._ttl)
            yield
        finally:
            with suppress(Unavailable):
                await self._backplane.delete(name, expect=value)

    async def keep(self, session: Session, request_id: RequestId) -> None:
        """Extend the life of what is registered under the id."""
        await self._backplane.get(_registration(session, request_id), ttl=self._ttl)


def reason_in(params: Mapping[str, Any]) -> str | None:
    """Why the client has cancelled a request, by its notification."""
    reason = params.get("reason")
    return reason[:MAX_REASON] if isinstance(reason, str) else None


def reason_of(error: BaseException) -> str | None:
    """Why a task was cancelled, as whoever cancelled it has told."""
    reason = error.args[0] if isinstance(error, asyncio.CancelledError) and error.args else None
    return reason if isinstance(reason, str) else None


def means(cancel: Cancel, request_id: RequestId, call: str) -> bool:
    """Whether a cancel that was sent while this call ran is for this call."""
    return cancel.request == _digest(request_id) and cancel.call in (None, call)


def _digest(request_id: RequestId) -> str:
    """Of the id as JSON text, so that `1` and `"1"` differ; of one size, however long the id is."""
    return hashlib.blake2b(dumps(request_id), digest_size=16).hexdigest()


def _registration(session: Session, request_id: RequestId) -> str:
    return f"{session.id}/id/{_digest(request_id)}"
