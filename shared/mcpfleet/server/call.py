"""One legacy call, which outlives the connection that brought it (transports, "Sending Messages to the Server").

A call is undecided until one of two things happens. Its outcome comes first: then it is answered as one JSON object and
never touches a log. Or it has something to say before, or takes longer than `stream_after`: then a stream is opened in
the store, and from there on only the stream speaks; the connection that brought the call follows it like any other
reader. Both decisions are single steps of the event loop, and an opening that is under way is given up when the outcome
comes, so exactly one of them is taken.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Final

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.errors import CannotAsk, LogGone, NotAnswered, TooLarge, Unavailable
from mcpfleet.protocol import sse
from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, Request, encode_failure, encode_notification
from mcpfleet.server import cancellation, topics
from mcpfleet.server.caller import Caller
from mcpfleet.server.cancellation import Cancellations
from mcpfleet.server.delivery import server_stopped
from mcpfleet.server.events import Change, Events
from mcpfleet.server.exchange import Exchange, Record
from mcpfleet.server.failures import Failures
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.process import Process
from mcpfleet.server.questions import Questions
from mcpfleet.server.reply import Replies
from mcpfleet.server.rounds import Rounds
from mcpfleet.server.sessions import Session, Sessions
from mcpfleet.server.signals import Cancel, HungUp, Resumed, Signals
from mcpfleet.server.streams import CallEnded, CallStream
from mcpfleet.server.tool import Tool

log = logging.getLogger("mcpfleet.call")

ELICITATION_COMPLETE: Final = "notifications/elicitation/complete"
REGISTER_AFTER: Final = 0.02
"""How many seconds a call may run before cancels of its id can name it: most are over by then, and cost no command."""


@dataclass(frozen=True, slots=True)
class Means:
    """What every call of a process is served with."""

    process: Process
    sessions: Sessions
    signals: Signals
    cancellations: Cancellations
    rounds: Rounds
    replies: Replies
    questions: Questions
    events: Events
    failures: Failures


class Call:
    """One request of a session while it runs; it is its handler's outlet too."""

    def __init__(
        self,
        means: Means,
        request: Request,
        caller: Caller,
        session: Session,
        *,
        may_stream: bool,
        may_hang_up: bool = False,
        held: bool = False,
    ) -> None:
        """`may_hang_up`: its client will take a stream up again of which it has seen no more than the beginning."""
        self.id = secrets.token_hex(8)
        self.request = request
        self.stream: CallStream | None = None
        self.body: bytes | None = None
        """The response once the call has ended; None: there is none, since the call was cancelled."""
        self._means = means
        self._policy = means.process.policy
        self._caller = caller
        self._session = session
        self._may_stream = may_stream
        self._may_hang_up = may_hang_up
        self._parting = b""
        self._ended = False
        self._held = held
        self._going = asyncio.Event()
        self._decided = asyncio.Event()
        self._left = asyncio.Event()
        self._tasks = asyncio.TaskGroup()
        self._runner: asyncio.Task[Any] | None = None
        self._opening: asyncio.Task[None] | None = None
        self._outliving: asyncio.Task[None] | None = None

    async def decided(self) -> None:
        """Return once the call has a stream, or has ended without one."""
        try:
            await self._decided.wait()
        except asyncio.CancelledError:
            self._may_stream = False  # nobody was told of a stream, so nobody could resume it
            raise

    def go(self) -> None:
        """Let a call run that was held."""
        self._going.set()

    async def left(self) -> bytes:
        """Return once the connection that brought the call is over, what it is to be told in parting.

        Another one has taken the call's stream up, or may do so after a while.
        """
        await self._left.wait()
        return self._parting

    async def notify(self, method: str, params: Mapping[str, Any], *, newest_of: str | None = None) -> None:
        """Append one notification to the call's stream, which is opened for the first.

        Without a stream, what its session is told all the same goes to the session's own.
        """
        if not self._may_stream:
            await self._tell_session(method, params)
            return
        body = encode_notification(method, params)
        await self._switch()
        if self.stream is not None:
            with suppress(CallEnded, Unavailable):  # the call has ended, so its handler has, or is being cancelled
                await self.stream.write(body, coalesce=newest_of)

    async def _tell_session(self, method: str, params: Mapping[str, Any]) -> None:
        if method == ELICITATION_COMPLETE:
            with suppress(Unavailable):  # it is a hint: the client may look for itself
                change = Change(topics.COMPLETED, params["elicitationId"], session=self._session.id)
                await self._means.events.publish(change)

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> Mapping[str, Any]:
        """Ask the client on the call's stream, which is opened for it."""
        await self._switch()
        if not self._may_stream:
            raise CannotAsk("This request is answered with one JSON object, so its client cannot be asked anything.")
        if self._ended:  # its handler is being cancelled, which a task of it may not know yet
            raise NotAnswered("The request has ended, so its client cannot be asked anything.")
        if self.stream is None:
            raise NotAnswered("The server cannot reach its store, so the client cannot be asked anything now.")
        return await self._means.questions.ask(self.stream, method, params, timeout=timeout)

    async def hang_up(self, retry_ms: int) -> None:
        """End whichever connection delivers the call's stream, on any process."""
        if not self._may_hang_up:
            return
        await self._switch()
        if self.stream is None:
            return
        self._parting = sse.encode(None, retry_ms=retry_ms)
        self._left.set()
        with suppress(LogGone, Unavailable):  # the session has ended, or a connection to another process stays
            await self._means.signals.send(self._session, HungUp(self.stream.exchange.id, retry_ms))

    async def detach(self, tool: Tool) -> None:
        """Do nothing: no legacy client takes a task for a result."""

    async def step(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do it: a call of a session runs once, from its beginning to its end."""
        return await work()

    def revoke(self, last_words: bytes | None = None, *, reason: str | None = None) -> None:
        """End the call now, with these words in place of its result (None: no response); too late is no harm.

        Its handler is cancelled, and told the reason; whatever it still does is heard by nobody.
        """
        if not self._ended:
            self._end(last_words)
            if self._runner is not None:
                self._runner.cancel(reason)

    async def run(self) -> None:
        """Serve the request to its end, whether or not anybody listens."""
        self._runner = asyncio.current_task()
        wait = min(REGISTER_AFTER, self._policy.stream_after)
        outlives = asyncio.get_running_loop().call_later(wait, self._outlast)
        try:
            async with self._tasks:
                await self._serve()
                if self._outliving is not None:
                    self._outliving.cancel()
                if self.stream is not None:
                    await self.stream.closed()
        except* (CallEnded, Unavailable) as lost:
            log.warning("%s ended without its result being kept: %s", self.request.method, lost.exceptions[0])
        except* Exception as unforeseen:  # noqa: BLE001  # the boundary: it is noted, and ends this call alone
            self._means.failures.note(unforeseen, Incoming.of(self.request, self._caller))
        finally:
            outlives.cancel()

    def forsake(self) -> None:
        """End the call, unless it has ended: nothing runs it any more."""
        self._end(server_stopped(self.request.id))

    async def _serve(self) -> None:
        if self._ended:
            return
        try:
            if self._held:
                await self._hold()
            outcome = await self._means.rounds.serve(self.request, self._caller, self)
        except asyncio.CancelledError:
            if not self._ended or self._runner is None or self._runner.uncancel():
                raise
        else:
            asked = self.request, self._caller
            self._end(self._means.replies.encode(self.request.id, outcome, self._caller.revision, asked))

    async def _hold(self) -> None:
        """Open the stream and wait for `go`; without a stream, the call is over."""
        await self._switch()
        if self.stream is None:
            self.revoke()
        await self._going.wait()

    def _end(self, body: bytes | None) -> None:
        """Decide how the call ends; only the first decision counts."""
        if self._ended:
            return
        self._ended, self.body = True, body
        if self._opening is not None:
            self._opening.cancel()
        if self.stream is not None:
            with suppress(CallEnded, Unavailable):  # it was ended elsewhere, or could not be kept
                self._close(self.stream, body)
        self._decided.set()

    def _close(self, stream: CallStream, body: bytes | None) -> None:
        try:
            stream.close(body)
        except TooLarge as error:
            reason = {"reason": "result_too_large"}
            stream.close(encode_failure(self.request.id, INTERNAL_ERROR, str(error), reason))

    async def _switch(self) -> None:
        """Open the call's stream if it has none, and may have one, and has not ended."""
        if self.stream is None and self._may_stream and not self._ended:
            if self._opening is None or self._opening.done():
                self._opening = self._tasks.create_task(self._open())
            await asyncio.wait({self._opening})

    async def _open(self) -> None:
        """Make the call a stream; if the store is away it goes on without, and whoever wants one next tries again.

        Each attempt has names of its own: what an earlier one has left in doubt could not be told from another runner.
        """
        process, record = self._means.process, Record(self.request.id, self.request.method)
        with suppress(Unavailable):
            self.stream = await CallStream.open(
                self._tasks,
                process.backplane,
                process.keeper,
                Exchange.new(self._session.id),
                record,
                retention=self._policy.retention,
                hold=self._policy.hold,
            )
            self._decided.set()

    def _outlast(self) -> None:
        if not self._ended and self._runner is not None and not self._runner.cancelling():
            self._outliving = self._tasks.create_task(self._outlive())

    async def _outlive(self) -> None:
        """What a call does that takes longer than a moment: it can be cancelled, and keeps its session alive."""
        session, means = self._session, self._means
        every = self._policy.session_idle / 4
        with means.process.keeper.touching(self._touch, every=every, on_gone=self.revoke):
            async with means.cancellations.registered(session, self.request.id, self.id), asyncio.TaskGroup() as tasks:
                await asyncio.sleep(self._policy.stream_after - REGISTER_AFTER)
                tasks.create_task(self._hear())
                await self._become_a_stream()

    async def _become_a_stream(self) -> None:
        """Open the stream, however long the store is away, unless the call ends before."""
        backoff = Backoff()
        await self._switch()
        while self._may_stream and not self._decided.is_set():
            await asyncio.sleep(backoff.pause())
            await self._switch()

    async def _hear(self) -> None:
        """Revoke the call when it is cancelled or its session ends."""
        reason: str | None = None
        async with aclosing(self._means.signals.after(self._session, self._session.position)) as heard:
            async for signal in heard:
                if isinstance(signal, Cancel) and cancellation.means(signal, self.request.id, self.id):
                    reason = signal.reason
                    break
                if isinstance(signal, Resumed) and self.stream and signal.exchange == self.stream.exchange.id:
                    self._left.set()
        self.revoke(reason=reason)

    async def _touch(self) -> bool:
        await self._means.cancellations.keep(self._session, self.request.id)
        return await self._means.sessions.touch(self._session)
