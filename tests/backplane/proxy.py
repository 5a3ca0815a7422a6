"""A wire between a client and a Redis that can be cut, held, or made to lie."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Proxy:
    """Forwards bytes both ways between 127.0.0.1:`port` and a server, as long as nothing else was asked of it."""

    def __init__(self, upstream: str) -> None:
        address = urlsplit(upstream)
        self._upstream = (address.hostname, address.port)
        self._writers: set[asyncio.StreamWriter] = set()
        self._lie: bytes | None = None
        self._commands: asyncio.StreamWriter | None = None
        self._open = asyncio.Event()
        self._open.set()
        self.forwarded = asyncio.Event()
        """Set when bytes of a client have reached the server."""
        self.port = 0

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"redis://127.0.0.1:{self.port}/0"

    def cut(self) -> None:
        """End every connection now; new ones are served."""
        for writer in self._writers:
            writer.transport.abort()

    def hold_replies(self) -> None:
        """Let nothing more reach the clients, while what they send still arrives."""
        self._open.clear()

    def release_replies(self) -> None:
        """Let through what was held."""
        self._open.set()

    def lie(self, reply: bytes) -> None:
        """Give this to the connection for commands instead of its next reply."""
        self._lie = reply

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection(*self._upstream)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, upstream_writer}
        self._writers |= ends
        async with asyncio.TaskGroup() as ways:
            ways.create_task(self._forward(reader, upstream_writer, writer))
            ways.create_task(self._return(upstream_reader, writer))
        self._writers -= ends

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while chunk := await reader.read(65536):
                if b":commands\r\n" in chunk:  # the name that the connection for commands gives itself
                    self._commands = client
                writer.write(chunk)
                self.forwarded.set()
        writer.transport.abort()

    async def _return(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(65536):
                await self._open.wait()
                if self._lie is not None and writer is self._commands:
                    chunk, self._lie = self._lie, None
                writer.write(chunk)
        writer.transport.abort()


@asynccontextmanager
async def proxy(upstream: str) -> AsyncIterator[Proxy]:
    """A proxy in front of the server at a URL."""
    wire = Proxy(upstream)
    server = await asyncio.start_server(wire._serve, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        server.close()
        wire.release_replies()
        wire.cut()
        await server.wait_closed()
