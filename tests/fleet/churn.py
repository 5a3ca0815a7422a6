"""Sessions that come and go by the thousand: HTTP/1.1 by hand, since any library for it would be the slowest part."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import cycle
from typing import Final
from urllib.parse import urlsplit

from tests.wire import BOTH, CLIENT_INFO, LATEST_HANDSHAKE

CLIENTS: Final = 16
"""How many come and go at once."""
LISTENERS: Final = 20
"""One session in so many has a standalone stream open when it ends."""

_OPENING: Final = {"protocolVersion": LATEST_HANDSHAKE, "capabilities": {}, "clientInfo": CLIENT_INFO}
_HELLO: Final = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _OPENING}).encode()


class Connection:
    """A connection that is kept alive, to one process."""

    def __init__(self, host: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._host = host
        self._reader = reader
        self._writer = writer

    async def ask(
        self, method: str, session: str | None = None, body: bytes = b"", path: str = "/mcp"
    ) -> tuple[int, dict[str, str]]:
        """The status and the headers of a response with a length, or of a stream that begins."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._host}", f"Accept: {BOTH}"]
        if session is not None:
            lines.append(f"Mcp-Session-Id: {session}")
        if body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        first, *rest = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
        await self._reader.readexactly(int(headers.get("content-length", 0)))
        return int(first.split()[1]), headers

    async def end_of_stream(self) -> None:
        """Return once a stream has ended cleanly."""
        await self._reader.readuntil(b"0\r\n\r\n")


@asynccontextmanager
async def connection(url: str) -> AsyncIterator[Connection]:
    """A connection to the process that serves at the URL, for the time of the block."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        yield Connection(address.netloc, reader, writer)
    finally:
        writer.close()
        await writer.wait_closed()


async def come_and_go(first: str, second: str, sessions: int) -> None:
    """So many sessions begin at one process and end at another, several at once."""
    turns = iter(range(sessions))
    async with asyncio.TaskGroup() as clients:
        for urls, _ in zip(cycle([(first, second), (second, first)]), range(CLIENTS), strict=False):
            clients.create_task(_one_after_another(*urls, turns))


async def _one_after_another(first: str, second: str, turns: Iterator[int]) -> None:
    async with connection(first) as begins, connection(second) as ends:
        for turn in turns:
            status, headers = await begins.ask("POST", body=_HELLO)
            assert status == 200, headers
            session = headers["mcp-session-id"]
            if turn % LISTENERS:
                assert (await ends.ask("DELETE", session))[0] == 204
            else:
                await _end_while_listening(first, ends, session)


async def _end_while_listening(url: str, ends: Connection, session: str) -> None:
    async with connection(url) as listens:
        assert (await listens.ask("GET", session))[0] == 200
        assert (await ends.ask("DELETE", session))[0] == 204
        await listens.end_of_stream()
