"""The lean HTTP client of a chaos run: a connection for each request, and a say in every way in which that may end."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import h11

from mcpfleet.protocol.sse import Decoder, Event
from tests.balancer import PIN, Peer, UpstreamBroke

Json = dict[str, Any]

UNAVAILABLE: Final = 503

_Result = TypeVar("_Result")


class Cut(Exception):
    """The connection broke, or nobody was there to answer: nothing is known of what became of the request."""


class Unserved(Cut):
    """No process was there to take the request."""


class Silent(Cut):
    """Nothing came for too long, so the client has gone."""


@dataclass(frozen=True, slots=True)
class Door:
    """Where requests go; `patience` is how many seconds of silence mean that a connection is dead.

    `on_silence` is told when such a silence began.
    """

    host: str
    port: int
    patience: float
    on_silence: Callable[[float], None]

    @asynccontextmanager
    async def sent(
        self, method: str, headers: Mapping[str, str], message: Json | None = None
    ) -> AsyncIterator["Reply"]:
        """Send one request to `/mcp`; the reply is read in the block, whose end closes the connection."""
        body = b"" if message is None else json.dumps(message).encode()
        fields = {"Host": "localhost", "Content-Length": str(len(body)), **headers}
        try:
            peer = Peer(h11.CLIENT, *await asyncio.open_connection(self.host, self.port))
        except OSError as refused:
            raise Cut from refused
        try:
            request = h11.Request(method=method, target="/mcp", headers=[*fields.items()])
            for event in (request, h11.Data(data=body), h11.EndOfMessage()):
                await _uncut(peer.send(event))
            reply = Reply(self, peer)
            await reply.begin()
            yield reply
        finally:
            peer.close()


class Reply:
    """A response while it arrives."""

    def __init__(self, door: Door, peer: Peer) -> None:
        self.status = 0
        self.session = ""
        self.is_stream = False
        self._door = door
        self._peer = peer

    async def begin(self) -> None:
        """Read the head; what the balancer says in a process's place counts as cut, or as unserved."""
        head = await self._next()
        if not isinstance(head, h11.Response):
            raise Cut
        fields = {name.decode(): value.decode() for name, value in head.headers}
        if PIN.lower() not in fields:
            raise Unserved if head.status_code == UNAVAILABLE else Cut
        self.status = head.status_code
        self.session = fields.get("mcp-session-id", "")
        self.is_stream = fields.get("content-type", "").startswith("text/event-stream")

    async def message(self) -> Json:
        """The JSON object that is the whole response; empty if there is none."""
        body = await self.body()
        found: Json = json.loads(body) if body else {}
        return found

    async def body(self) -> bytes:
        """The whole response, whatever it is."""
        return b"".join([chunk async for chunk in self._chunks()])

    async def answer(self) -> Json:
        """The response to a request, which may come on a stream; what else is on that is passed over."""
        if not self.is_stream:
            return await self.message()
        async for event in self.events():
            message: Json = json.loads(event.data or b"{}")
            if "result" in message or "error" in message:
                return message
        raise Cut

    async def events(self) -> AsyncIterator[Event]:
        """The events of a stream, until its end."""
        decoder = Decoder()
        async for chunk in self._chunks():
            for event in decoder.feed(chunk):
                yield event

    async def _chunks(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    async def _next(self) -> h11.Event | type[h11.PAUSED]:
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._door.patience):
                return await _uncut(self._peer.receive())
        except TimeoutError:
            self._door.on_silence(began)
            raise Silent from None


async def _uncut(work: Coroutine[Any, Any, _Result]) -> _Result:
    try:
        return await work
    except UpstreamBroke as broken:
        raise Cut from broken
