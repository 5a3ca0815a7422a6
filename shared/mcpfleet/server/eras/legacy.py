"""The legacy era: sessions in the store, resumable streams, and any message on any process (basic/transports)."""

import asyncio
import math
import time
from dataclasses import replace
from typing import Any, Final

import msgspec

from mcpfleet.errors import LogGone, TooLarge
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import Initialize, LegacyEnd, LegacyPost, LegacyStream, refuse_batch
from mcpfleet.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    Batch,
    Failure,
    Malformed,
    Notification,
    Reply,
    Request,
    RequestId,
    encode_failure,
    is_id,
)
from mcpfleet.protocol.revisions import Revision, negotiate
from mcpfleet.server import eventids
from mcpfleet.server.around import Around
from mcpfleet.server.auth import Principal, owner_of, remaining
from mcpfleet.server.caller import Caller
from mcpfleet.server.cancellation import Cancellations, reason_in
from mcpfleet.server.eras.batches import serve_batch
from mcpfleet.server.eras.requests import Requests, Sender
from mcpfleet.server.eventids import CallPlace, Place, StandalonePlace
from mcpfleet.server.notices import CROWDED, Notices
from mcpfleet.server.outcome import Outcome, Success
from mcpfleet.server.peer import ACCEPTED, Answer, Peer, refused, whole
from mcpfleet.server.questions import Questions
from mcpfleet.server.reply import Replies
from mcpfleet.server.server import Server
from mcpfleet.server.sessions import Full, Session, Sessions
from mcpfleet.server.standalone import Standalone

SESSION_HEADER: Final = "Mcp-Session-Id"
ORIGIN: Final = "Origin"


