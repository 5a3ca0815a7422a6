"""The legacy era: sessions in the store, resumable streams, and any message on any process (basic/transports)."""

import asyncio
from dataclasses import replace
from typing import Any, Final

import msgspec

from mcpfleet.backplane.base import Position
from mcpfleet.protocol import sse
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import Initialize, LegacyEnd, LegacyPost, LegacyStream, refuse_batch, refuse_meta
from mcpfleet.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    Batch,
    Failure,
    Malformed,
    Message,
    Notification,
    Reply,
    Request,
    RequestId,
    encode_failure,
    is_id,
)
from mcpfleet.protocol.revisions import negotiate
from mcpfleet.server import eventids
from mcpfleet.server.auth import Principal, owner_of
from mcpfleet.server.caller import Caller
from mcpfleet.server.calls import Call, Calls
from mcpfleet.server.cancellation import Cancellations
from mcpfleet.server.context import SEVERITIES
from mcpfleet.server.delivery import deliver, event_id, not_replayable
from mcpfleet.server.eventids import CallPlace, StandalonePlace
from mcpfleet.server.exchange import Exchange, find
from mcpfleet.server.outcome import Outcome, Refusal, Success
from mcpfleet.server.peer import ACCEPTED, EVENT_STREAM, JSON, Answer, Peer
from mcpfleet.server.process import Process
from mcpfleet.server.reply import Replies
from mcpfleet.server.server import Server
from mcpfleet.server.sessions import Full, Record, Session, Sessions
from mcpfleet.server.standalone import Standalone

SESSION_HEADER: Final = "Mcp-Session-Id"


