"""The engine seen from the wire: real bytes and headers go in, and what a client would read comes out.

A `Flight` is one HTTP exchange; its peer records the stream, and can stop reading or leave.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import Rejected, classify
from mcpfleet.protocol.revisions import LATEST, LATEST_LEGACY
from mcpfleet.protocol.sse import Decoder, Event
from mcpfleet.server.auth import Principal
from mcpfleet.server.engine import Engine
from mcpfleet.server.peer import EVENT_STREAM, Answer

DEADLINE: Final = 10.0
"""How many seconds anything here may take."""
BOTH: Final = "application/json, text/event-stream"
LEGACY: Final = LATEST_LEGACY.date
MODERN: Final = LATEST.date

Json = dict[str, Any]
RequestId = str | int


class RecordingPeer:
    """A client that keeps what it reads; while `reading` is not set it reads nothing."""

    def __init__(self) -> None:
        self.resumable = True
        self.begun = False
        self.reading = asyncio.Event()
        self.reading.set()
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
        self.events += events
        self.arrived.put_nowait(events[0])


@dataclass(frozen=True, slots=True)
class Got:
    """A response that has ended."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    events: Sequence[Event]
    streamed: bool

    @property
    def messages(self) -> list[Json]:
        """Every JSON-RPC message in it, in order; those of a batch too."""
        bodies = [event.data for event in self.events if event.data] if self.streamed else [self.body] * bool(self.body)
        found: list[Json] = []
        for parsed in map(json.loads, bodies):
            found += parsed if isinstance(parsed, list) else [parsed]
        return found

    @property
    def notifications(self) -> list[Json]:
        return [message for message in self.messages if "method" in message]

    @property
    def progress(self) -> list[float]:
        """The progress that was reported; of reports that wait to be sent, only the newest is."""
        found = [each["params"] for each in self.notifications if each["method"] == "notifications/progress"]
        return [params["progress"] for params in found]

    @property
    def replies(self) -> list[Json]:
        return [message for message in self.messages if "method" not in message]

    @property
    def reply(self) -> Json:
        """The one response in it."""
        assert len(self.replies) == 1, self
        return self.replies[0]

    @property
    def result(self) -> Json:
        assert "result" in self.reply, self
        result: Json = self.reply["result"]
        return result

    @property
    def error(self) -> Json:
        assert "error" in self.reply, self
        error: Json = self.reply["error"]
        return error

    @property
    def reason(self) -> str:
        """Which refusal of ours it is."""
        reason: str = self.error["data"]["reason"]
        return reason

    @property
    def text(self) -> str:
        """The text that a tool returned."""
        text: str = self.result["content"][0]["text"]
        return text


class Flight:
    """One HTTP exchange, from its request on."""

    def __init__(self, engine: Engine, method: str, headers: Headers, body: bytes, principal: Principal | None) -> None:
        self.peer = RecordingPeer()
        self._task = asyncio.ensure_future(self._fly(engine, method, headers, body, principal))

    @property
    def ended(self) -> bool:
        return self._task.done()

    async def got(self) -> Got:
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
    ) -> Got:
        try:
            asked = classify(method, headers, body)
            if isinstance(asked, Rejected):
                answer: Answer | None = Answer(asked.status, asked.body(), headers=asked.headers)
            else:
                answer = await engine.serve(asked, headers, principal, self.peer)
            return self._land(answer)
        finally:
            self.peer.arrived.put_nowait(None)

    def _land(self, answer: Answer | None) -> Got:
        if not self.peer.begun:
            assert answer is not None, "neither an answer nor a stream"
            whole_stream = answer.media_type == EVENT_STREAM
            events = Decoder().feed(answer.body) if whole_stream else []
            return Got(answer.status, dict(answer.headers), answer.body, events, whole_stream)
        if answer is not None and answer.body:
            self.peer.record(b"data: " + answer.body + b"\n\n")
        return Got(200, {}, b"", tuple(self.peer.events), streamed=True)


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
        if "name" in params:
            routing["Mcp_Name"] = params["name"]
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

    async def cancel(self, node: Node, request_id: RequestId) -> Got:
        return await self.notify(node, "notifications/cancelled", {"requestId": request_id}).got()

    def listen(self, node: Node, after: str | None = None) -> Flight:
        """Open a standalone stream, or take up any stream after an event."""
        return self.send(node, "GET", Last_Event_ID=after)

    async def end(self, node: Node) -> Got:
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
