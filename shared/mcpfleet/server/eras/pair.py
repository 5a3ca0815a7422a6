"""The oldest transport: one stream that carries everything, and POSTs that are answered there ("HTTP with SSE").

The stream is its session: opening it begins one, closing it ends it, and nothing is taken up again. A POST lands on any
process. A request gets a call stream of its own, which is announced in the session's log before the request is run; the
process that holds the connection follows what is announced, and so ends a call whose process has died.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final

import msgspec

from mcpfleet.backplane.base import Position
from mcpfleet.backplane.follow import follow
from mcpfleet.errors import LogGap, LogGone, TooLarge, Unavailable
from mcpfleet.protocol import sse
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import (
    Initialize,
    PairMessage,
    PairStream,
    Rejected,
    malformed,
    read_handshake,
    refuse_batch,
    refuse_meta,
)
from mcpfleet.protocol.inbound.legacy import INITIALIZE
from mcpfleet.protocol.jsonrpc import (
    INVALID_PARAMS,
    Batch,
    Failure,
    Malformed,
    Notification,
    Reply,
    Request,
    encode_failure,
)
from mcpfleet.protocol.jsontext import dumps, loads
from mcpfleet.protocol.revisions import OLDEST, Revision, negotiate
from mcpfleet.server import signals
from mcpfleet.server.around import Around
from mcpfleet.server.auth import Principal, owner_of, remaining
from mcpfleet.server.caller import Caller
from mcpfleet.server.delivery import deliver, not_replayable
from mcpfleet.server.eras.legacy import ORIGIN, Legacy, no_session, nobody_asked, too_many_sessions
from mcpfleet.server.eras.requests import OF_SESSIONS, Requests, Sender
from mcpfleet.server.exchange import Exchange
from mcpfleet.server.notices import CROWDED
from mcpfleet.server.outcome import Outcome, Success
from mcpfleet.server.peer import ACCEPTED, Answer, Peer
from mcpfleet.server.process import Process
from mcpfleet.server.questions import Questions
from mcpfleet.server.records import Records
from mcpfleet.server.reply import Replies
from mcpfleet.server.server import Server
from mcpfleet.server.sessions import Full, Record, Session, Sessions, described
from mcpfleet.server.signals import Announced, Said, Signals
from mcpfleet.server.standalone import Standalone

END_SECONDS: Final = 5.0
"""How long it may take to end the session of a client that has left; what is not done then is left to expire."""


class Pair:
    """Serves both endpoints; what is no affair of the transport is the legacy era's."""

    def __init__(
        self,
        server: Server,
        process: Process,
        sessions: Sessions,
        records: Records,
        signals: Signals,
        legacy: Legacy,
        requests: Requests,
        standalone: Standalone,
        replies: Replies,
        questions: Questions,
        around: Around,
    ) -> None:
        self._server = server
        self._process = process
        self._sessions = sessions
        self._records = records
        self._signals = signals
        self._legacy = legacy
        self._requests = requests
        self._standalone = standalone
        self._replies = replies
        self._questions = questions
        self._around = around

    async def serve(
        self, asked: PairStream | PairMessage, headers: Headers, principal: Principal | None, peer: Peer
    ) -> Answer | None:
        """Serve a request to either endpoint; None if the response was streamed."""
        if isinstance(asked, PairStream):
            return await self._stream(asked, headers, principal, peer)
        return await self._message(asked, headers, principal)

    async def _stream(
        self, asked: PairStream, headers: Headers, principal: Principal | None, peer: Peer
    ) -> Answer | None:
        """Begin a session, and stream to the peer until the session ends, the token expires, or the process drains."""
        session = await self._sessions.create(
            owner_of(principal), OLDEST, {}, {}, pair=True, origin=headers.get(ORIGIN)
        )
        if isinstance(session, Full):
            return too_many_sessions(None, session)
        async with self._ending(session):
            await peer.begin()
            await peer.send(sse.encode(f"{asked.messages}?session_id={session.id}".encode(), event="endpoint"))
            with suppress(TimeoutError):  # the token has expired: another stream needs another one
                async with asyncio.timeout(remaining(principal, time.time())):
                    await self._hold(session, principal, _Messages(peer))
        return None

    async def _message(self, asked: PairMessage, headers: Headers, principal: Principal | None) -> Answer:
        """Take one message of a session; it is answered on the session's stream."""
        session = await self._sessions.load(asked.session_id, owner_of(principal), headers.get(ORIGIN))
        if session is None or not session.record.pair:
            return no_session(asked.message.id if isinstance(asked.message, Request) else None)
        sender = Sender(session, headers, principal)
        try:
            return await self._take(asked.message, sender)
        except LogGone:  # it has ended since it was loaded
            return no_session(None)

    async def _take(self, message: Request | Notification | Reply | Failure | Batch, sender: Sender) -> Answer:
        match message:
            case Batch() as batch:
                return await self._batch(batch, sender)
            case Request() as request:
                await self._request(request, sender)
                return ACCEPTED
            case Notification() as notification:
                return ACCEPTED if await self._legacy.notification(notification, sender) else CROWDED
            case Reply() | Failure() as answer:
                return ACCEPTED if await self._questions.give(sender.session, answer) else nobody_asked()

    async def _batch(self, batch: Batch, sender: Sender) -> Answer:
        """Take each message of a batch, whose responses are messages of their own; what expects none comes first."""
        fault = refuse_batch(sender.session.revision)
        if fault is not None:
            return Answer(fault.status, fault.body())
        for message in batch.messages:
            if isinstance(message, Notification):
                await self._take(message, sender)
        given = [
            await self._take(message, sender) for message in batch.messages if isinstance(message, Reply | Failure)
        ]
        expecting = [message for message in batch.messages if isinstance(message, Request | Malformed)]
        for message in expecting:
            if isinstance(message, Malformed):
                await self._say(sender.session, malformed(message).body())
            else:
                await self._request(message, sender)
        return ACCEPTED if expecting or not given or ACCEPTED in given else nobody_asked()

    async def _request(self, request: Request, sender: Sender) -> None:
        fault = refuse_meta(request)
        if fault is not None:
            await self._say(sender.session, fault.body())
        elif request.method == INITIALIZE:
            await self._say(sender.session, await self._initialize(request, sender))
        elif request.method in OF_SESSIONS:
            await self._say(sender.session, await self._requests.of_session(request, sender))
        else:
            await self._requests.announced(request, sender, self._announce)

    async def _initialize(self, request: Request, sender: Sender) -> bytes:
        """The answer to the handshake, and what was agreed on in the session's record."""
        asked: Initialize | Rejected = read_handshake(request)
        if isinstance(asked, Rejected):
            return asked.body()
        agreed = negotiate(asked.requested, self._process.policy.handshake)

        async def agree(request: Request) -> Outcome | Answer:
            nonlocal agreed
            given = msgspec.structs.replace(asked, request=request)
            agreed = negotiate(given.requested, self._process.policy.handshake)
            return await self._agree(given, agreed, sender.session)

        caller = Caller.shaking_hands(asked, agreed, sender.headers, sender.principal)
        outcome = await self._around.own(request, caller, agree)
        return (
            outcome.body
            if isinstance(outcome, Answer)
            else self._replies.encode(request.id, outcome, agreed, (request, caller))
        )

    async def _agree(self, asked: Initialize, revision: Revision, session: Session) -> Outcome | Answer:
        try:
            info, able = described(asked.client_info, asked.client_capabilities)
        except TooLarge as error:
            reason = {"reason": "client_too_large"}
            return Answer(400, encode_failure(asked.request.id, INVALID_PARAMS, str(error), reason))

        def agreed(record: Record) -> Record:
            return msgspec.structs.replace(
                record, revision=revision.date, client_info_json=info, capabilities_json=able
            )

        if not await self._records.change(session, agreed):
            raise LogGone("the session has ended")
        return Success(self._server.initialization(revision))

    async def _announce(self, session: Session, exchange: Exchange, start: Position, request: Request) -> None:
        await self._signals.send(session, Announced(exchange.id, str(start), dumps(request.id)))

    async def _say(self, session: Session, body: bytes) -> None:
        await self._signals.send(session, Said(body))

    async def _hold(self, session: Session, principal: Principal | None, peer: Peer) -> None:
        """Deliver what is said and announced, and what changes; told to drain, first finish what is under way."""
        delivering: set[asyncio.Task[None]] = set()
        async with asyncio.TaskGroup() as tasks:
            hearing = tasks.create_task(self._hear(session, peer, tasks, delivering))
            telling = tasks.create_task(self._tell(session, principal, peer))
            await asyncio.wait({hearing, telling}, return_when=asyncio.FIRST_COMPLETED)
            telling.cancel()
            if delivering:
                await asyncio.wait(delivering, timeout=self._process.policy.drain)
            for task in (hearing, *delivering):
                task.cancel()

    async def _tell(self, session: Session, principal: Principal | None, peer: Peer) -> None:
        with suppress(LogGone, Unavailable):  # the stream ends, and its client opens another one
            await self._standalone.serve(session, None, principal, peer)

    async def _hear(
        self, session: Session, peer: Peer, tasks: asyncio.TaskGroup, delivering: set[asyncio.Task[None]]
    ) -> None:
        """Follow the session's log from its beginning; what is lost of it ends the stream."""
        ttl = self._process.policy.session_idle
        with suppress(LogGap):
            async with aclosing(follow(self._process.backplane, session.log, session.position, ttl=ttl)) as entries:
                async for entry in entries:
                    match signals.read(entry.data):
                        case Said(body):
                            await peer.send(sse.encode(body))
                        case Announced() as announced:
                            task = tasks.create_task(self._deliver(session, announced, peer))
                            delivering.add(task)
                            task.add_done_callback(delivering.discard)

    async def _deliver(self, session: Session, announced: Announced, peer: Peer) -> None:
        exchange, request_id = Exchange(session.id, announced.exchange), loads(announced.request)
        if not await deliver(self._process, exchange, request_id, Position.parse(announced.start), peer):
            await peer.send(sse.encode(not_replayable(request_id)))

    @asynccontextmanager
    async def _ending(self, session: Session) -> AsyncIterator[None]:
        """End the session after the block, however it is left: its calls are cancelled."""
        try:
            yield
        finally:
            with suppress(Unavailable, TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    await self._sessions.end(session)


class _Messages:
    """The peer of a client that knows events by their names and nothing of ids."""

    resumable = False

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._events = sse.Decoder()

    @property
    def begun(self) -> bool:
        return self._peer.begun

    async def begin(self) -> None:
        await self._peer.begin()

    async def send(self, frame: bytes) -> None:
        for event in self._events.feed(frame):
            if event.data:
                await self._peer.send(sse.encode(event.data, event="message"))
