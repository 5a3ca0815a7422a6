"""One client on one connection of lines, in both eras at once (transports/stdio; Versioning, "Backward Compatibility").

The engine serves it like any other client: each request is an exchange of its own, whose stream goes into the one
connection that there is, and the handshake's session lasts as long as the connection.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from mcpfleet.protocol.headers import NO_HEADERS
from mcpfleet.protocol.inbound import (
    Accepted,
    EarlyPing,
    Initialize,
    LegacyEnd,
    LegacyPost,
    LegacyStream,
    ModernNotification,
    ModernRequest,
    Rejected,
    classify_line,
    malformed,
)
from mcpfleet.protocol.jsonrpc import (
    INTERNAL_ERROR,
    Batch,
    Failure,
    Malformed,
    Notification,
    Reply,
    Request,
    RequestId,
    decode,
    encode_failure,
    encode_notification,
    encode_reply,
    is_id,
)
from mcpfleet.protocol.messages.notifications import Cancelled
from mcpfleet.protocol.revisions import LATEST
from mcpfleet.protocol.sse import Decoder
from mcpfleet.server.cancellation import reason_in
from mcpfleet.server.engine import Engine
from mcpfleet.server.eras.legacy import SESSION_HEADER
from mcpfleet.server.eras.listening import LISTEN
from mcpfleet.server.peer import JSON, Answer

OK: Final = 200
MAX_RUNNING: Final = 1000
"""How many requests run at once; one more is refused."""

Write = Callable[[bytes], Awaitable[None]]


class Conversation:
    """Serves the messages of one client; what it says is given to `write`, one message at a time."""

    def __init__(self, engine: Engine, write: Write, tasks: asyncio.TaskGroup) -> None:
        """Requests run in `tasks`, each until it is answered."""
        self._engine = engine
        self._write = write
        self._tasks: asyncio.TaskGroup = tasks
        self._session: str | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._cancellable: dict[RequestId, asyncio.Task[None]] = {}

    async def take(self, line: bytes) -> None:
        """Serve one message; requests go on after this returns, everything else is done by then."""
        message = decode(line)
        if isinstance(message, Malformed):
            return await self.refuse(malformed(message))
        asked: Accepted | EarlyPing | Rejected | None
        if isinstance(message, Notification) and self._cancels(message):
            asked = ModernNotification(LATEST, message)  # what is left to do is to let hooks know
        else:
            asked = classify_line(message, self._session, self._engine.pin)
        match asked:
            case Rejected():
                await self.refuse(asked)
            case EarlyPing():
                await self._write(encode_reply(asked.id, {}))
            case Initialize():
                await self._begin(asked)
            case ModernRequest():
                await self._start(asked, asked.request.id)
            case LegacyPost(message=Request() | Batch() as request):
                await self._start(asked, request.id if isinstance(request, Request) else None)
            case LegacyPost(message=Notification() | Reply() | Failure()) | ModernNotification():
                await self._serve(asked)  # what is wrong with it cannot be answered
        return None

    async def refuse(self, why: Rejected) -> None:
        """Tell the client why something that it sent is not served."""
        await self._write(why.body())

    async def ended(self, *, within: float) -> None:
        """Wait until every request is answered, for so many seconds at most; what still runs then is cancelled."""
        if self._running:
            await asyncio.wait(self._running, timeout=within)
        for task in self._running:
            task.cancel()

    async def _begin(self, asked: Initialize) -> None:
        """Shake hands: what an earlier handshake began is over."""
        if self._session is not None:
            await self._serve(LegacyEnd(self._session, None))
            self._session = None
        answer = await self._serve(asked)
        if answer is None:
            return
        await self._write(answer.body)
        self._session = dict(answer.headers).get(SESSION_HEADER)
        if self._session is not None:
            self._keep(self._tasks.create_task(self._exchange(LegacyStream(self._session, None, None))))

    async def _start(self, asked: ModernRequest | LegacyPost, request_id: RequestId | None) -> None:
        if len(self._running) >= MAX_RUNNING:
            words = f"{MAX_RUNNING} requests are being served already"
            return await self._write(encode_failure(request_id, INTERNAL_ERROR, words, {"reason": "too_many_requests"}))
        task = self._tasks.create_task(self._exchange(asked))
        self._keep(task)
        if isinstance(asked, ModernRequest):
            self._cancellable[asked.request.id] = task
            task.add_done_callback(lambda _: self._forget(asked.request.id, task))
        return None

    async def _exchange(self, asked: Accepted) -> None:
        """Serve a request to its end: what it streams, then its answer."""
        answer = await self._serve(asked)
        if answer is not None and answer.body and answer.media_type == JSON:
            await self._write(answer.body)
            if isinstance(asked, ModernRequest) and asked.request.method == LISTEN and answer.status == OK:
                # The result comes first: it says that the end is in order, and a client may heed nothing after this.
                await self._write(encode_notification(Cancelled.METHOD, {"requestId": asked.request.id}))

    async def _serve(self, asked: Accepted) -> Answer | None:
        return await self._engine.serve(asked, NO_HEADERS, None, _LinePeer(self._write))

    def _cancels(self, notification: Notification) -> bool:
        """Whether this cancels a modern request, which is done by now: nothing more is said of it ("Cancellation")."""
        request_id: Any = notification.params.get("requestId")
        if notification.method != "notifications/cancelled" or not is_id(request_id):
            return False
        task = self._cancellable.pop(request_id, None)
        return task is not None and task.cancel(reason_in(notification.params))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _forget(self, request_id: RequestId, task: asyncio.Task[None]) -> None:
        if self._cancellable.get(request_id) is task:
            del self._cancellable[request_id]


class _LinePeer:
    """A `Peer` without a response of its own: what is streamed to it goes into the common connection."""

    resumable = False
    begun = False

    def __init__(self, write: Write) -> None:
        self._write = write
        self._events = Decoder()

    async def begin(self) -> None:
        """There is nothing to begin."""

    async def send(self, frame: bytes) -> None:
        """Write the messages in the events; their ids would help nobody, since nothing is taken up again."""
        for event in self._events.feed(frame):
            if event.data:
                await self._write(event.data)
