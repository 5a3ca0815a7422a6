"""The legacy era: a handshake, then a session, if the server wants one ("Lifecycle"; "Transports")."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from mcpfleet.client.ask import Ask
from mcpfleet.client.eras.answers import result_in
from mcpfleet.client.peer import Introduction
from mcpfleet.client.transport import Exchange, Outgoing
from mcpfleet.client.wiring import Wiring
from mcpfleet.errors import ClientError, HttpRefused, NegotiationFailed, RemoteError, ReplyRefused
from mcpfleet.protocol import meta
from mcpfleet.protocol.headers import MCP_PROTOCOL_VERSION, MCP_SESSION_ID
from mcpfleet.protocol.jsonrpc import Notification, Request, RequestId, encode_notification, encode_request
from mcpfleet.protocol.messages.lifecycle import InitializeResult
from mcpfleet.protocol.messages.notifications import Cancelled, LogLevel
from mcpfleet.protocol.revisions import Era, Revision, find

FAREWELL_SECONDS: Final = 1.0
"""How long a server may take to hear that nobody waits any more."""
NOT_FOUND: Final = 404
"""What a server says of a session that it does not have ("Session Management")."""

log = logging.getLogger("mcpfleet.client")


@dataclass(frozen=True, slots=True, eq=False)
class Session:
    """What one handshake came to; `headers` go with every later message."""

    revision: Revision
    introduction: Introduction
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def held(self) -> bool:
        """Whether the server keeps something for it."""
        return MCP_SESSION_ID in self.headers


class _Lost(Exception):
    """The server does not have the session, and has run nothing."""


class Legacy:
    """A server that a handshake was made with; a session that it has lost is begun anew, once for all that notice."""

    def __init__(self, wiring: Wiring, revision: Revision) -> None:
        """`revision` is the one that is offered; the server may answer with another."""
        self._transport = wiring.transport
        self._offered = revision
        self._identity = wiring.identity
        self._desk = wiring.desk
        self._ids = wiring.ids
        self._company = wiring.company
        self._session: Session | None = None
        self._beginning = asyncio.Lock()

    @property
    def revision(self) -> Revision:
        """See `Peer.revision`."""
        return self._begun.revision

    @property
    def introduction(self) -> Introduction:
        """See `Peer.introduction`."""
        return self._begun.introduction

    @property
    def mirrors(self) -> bool:
        """See `Peer.mirrors`: this era knows nothing of it."""
        return False

    def ping(self) -> Ask:
        """See `Peer.ping`."""
        return Ask(method="ping")

    def set_log_level(self, level: LogLevel) -> Ask | None:
        """See `Peer.set_log_level`: the session remembers it."""
        return Ask(method="logging/setLevel", params={"level": level})

    async def begin(self) -> None:
        """Shake hands. `NegotiationFailed` if the server answers with a version that is not spoken here."""
        session = await self._handshake()
        self._session = session
        await self._transport.send(_outgoing(session, encode_notification("notifications/initialized")))
        if session.held or self._transport.shared:
            self._company.start(self._attend(session))

    async def ask(self, ask: Ask) -> Mapping[str, Any]:
        """See `Peer.ask`; a request that a lost session kept from running is sent once more in a new one."""
        session = self._begun
        try:
            return await self._ask(session, ask)
        except _Lost:
            await self._renew(session)
        try:
            return await self._ask(self._begun, ask)
        except _Lost:
            raise HttpRefused(NOT_FOUND, "the server has lost a session that it had just begun") from None

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """See `Peer.tell`."""
        await self._transport.send(_outgoing(self._begun, encode_notification(method, params)))

    async def close(self) -> None:
        """See `Peer.close`."""
        if self._session is not None and self._session.held:
            await self._transport.end(self._session.headers)

    @property
    def _begun(self) -> Session:
        if self._session is None:
            raise RuntimeError("the handshake has not been made")
        return self._session

    async def _renew(self, lost: Session) -> None:
        """Begin a new session in the place of the lost one, unless somebody has already."""
        async with self._beginning:
            if self._session is lost:
                log.info("the server has lost the session; another one is begun")
                await self.begin()

    async def _handshake(self) -> Session:
        request_id = self._ids()
        body = encode_request(request_id, "initialize", self._identity.handshake(self._offered))
        async with self._transport.exchange(Outgoing(body=body, id=request_id)) as exchange:
            result = await result_in(exchange, request_id, self._desk.hear, self._refuse)
            session_id = exchange.headers.get(MCP_SESSION_ID)
        try:
            read = msgspec.convert(result, InitializeResult)
        except msgspec.ValidationError as error:
            raise ReplyRefused(f"the server's answer to initialize: {error}") from None
        revision = find(read.protocol_version)
        if revision is None or revision.era is not Era.LEGACY:
            raise NegotiationFailed(f"the server speaks {read.protocol_version!r}, which is not spoken here")
        introduction = Introduction(
            capabilities=read.capabilities, info=read.server_info, instructions=read.instructions
        )
        headers = {MCP_PROTOCOL_VERSION: revision.date} if revision.version_header else {}
        held = {} if session_id is None else {MCP_SESSION_ID: session_id}
        return Session(revision, introduction, {**headers, **held})

    async def _ask(self, session: Session, ask: Ask) -> Mapping[str, Any]:
        request_id = self._ids()
        token = {meta.PROGRESS_TOKEN: request_id} if ask.progress else {}
        about = {**ask.meta, **token}
        params = {**ask.params, meta.META: about} if about else ask.params
        outgoing = Outgoing(
            body=encode_request(request_id, ask.method, params),
            id=request_id,
            headers=session.headers,
            resumable=session.revision.resumption,
        )
        try:
            async with self._transport.exchange(outgoing) as exchange:
                return await self._result(session, exchange, request_id, ask)
        except HttpRefused as refused:
            if refused.status == NOT_FOUND and session.held:
                raise _Lost from None
            raise
        except asyncio.CancelledError:
            with suppress(ClientError, TimeoutError):
                async with asyncio.timeout(FAREWELL_SECONDS):
                    body = encode_notification(Cancelled.METHOD, {"requestId": request_id})
                    await self._transport.send(_outgoing(session, body))
            raise

    async def _result(self, session: Session, exchange: Exchange, request_id: RequestId, ask: Ask) -> Mapping[str, Any]:
        async def asked(request: Request) -> None:
            self._company.start(self._answer(session, request))

        try:
            return await result_in(exchange, request_id, ask.hear, asked)
        except RemoteError:
            if exchange.status == NOT_FOUND and session.held:
                raise _Lost from None
            raise

    async def _attend(self, session: Session) -> None:
        """Hear what belongs to no request, and answer what is asked so, while the session lasts."""
        async with self._transport.unasked(session.headers) as messages:
            async for message in messages:
                if self._session is not session:
                    return
                if isinstance(message, Notification):
                    await self._desk.hear(message)
                elif isinstance(message, Request):
                    self._company.start(self._answer(session, message))

    async def _answer(self, session: Session, request: Request) -> None:
        body = await self._desk.reply(request)
        with suppress(ClientError):  # whoever asked will notice
            await self._transport.send(_outgoing(session, body))

    async def _refuse(self, request: Request) -> None:
        raise ReplyRefused(f"the server sent a request, {request.method}, before the handshake was over")


def _outgoing(session: Session, body: bytes) -> Outgoing:
    return Outgoing(body=body, headers=session.headers)
