"""A server that is a child process, over its standard input and output (transports/stdio)."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from mcpfleet.client.channel import Channel
from mcpfleet.client.company import Company
from mcpfleet.client.messages import messages_in
from mcpfleet.client.transport import MAX_MESSAGE_BYTES, Exchange, Outgoing
from mcpfleet.errors import Disconnected, ReplyRefused, Unreachable
from mcpfleet.protocol.jsonrpc import Message
from mcpfleet.protocol.lines import Lines, LineTooLong

GRACE_SECONDS: Final = 2.0
"""How long the server may take to end by itself, once its input is closed, and then once it is asked to."""
WRITE_SECONDS: Final = 30.0
"""How long it may leave its input unread."""
CHUNK_BYTES: Final = 64 * 1024
INHERITED: Final = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""The variables that a server gets of ours: others may hold secrets which are none of its business."""

log = logging.getLogger("mcpfleet.client")


def _logged(line: str) -> None:
    log.info("server: %s", line)


class StdioTransport:
    """Starts a command, and ends it and its process group with the context."""

    shared = True

    def __init__(
        self,
        command: Sequence[str],
        *,
        environ: Mapping[str, str] | None = None,
        directory: Path | None = None,
        on_stderr: Callable[[str], None] = _logged,
        max_message: int = MAX_MESSAGE_BYTES,
    ) -> None:
        """`environ` is added to what a server inherits; `on_stderr` gets each line that it writes to standard error."""
        self._command = command
        self._environ = {**{name: os.environ[name] for name in INHERITED if name in os.environ}, **(environ or {})}
        self._directory = directory
        self._on_stderr = on_stderr
        self._max = max_message
        self._channel = Channel()
        self._writing = asyncio.Lock()
        self._company = Company()
        self._process: asyncio.subprocess.Process | None = None

    @asynccontextmanager
    async def exchange(self, request: Outgoing) -> AsyncIterator[Exchange]:
        """See `Transport.exchange`."""
        with self._channel.exchange(request.id) as exchange:
            await self.send(request)
            yield exchange

    async def send(self, message: Outgoing) -> None:
        """See `Transport.send`."""
        process = self._process
        if process is None or process.stdin is None or self._channel.closed:
            raise Unreachable("the server has ended")
        try:
            async with asyncio.timeout(WRITE_SECONDS), self._writing:
                process.stdin.write(message.body + b"\n")
                await process.stdin.drain()
        except (OSError, TimeoutError) as error:
            raise Disconnected("the server does not read its input") from error

    @asynccontextmanager
    async def unasked(self, headers: Mapping[str, str]) -> AsyncIterator[AsyncIterator[Message]]:
        """See `Transport.unasked`."""
        async with aclosing(self._channel.unasked()) as messages:
            yield messages

    async def end(self, headers: Mapping[str, str]) -> None:
        """The session ends with the process."""

    async def _read(self, output: asyncio.StreamReader) -> None:
        lines = Lines(max_bytes=self._max)
        try:
            while chunk := await output.read(CHUNK_BYTES):
                for line in lines.feed(chunk):
                    self._take(line)
        except LineTooLong as error:
            self._channel.close(ReplyRefused(str(error)))
        finally:
            self._channel.close(Disconnected("the server has ended"))

    def _take(self, line: bytes) -> None:
        try:
            found = messages_in(line)
        except ReplyRefused as refused:  # such as what a library of the server's has printed
            log.warning("a line of the server's is passed over: %s", refused)
            return
        for message in found:
            self._channel.take(message)

    async def _drain(self, errors: asyncio.StreamReader) -> None:
        lines = Lines(max_bytes=None)
        while chunk := await errors.read(CHUNK_BYTES):
            for line in lines.feed(chunk):
                self._on_stderr(line.decode(errors="replace"))
        for line in lines.end():
            self._on_stderr(line.decode(errors="replace"))

    async def _start(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        try:
            return await asyncio.create_subprocess_exec(
                *self._command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                env=self._environ,
                cwd=self._directory,
                start_new_session=True,
            )
        except OSError as error:
            raise Unreachable(f"{self._command[0]} cannot be started: {error.strerror}") from error

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        """End the server: it is left to, then asked to, then made to, and its process group with it ("Shutdown")."""
        if process.stdin is not None:
            process.stdin.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                _tell(process.pid, number)
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await process.wait()
                    break
        _tell(process.pid, signal.SIGKILL)  # what it has started and left behind

    async def __aenter__(self) -> Self:
        process = self._process = await self._start()
        await self._company.__aenter__()
        if process.stdout is not None and process.stderr is not None:
            self._company.start(self._read(process.stdout))
            self._company.start(self._drain(process.stderr))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._process is not None:
                await self._stop(self._process)
        finally:
            if self._process is not None:
                _tell(self._process.pid, signal.SIGKILL)
            await self._company.__aexit__(None, None, None)


def _tell(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
