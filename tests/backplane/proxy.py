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
        self._serving: set[asyncio.Task[None]] = set()
        self._lie: bytes | None = None
        self._commands: asyncio.StreamWriter | None = None
        self._subscribed: set[asyncio.StreamWriter] = set()
        self._deaf: set[asyncio.StreamWriter] = set()
        self.deafens_every_subscriber = False
        """Whether whoever subscribes is deaf from the start."""
        self._open = asyncio.Event()
        self._open.set()
        self.forwarded = asyncio.Event()
        """Set when bytes of a client have reached the server."""
        self.port = 0

    @property
    def deaf(self) -> int:
        """How many of the connections that nothing gets through to any more are still open."""
        return len(self._deaf & self._writers)

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"redis://127.0.0.1:{self.port}/0"

    def cut(self) -> None:
        """End every connection now; new ones are served."""
        for writer in self._writers:
            writer.transport.abort()

    async def end(self) -> None:
        """Cut every connection, also those that are just being made, and return when all have ended."""
        self.release_replies()
        while self._serving:
            self.cut()
            await asyncio.wait(self._serving, timeout=0.05)
        await asyncio.sleep(0)  # the sockets are closed in the next turn

    def hold_replies(self) -> None:
        """Let nothing more reach the clients, while what they send still arrives."""
        self._open.clear()

    def release_replies(self) -> None:
        """Let through what was held."""
        self._open.set()

    def deafen(self) -> None:
        """Let nothing more through to those who have subscribed by now; their connections stay open."""
        self._deaf |= self._subscribed

    def lie(self, reply: bytes) -> None:
        """Give this to the connection for commands instead of its next reply."""
        self._lie = reply

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
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
                if b"SUBSCRIBE" in chunk:
                    self._subscribed.add(client)
                    if self.deafens_every_subscriber:
                        self.deafen()
                writer.write(chunk)
                self.forwarded.set()
        writer.transport.abort()

    async def _return(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(65536):
                await self._open.wait()
                if self._lie is not None and writer is self._commands:
                    chunk, self._lie = self._lie, None
                if writer not in self._deaf:
                    writer.write(chunk)
        writer.transport.abort()


@asynccontextmanager
async def proxy(upstream: str, port: int = 0) -> AsyncIterator[Proxy]:
    """A proxy in front of the server at a URL, on any port or a given one."""
    wire = Proxy(upstream)
    server = await asyncio.start_server(wire._serve, "127.0.0.1", port)
    wire.port = server.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        server.close()
        await wire.end()
        await server.wait_closed()
