"""Streamable HTTP: each message is a POST of its own, and the answer an object or a stream of events.

Serves both eras: sessions, their own stream, and streams that are taken up again belong to the legacy one alone.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from types import TracebackType
from typing import Final, Self

import httpx2

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.client.messages import is_answer, messages_in
from mcpfleet.client.transport import MAX_MESSAGE_BYTES, Exchange, Outgoing
from mcpfleet.client.transports.resumption import Resumption
from mcpfleet.errors import ClientError, Disconnected, HttpRefused, ReplyRefused, Unreachable
from mcpfleet.protocol.headers import ACCEPT, CONTENT_TYPE, LAST_EVENT_ID
from mcpfleet.protocol.jsonrpc import Message
from mcpfleet.protocol.negotiation import EVENT_STREAM, JSON
from mcpfleet.protocol.sse import Decoder, Event, EventTooLarge

CONNECT_SECONDS: Final = 10.0
WRITE_SECONDS: Final = 30.0
IDLE_SECONDS: Final = 4.0
"""How long an unused connection is kept: less than servers keep it, so that none closes it under a request."""
END_SECONDS: Final = 2.0
MOST_WORDS: Final = 2000
"""How much of a body that is no message is told of."""

_BOTH: Final = f"{JSON}, {EVENT_STREAM}"

log = logging.getLogger("mcpfleet.client")


def default_client(*, headers: Mapping[str, str] | None = None, auth: httpx2.Auth | None = None) -> httpx2.AsyncClient:
    """An HTTP client with as many connections as there are calls at once, and no limit on how long an answer takes."""
    return httpx2.AsyncClient(
        headers=dict(headers or {}),
        auth=auth,
        timeout=httpx2.Timeout(connect=CONNECT_SECONDS, read=None, write=WRITE_SECONDS, pool=None),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=IDLE_SECONDS),
    )


class HttpTransport:
    """The endpoint at one URL; redirects are not followed, since a request must not end up elsewhere."""

    shared = False

    def __init__(
        self,
        url: str,
        http: httpx2.AsyncClient | None = None,
        *,
        owned: bool = False,
        max_message: int = MAX_MESSAGE_BYTES,
    ) -> None:
        """A client that is given stays open unless it is `owned`; `max_message` is in bytes."""
        self.url = url
        self._owned = owned or http is None
        self._http = http if http is not None else default_client()
        self._max = max_message

    @asynccontextmanager
    async def exchange(self, request: Outgoing) -> AsyncIterator[Exchange]:
        """See `Transport.exchange`."""
        async with self._opened("POST", request.headers, request.body) as response:
            yield _HttpExchange(self, request, response)

    async def send(self, message: Outgoing) -> None:
        """See `Transport.send`."""
        async with self._opened("POST", message.headers, message.body) as response:
            if not response.is_success:
                raise HttpRefused(response.status_code, await self._words(response))

    @asynccontextmanager
    async def unasked(self, headers: Mapping[str, str]) -> AsyncIterator[AsyncIterator[Message]]:
        """See `Transport.unasked`: a session's own stream, asked for again whenever it ends, unless there is none."""
        async with aclosing(self._standing(headers)) as messages:
            yield messages

    async def end(self, headers: Mapping[str, str]) -> None:
        """See `Transport.end`."""
        try:
            async with asyncio.timeout(END_SECONDS), self._opened("DELETE", headers) as response:
                await response.aread()
        except (ClientError, TimeoutError) as error:
            log.debug("the server was not told of the session's end: %s", error)

    async def resumed(self, request: Outgoing, resumption: Resumption) -> AsyncGenerator[Event, None]:
        """Yield the events of a stream from where it broke off, until it breaks off again."""
        headers = {**request.headers, **_from(resumption)}
        async with self._opened("GET", headers) as response:
            if response.status_code != httpx2.codes.OK or not _is_stream(response):
                raise HttpRefused(response.status_code, await self._words(response))
            async with aclosing(self.events(response)) as events:
                async for event in events:
                    yield event

    async def events(self, response: httpx2.Response) -> AsyncGenerator[Event, None]:
        """Yield the events of a response; `Disconnected` if it breaks off."""
        decoder = Decoder(max_event_bytes=self._max)
        with _translated():
            async for chunk in response.aiter_bytes():
                try:
                    found = decoder.feed(chunk)
                except EventTooLarge as error:
                    raise ReplyRefused(str(error)) from None
                for event in found:
                    yield event

    async def body(self, response: httpx2.Response) -> bytes:
        """The whole body of a response, if it is not too large."""
        parts, size = [], 0
        with _translated():
            async for chunk in response.aiter_bytes():
                size += len(chunk)
                if size > self._max:
                    raise ReplyRefused(f"a message exceeds {self._max} bytes")
                parts.append(chunk)
        return b"".join(parts)

    async def _words(self, response: httpx2.Response) -> str:
        try:
            return (await self.body(response))[:MOST_WORDS].decode(errors="replace")
        except ClientError:
            return ""

    async def _standing(self, headers: Mapping[str, str]) -> AsyncGenerator[Message, None]:
        backoff, resumption = Backoff(first=0.2, most=30.0), Resumption()
        while True:
            try:
                async with aclosing(self.resumed(Outgoing(body=b"", headers=headers), resumption)) as events:
                    async for event in events:
                        resumption.heard(event)
                        backoff.reset()
                        for message in messages_in(event.data):
                            yield message
            except HttpRefused as refused:
                if refused.status < 500:  # there is no such stream, or no such session any more
                    return
            except ReplyRefused as refused:
                log.warning("the stream of a session is read no further: %s", refused)
                return
            except Disconnected:
                pass
            await asyncio.sleep(max(backoff.pause(), resumption.retry))

    @asynccontextmanager
    async def _opened(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[httpx2.Response]:
        accept = _BOTH if method == "POST" else EVENT_STREAM
        content = {CONTENT_TYPE: JSON} if body is not None else {}
        request = self._http.build_request(
            method, self.url, headers={ACCEPT: accept, **content, **headers}, content=body
        )
        with _translated():
            response = await self._http.send(request, stream=True, follow_redirects=False)
        try:
            yield response
        finally:
            await response.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._owned:
            await self._http.aclose()


class _HttpExchange:
    """One response, and those in which a stream that broke off goes on."""

    def __init__(self, transport: HttpTransport, request: Outgoing, response: httpx2.Response) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._transport = transport
        self._request = request
        self._response = response

    def __aiter__(self) -> AsyncIterator[Message]:
        return self._stream() if _is_stream(self._response) else self._object()

    async def _object(self) -> AsyncGenerator[Message, None]:
        body = await self._transport.body(self._response)
        try:
            found = messages_in(body)
        except ReplyRefused:
            if self._response.is_success:
                raise
            found = []
        if not any(is_answer(message, self._request.id) for message in found):
            if self._response.is_success:
                raise ReplyRefused("the response has no answer to the request")
            raise HttpRefused(self.status, body[:MOST_WORDS].decode(errors="replace"))
        for message in found:
            yield message

    async def _stream(self) -> AsyncGenerator[Message, None]:
        events = self._resuming() if self._request.resumable else self._transport.events(self._response)
        async with aclosing(events):
            async for event in events:
                for message in messages_in(event.data):
                    yield message
                    if is_answer(message, self._request.id):
                        return

    async def _resuming(self) -> AsyncGenerator[Event, None]:
        """Yield the events of the response, and of every stream in which it goes on."""
        resumption, clock = Resumption(), asyncio.get_running_loop().time
        events = self._transport.events(self._response)
        while True:
            try:
                async with aclosing(events):
                    async for event in events:
                        resumption.heard(event)
                        yield event
            except Disconnected:
                pass
            except HttpRefused as refused:
                if refused.status < 500:  # the call has run, or runs: only its answer is lost
                    raise Disconnected("the stream of the response broke off, and is not given again") from None
            wait = resumption.pause(clock())
            if wait is None:
                raise Disconnected("the stream of the response broke off, and cannot be taken up again")
            await asyncio.sleep(wait)
            events = self._transport.resumed(self._request, resumption)


@contextmanager
def _translated() -> Iterator[None]:
    """Let what the HTTP library raises leave as one of ours."""
    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
        raise Unreachable(f"the server cannot be reached: {type(error).__name__}") from error
    except httpx2.HTTPError as error:
        raise Disconnected(f"the connection to the server ended: {type(error).__name__}") from error


def _is_stream(response: httpx2.Response) -> bool:
    return str(response.headers.get(CONTENT_TYPE, "")).partition(";")[0].strip().lower() == EVENT_STREAM


def _from(resumption: Resumption) -> dict[str, str]:
    return {} if resumption.last_event_id is None else {LAST_EVENT_ID: resumption.last_event_id}
