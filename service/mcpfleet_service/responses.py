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

    def __init__(self, receive: Receive, send: Send, *, keepalive: float | None) -> None:
        """`keepalive` is the seconds of silence after which a comment is sent; None sends none."""
        self._receive = receive
        self._send = send
        self._keepalive = keepalive
        self._may_stream = False
        self._streaming = False
        self._turn = asyncio.Lock()
        self._last_write = 0.0
        self._group = asyncio.TaskGroup()

    async def serve(self, answering: Awaitable[Answer | None]) -> None:
        """Send what `answering` returns, after what it has streamed; it is cancelled when the client goes."""
        loop = asyncio.get_running_loop()
        self._last_write = loop.time()
        attending: list[asyncio.Task[NoReturn]] = []
        try:
            async with self._group:
                watch = loop.call_later(WATCH_AFTER, lambda: attending.append(self._group.create_task(self._attend())))
                try:
                    await self._finish(await answering)
                finally:
                    watch.cancel()
                    for task in attending:
                        task.cancel()
        except* ClientGone:
            pass

    def stream_when_quiet(self) -> None:
        """Let the response become a stream by itself when nothing was sent for the keep-alive time."""
        self._may_stream = True

    async def begin(self, headers: tuple[tuple[str, str], ...] = ()) -> None:
        """Make the response an event stream; a comment goes with its head, since proxies wait for a first byte."""
        async with self._turn:
            if self._streaming:
                return
            self._streaming = self._may_stream = True
            await self._write(
                {"type": "http.response.start", "status": 200, "headers": [*_STREAM_HEAD, *_raw(headers)]}
            )
            await self._write({"type": "http.response.body", "body": sse.comment(""), "more_body": True})

    async def send(self, frame: bytes) -> None:
        """Send encoded events."""
        async with self._turn:
            await self._write({"type": "http.response.body", "body": frame, "more_body": True})

    async def _finish(self, answer: Answer | None) -> None:
        if self._streaming:
            last = sse.encode(answer.body) if answer is not None and answer.body else b""
            async with self._turn:
                await self._write({"type": "http.response.body", "body": last, "more_body": False})
        elif answer is not None:
            await respond(self._send, answer)

    async def _attend(self) -> NoReturn:
        while True:
            try:
                async with asyncio.timeout(self._patience()):
                    message = await self._receive()
            except TimeoutError:
                if not self._streaming:
                    await self.begin()
                else:
                    await self.send(sse.comment(""))
                continue
            if message["type"] == "http.disconnect":
                raise ClientGone

    def _patience(self) -> float | None:
        if self._keepalive is None or not self._may_stream:
            return None
        return max(0.0, self._last_write + self._keepalive - asyncio.get_running_loop().time())

    async def _write(self, message: Message) -> None:
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await self._send(message)
        except TimeoutError:
            self._group.create_task(_report_gone())
            await asyncio.Event().wait()  # until the group cancels this exchange; nothing may be written after a stall
        self._last_write = asyncio.get_running_loop().time()


async def respond(send: Send, answer: Answer) -> None:
    """Send a whole response."""
    headers = [(b"content-length", b"%d" % len(answer.body)), *_raw(answer.headers)]
    if answer.media_type is not None:
        headers.append((b"content-type", answer.media_type.encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def _raw(headers: tuple[tuple[str, str], ...]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers]


async def _report_gone() -> NoReturn:
    raise ClientGone
