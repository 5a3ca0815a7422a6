"""One channel that all messages share, sorted by the requests that they belong to (transports/stdio)."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from mcpfleet.client.messages import is_answer
from mcpfleet.errors import ClientError
from mcpfleet.protocol import meta
from mcpfleet.protocol.jsonrpc import Failure, Message, Notification, Reply, Request, RequestId
from mcpfleet.protocol.messages.notifications import Cancelled, Progress

MAX_WAITING: Final = 10_000
"""How many messages may wait to be read, of one exchange or of none; what comes then is dropped, and said to be."""

log = logging.getLogger("mcpfleet.client")


class Channel:
    """Gives each message to the exchange it belongs to: answers by their id, notifications by what they name."""

    def __init__(self) -> None:
        self._exchanges: dict[RequestId, _Inbox] = {}
        self._unasked = _Inbox(None)
        self._end: ClientError | None = None

    @property
    def closed(self) -> bool:
        """Whether nothing will arrive any more."""
        return self._end is not None

    @contextmanager
    def exchange(self, request_id: RequestId | None) -> Iterator["_Inbox"]:
        """What arrives for a request that is sent within the block."""
        inbox = _Inbox(request_id)
        if self._end is not None:
            raise self._end
        if request_id is not None:
            self._exchanges[request_id] = inbox
        try:
            yield inbox
        finally:
            if request_id is not None:
                del self._exchanges[request_id]

    async def unasked(self) -> AsyncGenerator[Message, None]:
        """Yield what belongs to no exchange, until the channel is closed."""
        try:
            async for message in self._unasked:
                yield message
        except ClientError:
            return

    def take(self, message: Message) -> None:
        """Sort one message."""
        self._inbox(message).put(message)

    def close(self, why: ClientError) -> None:
        """End every exchange; only the first reason counts."""
        if self._end is None:
            self._end = why
            for inbox in (*self._exchanges.values(), self._unasked):
                inbox.put(why)

    def _inbox(self, message: Message) -> "_Inbox":
        match message:
            case Reply() | Failure(id=str() | int()):
                found = self._exchanges.get(message.id) if message.id is not None else None
                return found or _NOWHERE
            case Notification():
                return self._exchanges.get(_request_of(message), self._unasked)
            case Request():
                return self._unasked
        return _NOWHERE  # an error that answers nothing in particular


class _Inbox:
    """What has arrived for one exchange."""

    status: Final = 200
    headers: Mapping[str, str] = {}

    def __init__(self, request_id: RequestId | None) -> None:
        self._id = request_id
        self._arrived: asyncio.Queue[Message | ClientError] = asyncio.Queue()

    def put(self, message: Message | ClientError) -> None:
        if self is _NOWHERE or (self._arrived.qsize() >= MAX_WAITING and isinstance(message, Notification)):
            log.warning("a message of the server's is dropped: %s", type(message).__name__)
            return
        self._arrived.put_nowait(message)

    async def __aiter__(self) -> AsyncIterator[Message]:
        while True:
            message = await self._arrived.get()
            if isinstance(message, ClientError):
                raise message
            yield message
            if is_answer(message, self._id) or _ends(message, self._id):
                return


_NOWHERE: Final = _Inbox(None)


def _request_of(notification: Notification) -> RequestId:
    """The request that a notification says it belongs to; a name that none has, if it says nothing."""
    params = notification.params
    match notification.method:
        case Progress.METHOD:
            named = params.get("progressToken")
        case Cancelled.METHOD:
            named = params.get("requestId")
        case _:
            about = params.get(meta.META)
            named = about.get(meta.SUBSCRIPTION_ID) if isinstance(about, dict) else None
    return named if isinstance(named, str | int) else ""


def _ends(message: Message, request_id: RequestId | None) -> bool:
    """Whether the server tears down the stream of a subscription ("Cancellation")."""
    return request_id is not None and isinstance(message, Notification) and message.method == Cancelled.METHOD