class Legacy:
    """Serves the handshake, and every request of a session, whichever process began it."""

    def __init__(
        self,
        server: Server,
        process: Process,
        sessions: Sessions,
        cancellations: Cancellations,
        calls: Calls,
        replies: Replies,
    ) -> None:
        self._server = server
        self._process = process
        self._sessions = sessions
        self._cancellations = cancellations
        self._calls = calls
        self._replies = replies
        self._standalone = Standalone(process, sessions)

    async def initialize(self, asked: Initialize, principal: Principal | None) -> Answer:
        """Create a session; nothing is created if it is refused ("Lifecycle", "Initialization")."""
        revision = negotiate(asked.requested)
        session = await self._sessions.create(
            owner_of(principal), revision, asked.client_info, asked.client_capabilities
        )
        if isinstance(session, Full):
            body = encode_failure(
                asked.request.id, INTERNAL_ERROR, "Too many sessions", {"reason": "too_many_sessions"}
            )
            return Answer(503, body, headers=(("Retry-After", str(max(1, round(session.retry_after)))),))
        body = self._replies.encode(asked.request.id, Success(self._server.initialization(revision)), revision)
        return replace(_whole(body, asked.accepts), headers=((SESSION_HEADER, session.id),))

    async def post(self, asked: LegacyPost, headers: Headers, principal: Principal | None, peer: Peer) -> Answer | None:
        """Serve one message of a session; None if the response was streamed."""
        session = await self._sessions.load(asked.session_id, owner_of(principal))
        if session is None:
            return _no_session(asked.message.id if isinstance(asked.message, Request) else None)
        match asked.message:
            case Request() as request:
                return await self._request(request, session, asked, headers, principal, peer)
            case Notification() as notification:
                return await self._notification(notification, session)
            case Batch() as batch:
                return await self._batch(batch, session, asked, headers, principal)
            case Reply() | Failure():
                # No request was ever sent to this client under that id, so nobody waits.
                return _refused("nobody_asked", "No request with this id awaits an answer")

    async def stream(self, asked: LegacyStream, principal: Principal | None, peer: Peer) -> Answer | None:
        """Open the standalone stream, or take up any stream of the session again (transports, "Resumability")."""
        session = await self._sessions.load(asked.session_id, owner_of(principal))
        if session is None:
            return _no_session(None)
        if asked.last_event_id is None:
            await self._standalone.serve(session, None, peer)
            return None
        match eventids.read(session.id, asked.last_event_id):
            case None:
                return _refused("unknown_event_id", "Last-Event-ID names no event of this session")
            case StandalonePlace() as place:
                await self._standalone.serve(session, place, peer)
                return None
            case CallPlace(last=True):
                await peer.begin()  # nothing follows the end
                return None
            case CallPlace(exchange_id, position):
                return await self._resume(Exchange(session.id, exchange_id), position, peer)

    async def end(self, asked: LegacyEnd, principal: Principal | None) -> Answer:
        """Terminate the session on every process (transports, "Session Management")."""
        session = await self._sessions.load(asked.session_id, owner_of(principal))
        if session is None or not await self._sessions.end(session):
            return _no_session(None)
        return Answer(204, media_type=None)

    async def _request(
        self,
        request: Request,
        session: Session,
        asked: LegacyPost,
        headers: Headers,
        principal: Principal | None,
        peer: Peer,
    ) -> Answer | None:
        refused = refuse_meta(request)
        if refused is not None:
            return Answer(refused.status, refused.body())
        if request.method == "logging/setLevel":
            outcome = await self._set_level(request, session)
            return _whole(self._replies.encode(request.id, outcome, session.revision), asked.accepts)
        call = await self._run(request, session, headers, principal, may_stream=EVENT_STREAM in asked.accepts)
        if call.stream is not None:
            return await self._follow(call, call.stream.start, session, peer)
        if call.body is None:
            return Answer(200, b"", EVENT_STREAM)  # cancelled: a stream that ends without a response
        return _whole(call.body, asked.accepts)

    async def _follow(self, call: Call, start: Position, session: Session, peer: Peer) -> Answer | None:
        await peer.begin()
        if session.revision.priming_event:
            await peer.send(sse.encode(b"", id=event_id(call.exchange, start)))
        if await deliver(self._process, call.exchange, start, peer):
            return None
        # The store lost the stream, but the client is still here, and so may be the result.
        return Answer(200, call.body or not_replayable(call.request.id))

    async def _resume(self, exchange: Exchange, position: Position, peer: Peer) -> Answer | None:
        record = await find(self._process.backplane, exchange)
        if record is None:
            return _refused("stream_expired", "The stream of this Last-Event-ID is no longer kept")
        await peer.begin()
        if await deliver(self._process, exchange, position, peer):
            return None
        return Answer(200, not_replayable(record.request_id))

    async def _notification(self, notification: Notification, session: Session) -> Answer:
        request_id: Any = notification.params.get("requestId")
        if notification.method == "notifications/cancelled" and is_id(request_id):
            await self._cancellations.send(session, request_id)
        return ACCEPTED

    async def _batch(
        self, batch: Batch, session: Session, asked: LegacyPost, headers: Headers, principal: Principal | None
    ) -> Answer:
        refused = refuse_batch(session.revision)
        if refused is not None:
            return Answer(refused.status, refused.body())
        bodies = await asyncio.gather(*(self._item(message, session, headers, principal) for message in batch.messages))
        answers = [body for body in bodies if body is not None]
        return _whole(b"[" + b",".join(answers) + b"]", asked.accepts) if answers else ACCEPTED

    async def _item(
        self, message: Message | Malformed, session: Session, headers: Headers, principal: Principal | None
    ) -> bytes | None:
        match message:
            case Malformed(code, words, request_id):
                return encode_failure(request_id, code, words)
            case Notification():
                await self._notification(message, session)
                return None
            case Request():
                refused = refuse_meta(message)
                if refused is not None:
                    return refused.body()
                call = await self._run(message, session, headers, principal, may_stream=False)
                return call.body
            case Reply() | Failure():
                return None

    async def _run(
        self, request: Request, session: Session, headers: Headers, principal: Principal | None, *, may_stream: bool
    ) -> Call:
        record = session.record
        caller = Caller(
            revision=session.revision,
            principal=principal,
            headers=headers,
            client_info=record.client_info,
            capabilities=record.capabilities,
            log_level=record.log_level,
            session_id=session.id,
            request_id=request.id,
            meta=request.params.get("_meta", {}),
        )
        call = self._calls.start(request, caller, session, may_stream=may_stream)
        await call.decided()
        return call

    async def _set_level(self, request: Request, session: Session) -> Outcome:
        level = request.params.get("level")
        if not isinstance(level, str) or level not in SEVERITIES:
            return Refusal(INVALID_PARAMS, f"params.level must be one of {', '.join(SEVERITIES)}")

        def with_level(record: Record) -> Record:
            return msgspec.structs.replace(record, log_level=level)

        if not await self._sessions.update(session, with_level):
            return Refusal(INVALID_REQUEST, "The session has ended")
        return Success({})


def _whole(body: bytes, accepts: frozenset[str]) -> Answer:
    return Answer(200, body) if JSON in accepts else Answer(200, sse.encode(body), EVENT_STREAM)


def _no_session(request_id: RequestId | None) -> Answer:
    """404, which tells a client to begin a new session; an unknown id and a foreign one are told alike."""
    body = encode_failure(request_id, INVALID_REQUEST, "Session not found", {"reason": "session_not_found"})
    return Answer(404, body)


def _refused(reason: str, words: str) -> Answer:
    return Answer(400, encode_failure(None, INVALID_REQUEST, words, {"reason": reason}))
