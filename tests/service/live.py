"""A real web server in this process, on a free port, and a client that sees every byte."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import uvicorn

DEADLINE = 10.0


@asynccontextmanager
async def served(app: Any, *, lifespan: Literal["on", "off"] = "off", http: str = "httptools") -> AsyncIterator[str]:
    """Serve an application for the time of the block, and yield its URL without a path."""
    config = uvicorn.Config(
        app, lifespan=lifespan, http=http, ws="none", log_config=None, access_log=False, timeout_graceful_shutdown=5
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        try:
            async with asyncio.timeout(DEADLINE):
                while not server.started:
                    assert not serving.done(), serving
                    await asyncio.sleep(0.005)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


class Line:
    """One TCP connection, on which the test writes HTTP as it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    @asynccontextmanager
    async def to(cls, url: str, *, receive_buffer: int | None = None) -> AsyncIterator[Self]:
        """Connect; `receive_buffer` is how many bytes the kernel takes for us that we do not read."""
        address = urlsplit(url)
        line = socket.socket()
        if receive_buffer is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        line.setblocking(False)
        await asyncio.get_running_loop().sock_connect(line, (address.hostname, address.port))
        reader, writer = await asyncio.open_connection(sock=line, limit=4096)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def request(self, method: str, path: str, body: bytes = b"", **headers: str) -> None:
        """Send one request; a header's underscores are hyphens, and `Host` and `Content-Length` are added."""
        given = {"Host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if body or method == "POST":
            given.setdefault("Content-Length", str(len(body)))
            given.setdefault("Content-Type", "application/json")
        head = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items()), "", ""]
        await self.send("\r\n".join(head).encode("latin-1") + body)

    async def until(self, mark: bytes) -> bytes:
        """What comes up to and with the mark."""
        async with asyncio.timeout(DEADLINE):
            return await self.reader.readuntil(mark)

    async def head(self) -> tuple[int, dict[str, str]]:
        """Status and headers of the next response, names in lower case."""
        first, *lines = (await self.until(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        pairs = (line.partition(":") for line in lines)
        return int(first.split(" ")[1]), {name.lower(): value.strip() for name, _, value in pairs}

    async def chunk(self) -> bytes:
        """The next chunk of a chunked body; empty at its clean end."""
        size = int((await self.until(b"\r\n")).strip(), 16)
        async with asyncio.timeout(DEADLINE):
            data = await self.reader.readexactly(size + 2)
        return data[:-2]

    async def body(self, headers: dict[str, str]) -> bytes:
        """The whole body of a response with this head."""
        if "content-length" in headers:
            async with asyncio.timeout(DEADLINE):
                return await self.reader.readexactly(int(headers["content-length"]))
        parts = []
        while chunk := await self.chunk():
            parts.append(chunk)
        return b"".join(parts)

    async def closed(self) -> bool:
        """Return once the server has closed the connection; whether it had nothing more to say."""
        async with asyncio.timeout(DEADLINE):
            return await self.reader.read() == b""
