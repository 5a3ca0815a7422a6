"""Requests of legacy sessions: each is a call, answered as one JSON object or by a stream that can be resumed."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import msgspec

from mcpfleet.backplane.base import Position
from mcpfleet.errors import InDoubt, Unavailable
from mcpfleet.protocol import sse
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import refuse_meta
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, Notification, Request
from mcpfleet.protocol.messages.notifications import LOG_LEVELS
from mcpfleet.server import eventids
from mcpfleet.server.around import Around
from mcpfleet.server.auth import Principal
from mcpfleet.server.call import Call
from mcpfleet.server.caller import Caller
from mcpfleet.server.calls import Calls
from mcpfleet.server.delivery import deliver, not_replayable, unless
from mcpfleet.server.eras.subscribing import SUBSCRIBE, UNSUBSCRIBE, Subscribing
from mcpfleet.server.eventids import CallPlace
from mcpfleet.server.exchange import Exchange, find
from mcpfleet.server.outcome import Outcome, Refusal, Success
from mcpfleet.server.peer import EVENT_STREAM, Answer, Peer, refused, whole
from mcpfleet.server.process import Process
from mcpfleet.server.records import Records
from mcpfleet.server.reply import Replies
from mcpfleet.server.sessions import Record, Session
from mcpfleet.server.signals import HungUp, Resumed, Signals
from mcpfleet.server.streams import CallStream

SET_LEVEL: Final = "logging/setLevel"
OF_SESSIONS: Final = frozenset({SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE})
"""Requests that change nothing but their session, and so are no calls."""

Announce = Callable[[Session, Exchange, Position, Request], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent one body of a session."""

    session: Session
    headers: Headers
    principal: Principal | None

    def caller(self, message: Request | Notification) -> Caller:
        """The sender of a message in the body."""
        record = self.session.record
        return Caller(
            revision=self.session.revision,
            principal=self.principal,
            headers=self.headers,
            client_info=record.client_info,
            capabilities=record.capabilities,
            log_level=record.log_level,
            session_id=self.session.id,
            request_id=message.id if isinstance(message, Request) else None,
            meta=message.params.get("_meta", {}),
        )


