"""The modern era: every request stands alone, and its response is the only way back (transports/streamable-http)."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

import msgspec

from mcpfleet.errors import CannotAsk, Unavailable
from mcpfleet.protocol import sse
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import HTTP_STATUS, ModernNotification, ModernRequest
from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, Request, RequestId, encode_failure, encode_notification
from mcpfleet.protocol.meta import CLIENT_CAPABILITIES, CLIENT_INFO
from mcpfleet.protocol.wire import renumber
from mcpfleet.server.around import Around
from mcpfleet.server.auth import Principal
from mcpfleet.server.caller import Caller
from mcpfleet.server.eras.listening import LISTEN, Listening
from mcpfleet.server.notices import CROWDED, Notices
from mcpfleet.server.outcome import STOPPED, STORE_AWAY, Outcome, Refusal
from mcpfleet.server.outlet import Outlet
from mcpfleet.server.peer import ACCEPTED, EVENT_STREAM, JSON, Answer, Peer
from mcpfleet.server.reply import Replies
from mcpfleet.server.rounds import Rounds
from mcpfleet.server.tasks.store import TooManyTasks
from mcpfleet.server.tool import Tool

log = logging.getLogger("mcpfleet.modern")

MAX_NOTIFICATIONS: Final = 1000
"""How many notifications one request may send; what exceeds it is dropped and logged."""
RETRY_SECONDS: Final = 30.0
"""How long a client is told to wait at most for a place that any task may leave before."""


class Modern:
    """Serves modern requests; keeps nothing between two of them and asks no store."""

    def __init__(
        self, rounds: Rounds, listening: Listening, replies: Replies, around: Around, notices: Notices
    ) -> None:
        self._rounds = rounds
        self._listening = listening
        self._replies = replies
        self._around = around
        self._notices = notices
        self._running: set[asyncio.Task[Any]] = set()
        self._stopped = False

    async def serve(self, asked: ModernRequest, headers: Headers, principal: Principal | None, peer: Peer) -> Answer:
        """Serve one request; being cancelled is the client's cancellation ("Cancellation")."""
        caller = Caller(
            revision=asked.revision,
            principal=principal,
            headers=headers,
            client_info=asked.client_info,
            capabilities=asked.client_capabilities,
            log_level=asked.log_level,
            request_id=asked.request.id,
            meta=asked.request.params.get("_meta", {}),
        )
        if asked.request.method == LISTEN:
            return await self._listen(asked, caller, peer)
        outlet = Response(peer, open_to_events=EVENT_STREAM in asked.accepts)
        try:
            outcome = await self.outcome(asked.request, caller, outlet)
        except TooManyTasks as full:
            return _too_many_tasks(asked.request.id, full)
        if outcome is STORE_AWAY:
            raise Unavailable("the store has to be asked for this")
        return await self._answer(asked, caller, outcome, peer)

    def notification(self, asked: ModernNotification, headers: Headers, principal: Principal | None) -> Answer:
        """Begin to heed a notification; who sent it need not say anything of itself."""
        meta = asked.notification.params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        info, capabilities = meta.get(CLIENT_INFO), meta.get(CLIENT_CAPABILITIES)
        caller = Caller(
            revision=asked.revision,
            principal=principal,
            headers=headers,
            client_info=info if isinstance(info, dict) else None,
            capabilities=capabilities if isinstance(capabilities, dict) else {},
            log_level=None,
            meta=meta,
        )
        return ACCEPTED if self._notices.take(asked.notification, caller) else CROWDED

    async def _listen(self, asked: ModernRequest, caller: Caller, peer: Peer) -> Answer:
        async def listen(request: Request) -> Outcome | Answer:
            return await self._listening.serve(msgspec.structs.replace(asked, request=request), caller.principal, peer)

        outcome = await self._around.own(asked.request, caller, listen)
        return outcome if isinstance(outcome, Answer) else await self._answer(asked, caller, outcome, peer)

    async def _answer(self, asked: ModernRequest, caller: Caller, outcome: Outcome, peer: Peer) -> Answer:
        body = self._replies.encode(asked.request.id, outcome, asked.revision, (asked.request, caller))
        status = HTTP_STATUS.get(renumber(outcome.code, asked.revision), 200) if isinstance(outcome, Refusal) else 200
        if status == 200 and JSON not in asked.accepts:
            await peer.begin()
        return Answer(status, body)

    def stop(self) -> None:
        """End each request that still runs with an error, at once."""
        self._stopped = True
        for task in self._running:
            task.cancel()

    async def outcome(self, request: Request, caller: Caller, outlet: Outlet) -> Outcome:
        """Serve one request of any client that is reached only through its response; `stop` ends it too."""
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._running.add(task)
        try:
            return await self._rounds.serve(request, caller, outlet)
        except asyncio.CancelledError:
            if not self._stopped or task.uncancel():
                raise
            return STOPPED
        finally:
            self._running.discard(task)


def _too_many_tasks(request_id: RequestId, full: TooManyTasks) -> Answer:
    """429: whoever asks has as many tasks as it may have, or all have."""
    body = encode_failure(request_id, INTERNAL_ERROR, "Too many tasks", {"reason": "too_many_tasks"})
    return Answer(429, body, headers=(("Retry-After", str(math.ceil(min(full.retry_after, RETRY_SECONDS)))),))


class Response:
    """The outlet of one request: its own response, which becomes an event stream at the first notification."""

    def __init__(self, peer: Peer, *, open_to_events: bool) -> None:
        self._peer = peer
        self._open = open_to_events
        self._sent = 0
        self._turn = asyncio.Lock()

    async def notify(self, method: str, params: Mapping[str, Any], *, newest_of: str | None = None) -> None:
        """Send it at once, unless the client takes no stream or was sent too many."""
        if not self._open:
            return
        frame = sse.encode(encode_notification(method, params))
        if self._sent == MAX_NOTIFICATIONS:
            log.warning("a request sent more than %d notifications; the rest are dropped", MAX_NOTIFICATIONS)
            self._open = False
            return
        self._sent += 1
        async with self._turn:
            await self._peer.begin()
            await self._peer.send(frame)

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> Mapping[str, Any]:
        """Fail: only some methods may ask, and they do it by ending the request, so they never come here."""
        raise CannotAsk("The client cannot be asked anything while this method is served.")

    async def detach(self, tool: Tool) -> None:
        """Do nothing: what can become a task is served in rounds, which take it from there."""

    async def step(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do it."""
        return await work()

    async def hang_up(self, retry_ms: int) -> None:
        """Do nothing: who closes this response has cancelled its request."""
