"""The MCP endpoint: a plain ASGI callable that reads, classifies, hands over and sends back."""

import asyncio
import inspect
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Any, Final

from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import (
    Accepted,
    LegacyPost,
    ModernRequest,
    Rejected,
    StatelessPost,
    classify,
)
from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, Batch, Request
from mcpfleet.server.auth import Authenticate, Principal
from mcpfleet.server.engine import Engine
from mcpfleet.server.peer import EVENT_STREAM, Answer
from mcpfleet.server.vitals import Vitals
from mcpfleet_service.guards import Guard
from mcpfleet_service.responses import WRITE_SECONDS, HttpPeer, Receive, Send, response

READ_SECONDS: Final = 30.0
"""How long a client may take to send its body."""
AUTHENTICATE_SECONDS: Final = 10.0
"""How long it may take to find out who a client is."""
LINGER_SECONDS: Final = 2.0
"""How long what still comes of a refused body is read and dropped: closing at once would lose the refusal with it."""

Scope = MutableMapping[str, Any]

Sort = Callable[[Scope, Headers, bytes], Accepted | Rejected]
"""How one endpoint sorts its requests."""


def by_the_door(scope: Scope, headers: Headers, body: bytes) -> Accepted | Rejected:
    """As the one endpoint does that all but the oldest transport have."""
    return classify(scope["method"], headers, body)


class Endpoint:
    """Serves one path; `engine` is looked up on each request, since it is made at start-up."""

    def __init__(
        self,
        engine: Callable[[], Engine],
        guard: Guard,
        authenticate: Authenticate | None,
        *,
        max_body: int | None,
        keepalive: float | None,
        vitals: Vitals | None = None,
        sort: Sort = by_the_door,
        read_timeout: float = READ_SECONDS,
        write_timeout: float = WRITE_SECONDS,
    ) -> None:
        """`max_body` is in bytes, `keepalive` in seconds; None is no bound, and no comments."""
        self._engine = engine
        self._guard = guard
        self._authenticate = authenticate
        self._max_body = max_body
        self._sort = sort
        self._vitals = vitals or Vitals()
        self._keepalive = keepalive
        self._read_timeout = read_timeout
        self._write_timeout = write_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        headers = Headers(scope["headers"])
        admitted = self._guard.check(headers) or await self._principal(headers)
        if isinstance(admitted, Rejected):
            return await self._refuse(send, admitted)
        body = b""
        if scope["method"] == "POST":
            read = await self._read(headers, receive)
            if isinstance(read, Rejected):
                self._vitals.refused(read.code, read.data)
                return await _refuse_midway(receive, send, read)
            if read is None:
                return None
            body = read
        asked = self._sort(scope, headers, body)
        if isinstance(asked, Rejected):
            return await self._refuse(send, asked)
        peer = HttpPeer(
            receive,
            send,
            keepalive=self._keepalive,
            write_timeout=self._write_timeout,
            may_stream=_may_stream(asked),
        )
        return await peer.serve(self._engine().serve(asked, headers, admitted, peer))

    async def _refuse(self, send: Send, refused: Rejected) -> None:
        self._vitals.refused(refused.code, refused.data)
        for message in response(_answer(refused)):
            await send(message)

    async def _principal(self, headers: Headers) -> Principal | Rejected | None:
        """Who sends the request; None if nobody need be asked."""
        if self._authenticate is None:
            return None
        try:
            found = self._authenticate(headers)
            if inspect.isawaitable(found):
                async with asyncio.timeout(AUTHENTICATE_SECONDS):
                    found = await found
        except Exception as error:  # noqa: BLE001  # the boundary of what users bring along: it is noted
            self._engine().failures.note(error)
            return _UNDECIDED
        return _UNAUTHORIZED if found is None else found

    async def _read(self, headers: Headers, receive: Receive) -> bytes | Rejected | None:
        """The whole body; None if the client left before its end."""
        limit = self._max_body
        if limit is not None and _declared(headers) > limit:
            return _too_large(limit)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._read_timeout):
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


def _may_stream(asked: Accepted) -> bool:
    """Whether the response may become a stream: only that of a request may, and all else is accepted or refused."""
    match asked:
        case ModernRequest() | LegacyPost(message=Request()) | StatelessPost(message=Request()):
            return EVENT_STREAM in asked.accepts
        case LegacyPost(message=Batch(messages)) | StatelessPost(message=Batch(messages)):
            return EVENT_STREAM in asked.accepts and any(isinstance(message, Request) for message in messages)
        case _:
            return False


async def _refuse_midway(receive: Receive, send: Send, refused: Rejected) -> None:
    """Refuse a request whose body is still coming; the connection ends with it, but not before the client can read.

    A client that is still sending when its connection is closed may never see what it was sent.
    """
    head, body = response(_answer(refused, ("Connection", "close")))
    await send(head)
    await send({**body, "more_body": True})
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while (message := await receive())["type"] != "http.disconnect" and message.get("more_body", False):
                pass
    await send({"type": "http.response.body", "body": b""})


def _answer(refused: Rejected, *headers: tuple[str, str]) -> Answer:
    return Answer(refused.status, refused.body(), headers=(*refused.headers, *headers))


def _declared(headers: Headers) -> int:
    length = headers.get("content-length") or ""
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else 0


def _too_large(limit: int) -> Rejected:
    return Rejected(413, INVALID_REQUEST, f"The body exceeds {limit} bytes", {"reason": "body_too_large"})


_UNAUTHORIZED: Final = Rejected(
    401,
    INVALID_REQUEST,
    "Authentication is required",
    {"reason": "unauthorized"},
    headers=(("WWW-Authenticate", "Bearer"),),
)
_UNDECIDED: Final = Rejected(
    503,
    INTERNAL_ERROR,
    "Authentication is not possible now",
    {"reason": "authentication_failed"},
    headers=(("Retry-After", "1"),),
)