class Requests:
    """Serves requests, and takes the streams of earlier ones up again."""

    def __init__(
        self,
        process: Process,
        signals: Signals,
        records: Records,
        subscribing: Subscribing,
        calls: Calls,
        replies: Replies,
        around: Around,
    ) -> None:
        self._process = process
        self._subscribing = subscribing
        self._records = records
        self._signals = signals
        self._calls = calls
        self._replies = replies
        self._around = around

    async def serve(self, request: Request, sender: Sender, accepts: frozenset[str], peer: Peer) -> Answer | None:
        """Serve one request that is the whole body; None if the response was streamed."""
        fault = refuse_meta(request)
        if fault is not None:
            return Answer(fault.status, fault.body())
        if request.method in OF_SESSIONS:
            return whole(await self.of_session(request, sender), accepts)
        may_hang_up = sender.session.revision.priming_event and peer.resumable
        call = await self._run(request, sender, may_stream=EVENT_STREAM in accepts, may_hang_up=may_hang_up)
        if call.stream is not None:
            return await self._follow(call, call.stream, sender.session, peer)
        if call.body is None:
            return Answer(200, b"", EVENT_STREAM)  # cancelled: a stream that ends without a response
        return whole(call.body, accepts)

    async def body(self, request: Request, sender: Sender) -> bytes | None:
        """Serve one request of many in a body: its response, or None if it was cancelled."""
        fault = refuse_meta(request)
        if fault is not None:
            return fault.body()
        if request.method in OF_SESSIONS:
            return await self.of_session(request, sender)
        return (await self._run(request, sender, may_stream=False)).body

    async def resume(self, session: Session, place: CallPlace, peer: Peer) -> Answer | None:
        """Go on with a call's stream in the place of the connection that had it before."""
        exchange = Exchange(session.id, place.exchange)
        request_id = place.request
        if request_id is None:
            record = await find(self._process.backplane, exchange)
            if record is None:
                return refused("stream_expired", "The stream of this Last-Event-ID is no longer kept")
            request_id = record.request_id
        entered = await self._take_over(session, exchange)
        await _begin(session, CallPlace(exchange.id, place.position, request_id), peer)
        delivering = deliver(self._process, exchange, request_id, place.position, peer)
        if await unless(self._left(session, exchange, entered), delivering, peer):
            return None
        return Answer(200, not_replayable(request_id))

    async def announced(self, request: Request, sender: Sender, announce: Announce) -> None:
        """Begin a call whose stream somebody else delivers: it is announced before the request is run.

        Raises `Unavailable`, or what `announce` raises; then the request is not run.
        """
        call = self._calls.start(request, sender.caller(request), sender.session, held=True)
        try:
            await call.decided()
            if call.stream is None:
                raise Unavailable("the call's stream could not be opened")
            await announce(sender.session, call.stream.exchange, call.stream.start, request)
        except BaseException:
            call.revoke()
            raise
        call.go()

    async def _run(self, request: Request, sender: Sender, *, may_stream: bool, may_hang_up: bool = False) -> Call:
        call = self._calls.start(
            request, sender.caller(request), sender.session, may_stream=may_stream, may_hang_up=may_hang_up
        )
        await call.decided()
        return call

    async def _follow(self, call: Call, stream: CallStream, session: Session, peer: Peer) -> Answer | None:
        exchange, request_id = stream.exchange, call.request.id
        await _begin(session, CallPlace(exchange.id, stream.start, request_id), peer)
        delivering = deliver(self._process, exchange, request_id, stream.start, peer)
        if await unless(call.left(), delivering, peer):
            return None
        # The store lost the stream, but the client is still here, and so may be the result.
        return Answer(200, call.body or not_replayable(request_id))

    async def _take_over(self, session: Session, exchange: Exchange) -> Position:
        """Tell an earlier connection of the stream that it is over; return where that was said.

        A store that is full takes no word of it and can still be read: then the earlier one may go on beside this.
        """
        try:
            return await self._signals.send(session, Resumed(exchange.id))
        except InDoubt:
            raise
        except Unavailable:
            await find(self._process.backplane, exchange)  # raises too if the store is away
            return session.position

    async def _left(self, session: Session, exchange: Exchange, after: Position) -> bytes:
        """Return when yet another connection takes the stream up, or may, or the session ends; and what to say then."""
        async with aclosing(self._signals.after(session, after)) as heard:
            async for signal in heard:
                if signal == Resumed(exchange.id):
                    break
                if isinstance(signal, HungUp) and signal.exchange == exchange.id:
                    return sse.encode(None, retry_ms=signal.retry_ms)
        return b""

    async def of_session(self, request: Request, sender: Sender) -> bytes:
        """The response to one of the requests that change the session itself, and run no handler of an author."""
        session = sender.session

        async def serve(request: Request) -> Outcome:
            if request.method == SET_LEVEL:
                return await self._with_level(request, session)
            return await self._subscribing.serve(request, session, sender.principal)

        caller = sender.caller(request)
        outcome = await self._around.own(request, caller, serve)
        if isinstance(outcome, Answer):
            return outcome.body
        return self._replies.encode(request.id, outcome, session.revision, (request, caller))

    async def _with_level(self, request: Request, session: Session) -> Outcome:
        level = request.params.get("level")
        if not isinstance(level, str) or level not in LOG_LEVELS:
            return Refusal(INVALID_PARAMS, f"params.level must be one of {', '.join(LOG_LEVELS)}")

        def with_level(record: Record) -> Record:
            return msgspec.structs.replace(record, log_level=level)

        if not await self._records.change(session, with_level):
            return Refusal(INVALID_REQUEST, "The session has ended")
        return Success({})


async def _begin(session: Session, place: CallPlace, peer: Peer) -> None:
    """Begin a stream, in revisions that prime it with an event without a message, whose id is the place.

    So does one that was taken up again: some clients forget the id that they came with, and may be cut off once more.
    """
    await peer.begin()
    if session.revision.priming_event:
        await peer.send(sse.encode(b"", id=eventids.write(session.id, place)))
