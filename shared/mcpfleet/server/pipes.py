"""A process's standard input and output, kept for the protocol alone (transports/stdio).

Whatever else writes to standard output, a `print`, a C extension or a child process, then writes to standard error.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from typing import Final

from mcpfleet.server.threads import Threads

CHUNK_BYTES: Final = 256 * 1024
MAX_QUEUED: Final = 64
"""How many lines wait for a client that does not read; who has more to say waits with it."""


@dataclass(frozen=True, slots=True)
class Pipes:
    """Two file descriptors that block, and which nobody else has."""

    reading: int
    writing: int


@contextmanager
def standard_pipes() -> Iterator[Pipes]:
    """Take standard input and output away from everybody else, for good; enter it before other code is loaded."""
    pipes = Pipes(os.dup(0), os.dup(1))
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    try:
        yield pipes
    finally:
        os.close(pipes.writing)  # the other one may be in use still, by a thread that waits for input


class Input:
    """Reads what the client sends, beside the event loop."""

    def __init__(self, descriptor: int, on_end: Callable[[], None]) -> None:
        """`on_end` is called by another thread, as soon as the client has closed its end."""
        self._descriptor = descriptor
        self._on_end = on_end
        self._thread = Threads(limit=1, waiting=0)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield what comes, until the client closes its end."""
        while chunk := await self._thread.run(self._read):
            yield chunk

    def _read(self) -> bytes:
        try:
            chunk = os.read(self._descriptor, CHUNK_BYTES)
        except OSError:  # what cannot be read has ended
            chunk = b""
        if not chunk:
            self._on_end()
        return chunk


class Output:
    """Writes lines in order, beside the event loop; `run` it as a task.

    A client that does not read holds everybody up who writes, however long: it has this process, and ends it.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._thread = Threads(limit=1, waiting=0)
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_QUEUED)
        self._closed = False

    async def write(self, line: bytes) -> None:
        """Queue one line, given without its end; after the end it is dropped."""
        if not self._closed:
            await self._queue.put(line)

    async def run(self) -> None:
        """Write until `end`, or until the client has closed its end."""
        with suppress(OSError):  # it takes no more
            while (line := await self._queue.get()) is not None:
                await self._thread.run(self._write_all, line + b"\n")
        self._closed = True
        while not self._queue.empty():
            self._queue.get_nowait()

    async def end(self) -> None:
        """Let `run` return once everything is written."""
        if not self._closed:
            await self._queue.put(None)

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
