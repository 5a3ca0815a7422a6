"""The modern era: every request says who asks, and is served alone (Versioning, "Protocol Version Negotiation")."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from mcpfleet.client.ask import Ask
from mcpfleet.client.eras.answers import result_in
from mcpfleet.client.peer import Introduction
from mcpfleet.client.transport import Exchange, Outgoing
from mcpfleet.client.wiring import Wiring
from mcpfleet.errors import ClientError, HttpRefused, RemoteError, ReplyRefused
from mcpfleet.protocol import meta
from mcpfleet.protocol.headers import MCP_METHOD, MCP_NAME, MCP_PROTOCOL_VERSION, NAMED_BY, encode_value
from mcpfleet.protocol.jsonrpc import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
    Notification,
    Request,
    RequestId,
    encode_notification,
    encode_request,
)
from mcpfleet.protocol.messages.notifications import Cancelled, LogLevel
from mcpfleet.protocol.revisions import Revision

BAD_REQUEST: Final = 400
MODERN_ERRORS: Final = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})
"""What no legacy server answers with."""
MODERN_CODES: Final = MODERN_ERRORS | {INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND}
"""The codes of the errors that a modern server answers with a status of an error; another one is no modern server's."""
FAREWELL_SECONDS: Final = 1.0
"""How long a server may take to hear that nobody waits any more."""


class Modern:
    """A server that is asked in the modern way; `introduction` is what it said to `server/discover`."""

    def __init__(self, wiring: Wiring, revision: Revision, introduction: Introduction) -> None:
        self.revision = revision
        self.introduction = introduction
        self._transport = wiring.transport
        self._desk = wiring.desk
        self._ids = wiring.ids
        self._envelope = wiring.identity.envelope(revision)

    @property
    def mirrors(self) -> bool:
        """See `Peer.mirrors`."""
        return not self._transport.shared

    def ping(self) -> Ask:
        """See `Peer.ping`; this era has no other request that every server answers."""
        return Ask(method="server/discover")

    def set_log_level(self, level: LogLevel) -> Ask | None:
        """See `Peer.set_log_level`: each request says it for itself ("Logging")."""
        self._envelope = {**self._envelope, meta.LOG_LEVEL: level}
        return None

    async def ask(self, ask: Ask) -> Mapping[str, Any]:
        """See `Peer.ask`."""
        request_id = self._ids()
        token = {meta.PROGRESS_TOKEN: request_id} if ask.progress else {}
        about = {**ask.meta, **token, **self._envelope}
        params = {**ask.params, meta.META: about}
        headers = {**routing(ask.method, ask.params, self.revision), **ask.headers}
        body = encode_request(request_id, ask.method, params)
        try:
            async with self._transport.exchange(Outgoing(body=body, id=request_id, headers=headers)) as exchange:
                return await self._result(exchange, request_id, ask)
        except asyncio.CancelledError:
            if self._transport.shared:
                with suppress(ClientError, TimeoutError):
                    async with asyncio.timeout(FAREWELL_SECONDS):
                        await self.tell(Cancelled.METHOD, {"requestId": request_id})
            raise

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """See `Peer.tell`."""
        about = {**params.get(meta.META, {}), **self._envelope}
        body = encode_notification(method, {**params, meta.META: about})
        await self._transport.send(Outgoing(body=body, headers=routing(method, params, self.revision)))

    async def attend(self) -> None:
        """Hear what belongs to no request, as on a shared channel log messages do."""
        async with self._transport.unasked({}) as messages:
            async for message in messages:
                if isinstance(message, Notification):
                    await self._desk.hear(message)

    async def close(self) -> None:
        """The server keeps nothing for its clients."""

    async def _result(self, exchange: Exchange, request_id: RequestId, ask: Ask) -> Mapping[str, Any]:
        try:
            return await result_in(exchange, request_id, ask.hear, self._asked)
        except RemoteError as error:
            if exchange.status >= BAD_REQUEST and error.code not in MODERN_CODES:
                raise HttpRefused(exchange.status, error.message) from error
            raise

    async def _asked(self, request: Request) -> None:
        raise ReplyRefused(f"the server sent a request, {request.method}, which its revision does not allow")


def routing(method: str, params: Mapping[str, Any], revision: Revision) -> dict[str, str]:
    """The headers that repeat a request ("Standard Request Headers")."""
    headers = {MCP_PROTOCOL_VERSION: revision.date, MCP_METHOD: method}
    name = params.get(NAMED_BY.get(method, ""))
    return {**headers, MCP_NAME: encode_value(name)} if isinstance(name, str) else headers
