"""The MCP endpoint: a plain ASGI callable that reads, classifies, hands over and sends back."""

import asyncio
import inspect
from collections.abc import Callable, MutableMapping
from typing import Any, Final

from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import ModernRequest, Rejected, classify
from mcpfleet.protocol.jsonrpc import INVALID_REQUEST
from mcpfleet.server.auth import Authenticate, Principal
from mcpfleet.server.engine import Engine
from mcpfleet.server.peer import EVENT_STREAM, Answer
from mcpfleet_service.guards import Guard
from mcpfleet_service.responses import HttpPeer, Receive, Send, respond

READ_SECONDS: Final = 30.0
"""How long a client may take to send its body."""


class Endpoint:
    """Serves POST, GET and DELETE on one path; `engine` is looked up on each request, since it is made at start-up."""

    def __init__(
        self,
        engine: Callable[[], Engine],
        guard: Guard,
        authenticate: Authenticate | None,
        *,
        max_body: int | None,
        keepalive: float | None,
    ) -> None:
        """`max_body` is in bytes, `keepalive` in seconds; None is no bound, and no comments."""
        self._engine = engine
        self._guard = guard
        self._authenticate = authenticate
        self._max_body = max_body
        self._keepalive = keepalive

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        headers = Headers(scope["headers"])
        refused = self._guard.check(headers)
        if refused is not None:
            return await _refuse(send, refused)
        principal = None
        if self._authenticate is not None:
            principal = await _principal(self._authenticate, headers)
            if principal is None:
                return await _refuse(send, _UNAUTHORIZED)
        body = b""
        if scope["method"] == "POST":
            read = await self._read(headers, receive)
            if read is None:
                return None
            if isinstance(read, Rejected):
                return await _refuse(send, read)
            body = read
        asked = classify(scope["method"], headers, body)
        if isinstance(asked, Rejected):
            return await _refuse(send, asked)
        peer = HttpPeer(receive, send, keepalive=self._keepalive)
        if isinstance(asked, ModernRequest) and EVENT_STREAM in asked.accepts:
            peer.stream_when_quiet()
        return await peer.serve(self._engine().serve(asked, headers, principal, peer))

    async def _read(self, headers: Headers, receive: Receive) -> bytes | Rejected | None:
        """The whole body; None if the client left before its end."""
        limit = self._max_body
        if limit is not None and _declared(headers) > limit:
            return _too_large(limit)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(READ_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    part = message.get("body", b"")
                    size += len(part)
                    if limit is not None and size > limit:
                        return _too_large(limit)
                    parts.append(part)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            return Rejected(408, INVALID_REQUEST, "The body did not arrive in time", {"reason": "slow_body"})


async def _principal(authenticate: Authenticate, headers: Headers) -> Principal | None:
    found = authenticate(headers)
    return await found if inspect.isawaitable(found) else found


async def _refuse(send: Send, refused: Rejected) -> None:
    await respond(send, Answer(refused.status, refused.body(), headers=refused.headers))


def _declared(headers: Headers) -> int:
    length = headers.get("content-length") or ""
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else 0


def _too_large(limit: int) -> Rejected:
    closing = (("Connection", "close"),)
    return Rejected(
        413, INVALID_REQUEST, f"The body exceeds {limit} bytes", {"reason": "body_too_large"}, headers=closing
    )


_UNAUTHORIZED: Final = Rejected(
    401,
    INVALID_REQUEST,
    "Authentication is required",
    {"reason": "unauthorized"},
    headers=(("WWW-Authenticate", "Bearer"),),
)
