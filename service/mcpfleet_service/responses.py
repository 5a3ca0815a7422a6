"""The ASGI end of one exchange: sends the head, the body or the stream, and notices when the client goes."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, NoReturn

from mcpfleet.protocol import sse
from mcpfleet.server.peer import EVENT_STREAM, Answer

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

WATCH_AFTER: Final = 0.05
"""How many seconds an exchange may last before its client is watched: most are over by then."""
WRITE_SECONDS: Final = 30.0
"""How long one write may wait for a client that does not read; then the client counts as gone."""

_STREAM_HEAD: Final = (
    (b"content-type", EVENT_STREAM.encode()),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),  # nginx and its kin would hold events back
)


class ClientGone(Exception):
    """The client closed the connection or stopped reading."""


class HttpPeer:
    """A `Peer` over ASGI: one request, one response; serves once."""

    resumable = True

    def __init__(
        self,
        receive: Receive,
        send: Send,
        *,
        keepalive: float | None,
        write_timeout: float = WRITE_SECONDS,
        may_stream: bool = False,
    ) -> None:
        """`keepalive` is the seconds of silence after which a comment is sent; None sends none.

        With `may_stream` the response becomes a stream by itself when so long nothing was sent.
        """
        self._receive = receive
        self._send = send
        self._keepalive = keepalive
        self._write_timeout = write_timeout
        self._may_stream = may_stream
        self._streaming = False
        self._begun = False
        self._finished = False
        self._over = asyncio.Event()
        self._turn = asyncio.Lock()
        self._last_write = 0.0
        self._group = asyncio.TaskGroup()
        self._attending: asyncio.Task[NoReturn] | None = None

    @property
    def begun(self) -> bool:
        """Whether the response was made a stream, and has not become one by itself."""
        return self._begun

    async def serve(self, answering: Awaitable[Answer | None]) -> None:
        """Send what `answering` returns, after what it has streamed; it is cancelled when the client goes."""
        loop = asyncio.get_running_loop()
        self._last_write = loop.time()
        watch = loop.call_later(WATCH_AFTER, self._watch)
        try:
            async with self._group:
                await self._finish(await answering)
                watch.cancel()
                if self._attending is not None:
                    self._attending.cancel()
        except* ClientGone:
            pass
        finally:
            watch.cancel()
            self._finished = True
            self._over.set()

    async def begin(self) -> None:
        """Make the response an event stream; a comment goes with its head, since proxies wait for a first byte."""
        self._begun = self._begun or not self._finished
        await self._stream()

    async def _stream(self) -> None:
        async with self._turn:
            if self._streaming or self._finished:
                return
            self._streaming = True
            head: Message = {"type": "http.response.start", "status": 200, "headers": [*_STREAM_HEAD]}
            await self._write(head, {"type": "http.response.body", "body": sse.comment(""), "more_body": True})

    async def send(self, frame: bytes) -> None:
        """Send encoded events; after the end of the response they are dropped."""
        async with self._turn:
            if not self._finished:
                await self._write({"type": "http.response.body", "body": frame, "more_body": True})

    async def _finish(self, answer: Answer | None) -> None:
        async with self._turn:
            self._finished = True
            if self._streaming:
                await self._write({"type": "http.response.body", "body": _last_frame(answer), "more_body": False})
            elif answer is not None:
                await self._write(*response(answer))

    def _watch(self) -> None:
        if not self._finished:
            self._attending = self._group.create_task(self._attend())

    async def _attend(self) -> NoReturn:
        """Notice the client's leaving, and keep a silent connection alive."""
        while True:
            try:
                async with asyncio.timeout(self._patience()):
                    message = await self._receive()
            except TimeoutError:
                await self._break_silence()
                continue
            if message["type"] == "http.disconnect":
                raise ClientGone

    async def _break_silence(self) -> None:
        if self._streaming:
            await self.send(sse.comment(""))
        elif self._may_stream:
            await self._stream()
        else:
            self._last_write = asyncio.get_running_loop().time()  # look again later: it may become a stream

    def _patience(self) -> float | None:
        if self._keepalive is None:
            return None
        return max(0.0, self._last_write + self._keepalive - asyncio.get_running_loop().time())

    async def _write(self, *messages: Message) -> None:
        try:
            async with asyncio.timeout(self._write_timeout):
                for message in messages:
                    await self._send(message)
        except TimeoutError:
            self._finished = True
            self._group.create_task(_report_gone())
            await self._over.wait()  # the group cancels whoever serves this exchange; only a stray task comes further
            raise ClientGone from None
        self._last_write = asyncio.get_running_loop().time()


def response(answer: Answer) -> tuple[Message, Message]:
    """The messages of a whole response: its head and its body."""
    headers = [(name.lower().encode(), value.encode()) for name, value in answer.headers]
    if answer.status != 204:  # RFC 9110, section 8.6
        headers.append((b"content-length", b"%d" % len(answer.body)))
    if answer.media_type is not None:
        headers.append((b"content-type", answer.media_type.encode()))
    head: Message = {"type": "http.response.start", "status": answer.status, "headers": headers}
    return head, {"type": "http.response.body", "body": answer.body}


def _last_frame(answer: Answer | None) -> bytes:
    if answer is None or not answer.body:
        return b""
    return answer.body if answer.media_type == EVENT_STREAM else sse.encode(answer.body)


async def _report_gone() -> NoReturn:
    raise ClientGone
