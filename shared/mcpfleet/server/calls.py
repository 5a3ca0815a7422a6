"""The legacy calls of this process: each outlives the connection that brought it (transports, "Sending Messages").

A call is undecided until one of two things happens. Its outcome comes first: then it is answered as one JSON object and
never touches a log. Or it has something to say before, or takes longer than `stream_after`: then a stream is opened in
the store, and from there on only the stream speaks; the connection that brought the call follows it like any other
reader. The switch is one decision under one lock.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mcpfleet.errors import TooLarge, Unavailable
from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, Request, encode_failure, encode_notification
from mcpfleet.server.caller import Caller
from mcpfleet.server.cancellation import Cancellations
from mcpfleet.server.delivery import server_stopped
from mcpfleet.server.dispatch import Dispatcher
from mcpfleet.server.exchange import Exchange, Record
from mcpfleet.server.process import Process
from mcpfleet.server.reply import Replies
from mcpfleet.server.sessions import Session, Sessions
from mcpfleet.server.streams import CallEnded, CallStream

log = logging.getLogger("mcpfleet.calls")


class Call:
    """One request of a session while it runs; it is its handler's outlet too."""

    def __init__(self, calls: "Calls", request: Request, caller: Caller, session: Session, *, may_stream: bool) -> None:
        self.exchange = Exchange.new(session.id)
        self.request = request
        self.stream: CallStream | None = None
        self.body: bytes | None = None
        """The whole response: of a call without a stream, or of one whose stream could not take it."""
        self._calls = calls
        self._caller = caller
        self._session = session
        self._may_stream = may_stream
        self._turn = asyncio.Lock()
        self._decided = asyncio.Event()
        self._tasks = asyncio.TaskGroup()
        self._runner: asyncio.Task[Any] | None = None
        self._revoked = False
        self._last_words: bytes | None = None
        self._finishing = False
        self._hearing: asyncio.Task[None] | None = None

    async def decided(self) -> None:
        """Return once the call has a stream, or has ended without one."""
        while not self._decided.is_set():
            try:
                async with asyncio.timeout(self._calls.policy.stream_after if self._may_stream else None):
                    await self._decided.wait()
            except TimeoutError:
                await self._switch()

    async def notify(self, method: str, params: Mapping[str, Any], *, newest_of: str | None = None) -> None:
        """Append one notification to the call's stream, which is opened for the first."""
        stream = await self._switch()
        if stream is not None:
            await stream.write(encode_notification(method, params), coalesce=newest_of)

    def revoke(self, last_words: bytes | None = None) -> None:
        """End the call now, with these words instead of its result (None: with no response); too late is no harm."""
        if self._finishing or self._revoked:
            return
        self._revoked, self._last_words = True, last_words
        if self._runner is not None:
            self._runner.cancel()

    async def run(self) -> None:
        """Serve the request to its end, whether or not anybody listens."""
        self._runner = asyncio.current_task()
        loop = asyncio.get_running_loop()
        outlives = loop.call_later(self._calls.policy.stream_after, self._hear)
        try:
            async with self._tasks:
                await self._finish(await self._serve())
                if self._hearing is not None:
                    self._hearing.cancel()
        except* (CallEnded, Unavailable) as ended:
            log.warning("%s ended without its result being kept: %s", self.request.method, ended.exceptions[0])
        finally:
            outlives.cancel()
            self._decided.set()

    async def _serve(self) -> bytes | None:
        if self._revoked:
            return self._last_words
        try:
            outcome = await self._calls.dispatcher.serve(self.request, self._caller, self)
        except asyncio.CancelledError:
            if not self._revoked or self._runner is None:
                raise
            self._runner.uncancel()
            return self._last_words
        if self._revoked:  # the handler held on to its result although it was cancelled
            return self._last_words
        return self._calls.replies.encode(self.request.id, outcome, self._caller.revision)

    async def _finish(self, body: bytes | None) -> None:
        self._finishing = True
        async with self._turn:
            self.body = body
            self._decided.set()
        if self.stream is None:
            return
        try:
            await self.stream.end(body)
        except TooLarge as error:
            await self.stream.end(
                encode_failure(self.request.id, INTERNAL_ERROR, str(error), {"reason": "result_too_large"})
            )

    async def _switch(self) -> CallStream | None:
        """The call's stream, opened if the call is undecided; None if it cannot have one (any more, or just now)."""
        async with self._turn:
            if self.stream is None and self._may_stream and not self._finishing:
                with suppress(Unavailable):  # the call goes on without; the next one who wants the stream tries again
                    self.stream = await self._calls.open_stream(self._tasks, self.exchange, self.request)
                    self._decided.set()
            return self.stream

    def _hear(self) -> None:
        if not self._finishing:
            self._hearing = self._tasks.create_task(self._calls.hear(self, self._session))


class Calls:
    """All the calls that this process runs for legacy sessions."""

    def __init__(
        self,
        process: Process,
        sessions: Sessions,
        cancellations: Cancellations,
        dispatcher: Dispatcher,
        replies: Replies,
    ) -> None:
        self.dispatcher = dispatcher
        self.replies = replies
        self.policy = process.policy
        self._process = process
        self._sessions = sessions
        self._cancellations = cancellations
        self._running: set[Call] = set()
        self._group: asyncio.TaskGroup | None = None
        self._stop = asyncio.Event()

    @property
    def running(self) -> int:
        """How many calls have not ended yet."""
        return len(self._running)

    async def run(self) -> None:
        """Keep the calls' tasks until `stop`; whatever still runs then is ended with an error at once."""
        async with asyncio.TaskGroup() as self._group:
            await self._stop.wait()
            for call in [*self._running]:
                call.revoke(server_stopped(call.request.id))
        self._group = None

    def stop(self) -> None:
        """End `run`, and with it every call."""
        self._stop.set()

    def start(self, request: Request, caller: Caller, session: Session, *, may_stream: bool = True) -> Call:
        """Begin to serve a request, whatever becomes of its connection; raises `Unavailable` once stopped."""
        if self._group is None or self._stop.is_set():
            raise Unavailable("this process takes no more calls")
        call = Call(self, request, caller, session, may_stream=may_stream)
        self._running.add(call)
        self._group.create_task(call.run()).add_done_callback(lambda _: self._running.discard(call))
        return call

    async def open_stream(self, tasks: asyncio.TaskGroup, exchange: Exchange, request: Request) -> CallStream:
        """Open the stream of one call, with its writer in `tasks`."""
        return await CallStream.open(
            tasks,
            self._process.backplane,
            self._process.keeper,
            exchange,
            Record(request.id, request.method),
            retention=self.policy.retention,
            hold=self.policy.hold,
        )

    async def hear(self, call: Call, session: Session) -> None:
        """Revoke the call when it is cancelled or its session ends; keep the session alive meanwhile."""
        request_id, every = call.request.id, self.policy.session_idle / 4
        try:
            with self._process.keeper.touching(lambda: self._sessions.touch(session), every=every, on_gone=call.revoke):
                with suppress(Unavailable):  # unregistered, it is still found by its id
                    await self._cancellations.register(call.exchange, request_id)
                await self._cancellations.heard(session, call.exchange, request_id)
            call.revoke()
        finally:
            with suppress(Unavailable):
                await self._cancellations.forget(call.exchange, request_id)
