"""An HTTP server that does what a test tells it to, byte by byte, and notes what it is sent."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import h11

Json = dict[str, Any]
SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Got:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    """By lower-case name."""
    body: bytes

    @property
    def message(self) -> Json:
        """The JSON-RPC message in it."""
        found: Json = json.loads(self.body)
        return found

    @property
    def rpc(self) -> str:
        """The method of that message, or nothing."""
        return str(self.message.get("method", "")) if self.body else ""


Play = Callable[[Got], AsyncGenerator[bytes, None]]
"""Yields what goes to the client, as it is; when it returns, the connection is closed."""


class Scripted:
    """One such server; `requests` are those that have come, in order."""

    def __init__(self, play: Play) -> None:
        self.requests: list[Got] = []
        self.url = ""
        self._play = play

    def asked(self, method: str) -> list[Got]:
        """The requests with a message of this method."""
        return [got for got in self.requests if got.rpc == method]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, which carries one request."""
        try:
            async with asyncio.timeout(SECONDS):
                got = await _read(reader)
                if got is not None:
                    self.requests.append(got)
                    async with aclosing(self._play(got)) as parts:
                        async for part in parts:
                            writer.write(part)
                            await writer.drain()
        except (OSError, TimeoutError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Got | None:
    peer, body = h11.Connection(h11.SERVER), b""
    head: h11.Request | None = None
    while True:
        event = peer.next_event()
        if event is h11.NEED_DATA:
            peer.receive_data(await reader.read(65536))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            headers = {name.decode(): value.decode() for name, value in head.headers}
            return Got(head.method.decode(), head.target.decode(), headers, body)
        else:
            return None


@asynccontextmanager
async def scripted(play: Play) -> AsyncIterator[Scripted]:
    """A server for the time of the block."""
    script = Scripted(play)
    async with await asyncio.start_server(script.serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()[:2]
        script.url = f"http://{host}:{port}/mcp"
        yield script


def answered(
    body: bytes | Json = b"", status: int = 200, *, media_type: str = "application/json", **headers: str
) -> bytes:
    """A whole response; `_` stands for `-` in the names of headers."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = {"Content-Type": media_type, "Content-Length": str(len(content)), "Connection": "close"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in {**lines, **named}.items())
    return f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode() + content


STREAM: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
"""The head of a response that is a stream of events, and ends with its connection."""


def event(message: Json | None, *, event_id: str | None = None, retry_ms: int | None = None) -> bytes:
    """One event of a stream."""
    lines = [] if event_id is None else [f"id: {event_id}"]
    lines += [] if retry_ms is None else [f"retry: {retry_ms}"]
    lines.append("data: " + ("" if message is None else json.dumps(message)))
    return ("\n".join(lines) + "\n\n").encode()


def result(got: Got, value: Json) -> Json:
    """The answer to a request."""
    return {"jsonrpc": "2.0", "id": got.message["id"], "result": value}


def error(got: Got, code: int, message: str = "no", data: object = None) -> Json:
    """The error that a request is answered with."""
    told = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return {"jsonrpc": "2.0", "id": got.message.get("id"), "error": told}


def discovered(got: Got, *versions: str) -> Json:
    """The answer to `server/discover`."""
    told = {"resultType": "complete", "supportedVersions": [*versions], "capabilities": {"tools": {}}}
    return result(got, {**told, "ttlMs": 0, "cacheScope": "private"})


def initialized(got: Got, version: str = "2025-11-25") -> Json:
    """The answer to `initialize`."""
    info = {"name": "scripted", "version": "1"}
    return result(got, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})


def called(got: Got, text: str) -> Json:
    """The answer to a call."""
    return result(got, {"resultType": "complete", "content": [{"type": "text", "text": text}]})
