"""The modern era: every request stands alone, and its response is the only way back (transports/streamable-http)."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from mcpfleet.protocol import sse
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import HTTP_STATUS, ModernRequest
from mcpfleet.protocol.jsonrpc import encode_notification
from mcpfleet.server.auth import Principal
from mcpfleet.server.caller import Caller
from mcpfleet.server.dispatch import Dispatcher
from mcpfleet.server.outcome import Refusal
from mcpfleet.server.peer import EVENT_STREAM, JSON, Answer, Peer
from mcpfleet.server.reply import Replies

log = logging.getLogger("mcpfleet.modern")

MAX_NOTIFICATIONS: Final = 1000
"""How many notifications one request may send; what exceeds it is dropped and logged."""


class Modern:
    """Serves modern requests; keeps nothing between two of them and asks no store."""

    def __init__(self, dispatcher: Dispatcher, replies: Replies) -> None:
        self._dispatcher = dispatcher
        self._replies = replies

    async def serve(self, asked: ModernRequest, headers: Headers, principal: Principal | None, peer: Peer) -> Answer:
        """Serve one request; being cancelled is the client's cancellation ("Cancellation")."""
        caller = Caller(
            revision=asked.revision,
            principal=principal,
            headers=headers,
            client_info=asked.client_info,
            capabilities=asked.client_capabilities,
            log_level=asked.log_level,
            request_id=asked.request.id,
            meta=asked.request.params.get("_meta", {}),
        )
        outlet = _Response(peer, open_to_events=EVENT_STREAM in asked.accepts)
        outcome = await self._dispatcher.serve(asked.request, caller, outlet)
        body = self._replies.encode(asked.request.id, outcome, asked.revision)
        if isinstance(outcome, Refusal):
            return Answer(HTTP_STATUS.get(outcome.code, 200), body)
        if JSON not in asked.accepts:
            await peer.begin()
        return Answer(200, body)


class _Response:
    """The outlet of one request: its own response, which becomes an event stream at the first notification."""

    def __init__(self, peer: Peer, *, open_to_events: bool) -> None:
        self._peer = peer
        self._open = open_to_events
        self._sent = 0
        self._turn = asyncio.Lock()

    async def notify(self, method: str, params: Mapping[str, Any], *, newest_of: str | None = None) -> None:
        if not self._open:
            return
        if self._sent == MAX_NOTIFICATIONS:
            log.warning("a request sent more than %d notifications; the rest are dropped", MAX_NOTIFICATIONS)
            self._open = False
            return
        self._sent += 1
        frame = sse.encode(encode_notification(method, params))
        async with self._turn:
            await self._peer.begin()
            await self._peer.send(frame)
