"""The engine seen from the wire: real bytes and headers go in, and what a client would read comes out.

A `Flight` is one HTTP exchange; its peer records the stream, and can stop reading or leave.
"""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from mcpfleet.protocol import sse
from mcpfleet.protocol.headers import NAMED_BY, Headers, encode_value
from mcpfleet.protocol.inbound import Rejected, classify
from mcpfleet.protocol.revisions import LATEST, LATEST_LEGACY
from mcpfleet.protocol.sse import Decoder, Event
from mcpfleet.server import peer
from mcpfleet.server.auth import Principal
from mcpfleet.server.engine import Engine
from tests.answer import Answer, Json

DEADLINE: Final = 10.0
"""How many seconds anything here may take."""
BOTH: Final = "application/json, text/event-stream"
LEGACY: Final = LATEST_LEGACY.date
MODERN: Final = LATEST.date

RequestId = str | int


class RecordingPeer:
    """A client that keeps what it reads; while `reading` is not set it reads nothing."""

    def __init__(self) -> None:
        self.resumable = True
        self.begun = False
        self.reading = asyncio.Event()
        self.reading.set()
        self.body = bytearray()
        self.events: list[Event] = []
        self.arrived: asyncio.Queue[Event | None] = asyncio.Queue()

    async def begin(self) -> None:
        await self.reading.wait()
        self.begun = True

    async def send(self, frame: bytes) -> None:
        assert self.begun, "nothing may be sent before the head"
        await self.reading.wait()
        self.record(frame)

    def record(self, frame: bytes) -> None:
        events = Decoder().feed(frame)
        assert len(events) == 1, f"one frame is one event: {frame!r}"
        self.body += frame
        self.events += events
        self.arrived.put_nowait(events[0])


class Flight:
    """One HTTP exchange, from its request on."""

    def __init__(self, engine: Engine, method: str, headers: Headers, body: bytes, principal: Principal | None) -> None:
        self.peer = RecordingPeer()
        self._task = asyncio.ensure_future(self._fly(engine, method, headers, body, principal))

    @property
    def ended(self) -> bool:
        return self._task.done()

    async def got(self) -> Answer:
        """The whole response, once it has ended."""
        async with asyncio.timeout(DEADLINE):
            return await asyncio.shield(self._task)

    async def event(self) -> Event | None:
        """The next event of the stream; None after the last."""
        async with asyncio.timeout(DEADLINE):
            return await self.peer.arrived.get()

    async def message(self) -> Json | None:
        """The next JSON-RPC message of the stream; None after the last."""
        while (event := await self.event()) is not None:
            if event.data:
                message: Json = json.loads(event.data)
                return message
        return None

    async def begun(self) -> str:
        """The id that the stream begins with, once it has begun."""
        event = await self.event()
        assert event is not None
        assert event.data == b""
        assert event.id
        return event.id

    @property
    def last_event_id(self) -> str:
        """Where the stream would be taken up again."""
        return next(event.id for event in reversed(self.peer.events) if event.id)

    async def cut(self) -> None:
        """Leave, as a client does whose connection breaks."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _fly(
        self, engine: Engine, method: str, headers: Headers, body: bytes, principal: Principal | None
    ) -> Answer:
        try:
            asked = classify(method, headers, body)
            if isinstance(asked, Rejected):
                answer: peer.Answer | None = peer.Answer(asked.status, asked.body(), headers=asked.headers)
            else:
                answer = await engine.serve(asked, headers, principal, self.peer)
            return self._land(answer)
        finally:
            self.peer.arrived.put_nowait(None)

    def _land(self, answer: peer.Answer | None) -> Answer:
        if not self.peer.begun:
            assert answer is not None, "neither an answer nor a stream"
            kind = {} if answer.media_type is None else {"content-type": answer.media_type}
            return Answer(answer.status, httpx2.Headers({**dict(answer.headers), **kind}), answer.body)
        if answer is not None and answer.body:
            self.peer.record(sse.encode(answer.body))
        return Answer(200, httpx2.Headers({"content-type": peer.EVENT_STREAM}), bytes(self.peer.body))


class Node:
    """One process: its engine, and how requests get into it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.flights: list[Flight] = []

    def send(
        self, method: str, body: Any = b"", *, principal: Principal | None = None, **headers: str | None
    ) -> Flight:
        """Begin one HTTP exchange; a header's underscores are hyphens, and None leaves it out."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Accept": BOTH, **({"Content-Type": "application/json"} if content else {})}
        given |= {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
        flight = Flight(self.engine, method, Headers.of(given), content, principal)
        self.flights.append(flight)
        return flight

    def modern(
        self, method: str, params: Json | None = None, *, as_id: RequestId = 1, meta: Json | None = None, **options: Any
    ) -> Flight:
        """Send one request that stands alone."""
        params = dict(params or {})
        envelope = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params["_meta"] = envelope | (meta or {})
        routing = {"MCP_Protocol_Version": MODERN, "Mcp_Method": method}
        if isinstance(name := params.get(NAMED_BY.get(method, "name")), str):
            routing["Mcp_Name"] = encode_value(name)
        return self.send("POST", request(method, params, as_id), **{**routing, **options})

    async def initialize(
        self, date: str = LEGACY, *, principal: Principal | None = None, capabilities: Json | None = None
    ) -> "Session":
        """Shake hands, and be the client of the session from then on."""
        params = {
            "protocolVersion": date,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "wire", "version": "1"},
        }
        got = await self.send("POST", request("initialize", params, 0), principal=principal).got()
        assert got.status == 200, got
        return Session(got.headers["Mcp-Session-Id"], got.result["protocolVersion"], principal)


@dataclass(frozen=True, slots=True)
class Session:
    """A legacy session, of which any node may serve the next message."""

    id: str
    date: str
    principal: Principal | None = None

    def send(self, node: Node, method: str, body: Any = b"", **options: Any) -> Flight:
        return node.send(method, body, **{"principal": self.principal, "Mcp_Session_Id": self.id, **options})

    def request(self, node: Node, method: str, params: Json | None = None, *, as_id: RequestId = 1) -> Flight:
        return self.send(node, "POST", request(method, params, as_id))

    def call(
        self,
        node: Node,
        tool: str,
        *,
        as_id: RequestId = 1,
        token: RequestId | None = None,
        accept: str = BOTH,
        **arguments: Any,
    ) -> Flight:
        """Call a tool; progress is asked for with a token."""
        return self.send(node, "POST", call(tool, as_id=as_id, token=token, **arguments), Accept=accept)

    def notify(self, node: Node, method: str, params: Json | None = None) -> Flight:
        return self.send(node, "POST", notification(method, params))

    async def cancel(self, node: Node, request_id: RequestId) -> Answer:
        return await self.notify(node, "notifications/cancelled", {"requestId": request_id}).got()

    def listen(self, node: Node, after: str | None = None) -> Flight:
        """Open a standalone stream, or take up any stream after an event."""
        return self.send(node, "GET", Last_Event_ID=after)

    async def end(self, node: Node) -> Answer:
        return await self.send(node, "DELETE").got()


def request(method: str, params: Json | None = None, as_id: RequestId = 1) -> Json:
    return {"jsonrpc": "2.0", "id": as_id, "method": method, "params": params or {}}


def notification(method: str, params: Json | None = None) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params or {}}


def call(tool: str, *, as_id: RequestId = 1, token: RequestId | None = None, **arguments: Any) -> Json:
    params: Json = {"name": tool, "arguments": arguments}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return request("tools/call", params, as_id)
