"""A small MCP client for tests: it speaks any revision, sends exactly what it is given, and hides nothing it gets."""

import asyncio
import json
import ssl
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Self

import httpx2

from mcpfleet.protocol.headers import NAMED_BY, encode_value
from mcpfleet.protocol.revisions import LATEST, LATEST_LEGACY, REVISIONS, Era
from mcpfleet.protocol.sse import Decoder, Event
from tests.answer import Answer, Json
from tests.balancer import PIN

LEGACY: Final = tuple(revision.date for revision in REVISIONS if revision.era is Era.LEGACY)
MODERN: Final = LATEST.date
LATEST_HANDSHAKE: Final = LATEST_LEGACY.date
EVERY: Final = (*LEGACY, MODERN)
DEADLINE: Final = 20.0
"""How many seconds anything here may take."""

BOTH: Final = "application/json, text/event-stream"
CLIENT_INFO: Final = {"name": "wire", "version": "1"}

Headers = Mapping[str, str | None]
RequestId = str | int

_NO_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # reading certificates would take longer than most tests


class Stream:
    """A response while it arrives; `events` are those that have come."""

    def __init__(self, response: httpx2.Response) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self.events: list[Event] = []
        self._body = bytearray()
        self._chunks = response.aiter_bytes()
        self._decoder = Decoder()
        self._ready: deque[Event] = deque()

    @property
    def process(self) -> int:
        """Which process serves it."""
        return int(self.headers[PIN])

    @property
    def last_event_id(self) -> str:
        """Where it would be taken up again."""
        return next(event.id for event in reversed(self.events) if event.id)

    async def event(self, within: float = DEADLINE) -> Event | None:
        """The next event; None after the last."""
        async with asyncio.timeout(within):
            while not self._ready:
                try:
                    chunk = await anext(self._chunks)
                except StopAsyncIteration:
                    return None
                self._body += chunk
                self._ready.extend(self._decoder.feed(chunk))
        self.events.append(event := self._ready.popleft())
        return event

    async def message(self, within: float = DEADLINE) -> Json | None:
        """The next JSON-RPC message; None after the last."""
        while (event := await self.event(within)) is not None:
            if event.data:
                message: Json = json.loads(event.data)
                return message
        return None

    async def answer(self, within: float = DEADLINE) -> Answer:
        """The whole response, once it has ended."""
        async with asyncio.timeout(within):
            async for chunk in self._chunks:
                self._body += chunk
        return Answer(self.status, self.headers, bytes(self._body))