class Legacy:
    """Serves the handshake, and every message of a session, whichever process began it."""

    def __init__(
        self,
        server: Server,
        sessions: Sessions,
        cancellations: Cancellations,
        requests: Requests,
        standalone: Standalone,
        replies: Replies,
        questions: Questions,
        around: Around,
        notices: Notices,
        pin: Revision | None,
    ) -> None:
        self._server = server
        self._sessions = sessions
        self._cancellations = cancellations
        self._requests = requests
        self._standalone = standalone
        self._replies = replies
        self._questions = questions
        self._around = around
        self._notices = notices
        self._pin = pin

    async def initialize(self, asked: Initialize, headers: Headers, principal: Principal | None) -> Answer:
        """Create a session; nothing is left of it if it is refused ("Lifecycle", "Initialization")."""
        session: Session | None = None

        async def begin(request: Request) -> Outcome | Answer:
            nonlocal session
            if session is not None:  # a hook begins again
                await self._sessions.end(session)
            begun = await self._begin(msgspec.structs.replace(asked, request=request), headers, principal)
            if isinstance(begun, Answer):
                return begun
            session = begun
            return Success(self._server.initialization(session.revision))

        caller = Caller.shaking_hands(asked, negotiate(asked.requested, self._pin), headers, principal)
        outcome = await self._around.own(asked.request, caller, begin)
        if session is not None and not isinstance(outcome, Success):
            await self._sessions.end(session)
            session = None
        if isinstance(outcome, Answer):
            return outcome
        revision = caller.revision if session is None else session.revision
        body = self._replies.encode(asked.request.id, outcome, revision, (asked.request, caller))
        given = () if session is None else ((SESSION_HEADER, session.id),)
        return replace(whole(body, asked.accepts), headers=given)

    async def _begin(self, asked: Initialize, headers: Headers, principal: Principal | None) -> Session | Answer:
        revision, request_id = negotiate(asked.requested, self._pin), asked.request.id
        try:
            session = await self._sessions.create(
                owner_of(principal),
                revision,
                asked.client_info,
                asked.client_capabilities,
                origin=headers.get(ORIGIN),
            )
        except TooLarge as error:
            return Answer(400, encode_failure(request_id, INVALID_PARAMS, str(error), {"reason": "client_too_large"}))
        return too_many_sessions(request_id, session) if isinstance(session, Full) else session

    async def post(self, asked: LegacyPost, headers: Headers, principal: Principal | None, peer: Peer) -> Answer | None:
        """Serve one body of a session; None if the response was streamed."""
        session = await self._sessions.load(asked.session_id, owner_of(principal), headers.get(ORIGIN))
        request_id = asked.message.id if isinstance(asked.message, Request) else None
        if session is None:
            return no_session(request_id)
        try:
            return await self._message(asked, Sender(session, headers, principal), peer)
        except LogGone:  # it has ended since it was loaded
            return no_session(request_id)

    async def stream(
        self, asked: LegacyStream, headers: Headers, principal: Principal | None, peer: Peer
    ) -> Answer | None:
        """Open a standalone stream, or take up any stream of the session again (transports, "Resumability")."""
        place: Place | None = None
        if asked.last_event_id:
            place = eventids.read(asked.session_id, asked.last_event_id)
            if place is None:
                return refused("unknown_event_id", "Last-Event-ID names no event of this session")
        session = await self._sessions.load(asked.session_id, owner_of(principal), headers.get(ORIGIN))
        if session is None:
            return no_session(None)
        try:
            async with asyncio.timeout(remaining(principal, time.time())) as expiry:
                return await self._stream(session, place, principal, peer)
        except LogGone:
            return no_session(None)
        except TimeoutError:
            if not expiry.expired():
                raise
            return None  # the token that opened the stream has expired; another one may take it up

    async def end(self, asked: LegacyEnd, headers: Headers, principal: Principal | None) -> Answer:
        """Terminate the session on every process (transports, "Session Management")."""
        session = await self._sessions.load(asked.session_id, owner_of(principal), headers.get(ORIGIN))
        if session is None or not await self._sessions.end(session):
            return no_session(None)
        return Answer(204, media_type=None)

    async def _message(self, asked: LegacyPost, sender: Sender, peer: Peer) -> Answer | None:
        match asked.message:
            case Request() as request:
                return await self._requests.serve(request, sender, asked.accepts, peer)
            case Notification() as notification:
                return ACCEPTED if await self.notification(notification, sender) else CROWDED
            case Batch() as batch:
                fault = refuse_batch(sender.session.revision)
                if fault is not None:
                    return Answer(fault.status, fault.body())
                if not await self._give_all(batch, sender.session) and _answers_alone(batch):
                    return nobody_asked()
                return await serve_batch(batch, sender, asked.accepts, self._requests, self.notification)
            case Reply() | Failure() as given:
                return ACCEPTED if await self._questions.give(sender.session, given) else nobody_asked()

    async def _give_all(self, batch: Batch, session: Session) -> bool:
        """Give every answer in a batch to its asker; whether anybody waited for one."""
        given = [message for message in batch.messages if isinstance(message, Reply | Failure)]
        return any([await self._questions.give(session, each) for each in given])

    async def _stream(
        self, session: Session, place: Place | None, principal: Principal | None, peer: Peer
    ) -> Answer | None:
        match place:
            case CallPlace(last=True):
                await peer.begin()  # nothing follows the end
            case CallPlace():
                return await self._requests.resume(session, place, peer)
            case StandalonePlace() | None:
                await self._standalone.serve(session, place, principal, peer)
        return None

    async def notification(self, notification: Notification, sender: Sender) -> bool:
        """Heed a notification of a session, or begin to; False if there is no room for it."""
        request_id: Any = notification.params.get("requestId")
        if notification.method == "notifications/cancelled" and is_id(request_id):
            await self._cancellations.send(sender.session, request_id, reason_in(notification.params))
        return self._notices.take(notification, sender.caller(notification))


def _answers_alone(batch: Batch) -> bool:
    """Whether a batch holds responses, and nothing that could be answered: only its refusal tells that nobody waits."""
    kinds = {type(message) for message in batch.messages}
    return bool(kinds & {Reply, Failure}) and not kinds & {Request, Malformed}


def too_many_sessions(request_id: RequestId | None, full: Full) -> Answer:
    """503: there is no place for another session now."""
    body = encode_failure(request_id, INTERNAL_ERROR, "Too many sessions", {"reason": "too_many_sessions"})
    return Answer(503, body, headers=(("Retry-After", str(max(1, math.ceil(full.retry_after)))),))


def no_session(request_id: RequestId | None) -> Answer:
    """404, which tells a client to begin a new session; an unknown id and a foreign one are told alike."""
    body = encode_failure(request_id, INVALID_REQUEST, "Session not found", {"reason": "session_not_found"})
    return Answer(404, body)


def nobody_asked() -> Answer:
    """The refusal of a response: nobody asked, or whoever asked is gone, has given up, or has another answer."""
    return refused("nobody_asked", "No request with this id awaits an answer")