class Client:
    """One client in one revision, with connections of its own; a legacy one has a session once it is initialized.

    `pin` sends a request to the process of that index; otherwise it goes to any but the last one.
    """

    def __init__(
        self, url: str, date: str, headers: Mapping[str, str] | None = None, capabilities: Json | None = None
    ) -> None:
        self.url = url
        self.date = date
        self.capabilities = capabilities or {}
        self.session_id: str | None = None
        self._headers = {"Accept": BOTH, **(headers or {})}
        self._http = httpx2.AsyncClient(
            verify=_NO_TLS, timeout=DEADLINE, limits=httpx2.Limits(max_connections=None), trust_env=False
        )

    @property
    def modern(self) -> bool:
        return self.date == MODERN

    async def initialize(self, requested: str | None = None, *, pin: int | None = None) -> Answer:
        """Shake hands and keep the session and the revision that were given."""
        params = {
            "protocolVersion": self.date if requested is None else requested,
            "capabilities": self.capabilities,
            "clientInfo": CLIENT_INFO,
        }
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        answer = await self.send("POST", json.dumps(message), headers={**self._headers, **_pinned(pin)}, bare=True)
        if answer.status == 200:
            self.session_id = answer.headers["Mcp-Session-Id"]
            self.date = answer.result["protocolVersion"]
        return answer

    async def request(
        self,
        method: str,
        params: Json | None = None,
        *,
        as_id: RequestId = 1,
        pin: int | None = None,
        headers: Headers | None = None,
    ) -> Answer:
        """Send one request and return the whole response; a header of None is left out."""
        async with self.asking(method, params, as_id=as_id, pin=pin, headers=headers) as stream:
            return await stream.answer()

    @asynccontextmanager
    async def asking(
        self,
        method: str,
        params: Json | None = None,
        *,
        as_id: RequestId = 1,
        pin: int | None = None,
        headers: Headers | None = None,
    ) -> AsyncIterator[Stream]:
        """Send one request and read its response while it arrives; leaving early closes the connection."""
        params = self.enveloped(params or {})
        message = {"jsonrpc": "2.0", "id": as_id, "method": method, "params": params}
        routed = {**self.routing(method, params), **(headers or {}), **_pinned(pin)}
        async with self.opened("POST", json.dumps(message), headers=routed) as stream:
            yield stream

    async def call(
        self,
        tool: str,
        *,
        as_id: RequestId = 1,
        pin: int | None = None,
        token: RequestId | None = None,
        **arguments: Any,
    ) -> Answer:
        """Call a tool and return the whole response; progress is asked for with a token."""
        async with self.calling(tool, as_id=as_id, pin=pin, token=token, **arguments) as stream:
            return await stream.answer()

    @asynccontextmanager
    async def calling(
        self,
        tool: str,
        *,
        as_id: RequestId = 1,
        pin: int | None = None,
        token: RequestId | None = None,
        **arguments: Any,
    ) -> AsyncIterator[Stream]:
        """Call a tool and read the response while it arrives; leaving early closes the connection."""
        params: Json = {"name": tool, "arguments": arguments}
        if token is not None:
            params["_meta"] = {"progressToken": token}
        async with self.asking("tools/call", params, as_id=as_id, pin=pin) as stream:
            yield stream

    async def notify(self, method: str, params: Json | None = None, *, pin: int | None = None) -> Answer:
        """Send one notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        return await self.send("POST", json.dumps(message), headers=_pinned(pin))

    async def answer(
        self, request_id: RequestId, result: Json | None = None, *, error: Json | None = None, pin: int | None = None
    ) -> Answer:
        """Answer a request of the server's, with a result or with an error."""
        outcome = {"result": result or {}} if error is None else {"error": error}
        message = {"jsonrpc": "2.0", "id": request_id, **outcome}
        return await self.send("POST", json.dumps(message), headers=_pinned(pin))

    async def cancel(self, request_id: RequestId, *, pin: int | None = None) -> Answer:
        """Cancel a request of the session."""
        return await self.notify("notifications/cancelled", {"requestId": request_id}, pin=pin)

    @asynccontextmanager
    async def listening(self, last_event_id: str | None = None, *, pin: int | None = None) -> AsyncIterator[Stream]:
        """Open the session's standalone stream, or take up a stream after an event."""
        headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
        async with self.opened("GET", headers={**headers, **_pinned(pin)}) as stream:
            yield stream

    async def resume(self, last_event_id: str, *, pin: int | None = None, within: float = DEADLINE) -> Answer:
        """Take up a stream after an event and read it to its end."""
        async with self.listening(last_event_id, pin=pin) as stream:
            return await stream.answer(within)

    async def end(self, *, pin: int | None = None) -> Answer:
        """Terminate the session."""
        return await self.send("DELETE", headers=_pinned(pin))

    async def send(
        self,
        method: str,
        body: str | bytes = b"",
        *,
        headers: Headers | None = None,
        bare: bool = False,
    ) -> Answer:
        """Send an HTTP request to the endpoint and return the whole response; see `opened`."""
        async with self.opened(method, body, headers=headers, bare=bare) as stream:
            return await stream.answer()

    @asynccontextmanager
    async def opened(
        self,
        method: str,
        body: str | bytes = b"",
        *,
        headers: Headers | None = None,
        bare: bool = False,
    ) -> AsyncIterator[Stream]:
        """Send an HTTP request with the headers of this client and session; `bare`: with the given ones alone."""
        content = {"Content-Type": "application/json"} if body else {}
        sent = {**content, **({} if bare else {**self._headers, **self._of_session()}), **(headers or {})}
        kept = {name: value for name, value in sent.items() if value is not None}
        async with self._http.stream(method, self.url, content=body, headers=kept) as response:
            yield Stream(response)

    def enveloped(self, params: Json) -> Json:
        """The parameters with what a modern request says of its sender."""
        if not self.modern:
            return params
        meta = {
            "io.modelcontextprotocol/protocolVersion": self.date,
            "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        }
        return {**params, "_meta": {**meta, **params.get("_meta", {})}}

    def routing(self, method: str, params: Json) -> dict[str, str]:
        """The headers that repeat a modern body."""
        if not self.modern:
            return {}
        name = params.get(NAMED_BY.get(method, ""))
        return {"Mcp-Method": method, **({"Mcp-Name": encode_value(name)} if isinstance(name, str) else {})}

    def _of_session(self) -> dict[str, str]:
        """The headers of every request but the first."""
        if self.session_id is None:
            return {"MCP-Protocol-Version": self.date} if self.modern else {}
        headers = {"Mcp-Session-Id": self.session_id}
        # The header was introduced by the revision that removed batches.
        return headers if self.date < "2025-06-18" else {**headers, "MCP-Protocol-Version": self.date}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()


@asynccontextmanager
async def connected(
    url: str,
    date: str,
    *,
    pin: int | None = None,
    headers: Mapping[str, str] | None = None,
    capabilities: Json | None = None,
) -> AsyncIterator[Client]:
    """A client that is ready: with a session of its own if its revision has sessions."""
    async with Client(url, date, headers, capabilities) as client:
        if not client.modern:
            assert (await client.initialize(pin=pin)).status == 200
            assert (await client.notify("notifications/initialized")).status == 202
        yield client


def _pinned(process: int | None) -> dict[str, str]:
    return {} if process is None else {PIN: str(process)}
