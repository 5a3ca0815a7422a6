"""A client of `mcpfleet stdio` that sends exactly what it is given, and reads every line."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests import wire
from tests.processes import ROOT, environment

DEADLINE = 15.0
COMMAND = ("-m", "mcpfleet_service.cli", "stdio")
META = {
    "io.modelcontextprotocol/protocolVersion": wire.MODERN,
    "io.modelcontextprotocol/clientInfo": wire.CLIENT_INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}
Json = dict[str, Any]


class Child:
    """The process, its standard input and output; its standard error once it has ended."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[Json] = []

    async def send(self, message: Json | list[Json], end: bytes = b"\n") -> None:
        await self.send_raw(json.dumps(message, ensure_ascii=False).encode() + end)

    async def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        async with asyncio.timeout(DEADLINE):
            self.process.stdin.write(data)
            await self.process.stdin.drain()

    async def request(self, method: str, params: Json | None = None, *, as_id: wire.RequestId, date: str) -> None:
        """Send a request, with an envelope if the revision wants one."""
        meta = {"_meta": {**META, **(params or {}).get("_meta", {})}} if date == wire.MODERN else {}
        await self.send({"jsonrpc": "2.0", "id": as_id, "method": method, "params": {**(params or {}), **meta}})

    async def call(self, tool: str, *, as_id: wire.RequestId, date: str, token: Any = None, **arguments: Any) -> None:
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        await self.request("tools/call", {"name": tool, "arguments": arguments, **meta}, as_id=as_id, date=date)

    async def notify(self, method: str, params: Json | None = None) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    async def shake_hands(self, date: str, capabilities: Json | None = None) -> Json:
        """Initialize, unless the revision has no handshake."""
        if date == wire.MODERN:
            return {}
        params = {"protocolVersion": date, "capabilities": capabilities or {}, "clientInfo": wire.CLIENT_INFO}
        await self.request("initialize", params, as_id="hello", date=date)
        result: Json = (await self.answer("hello"))["result"]
        await self.notify("notifications/initialized")
        return result

    async def message(self) -> Any:
        """The next line, which must be a message."""
        assert self.process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            line = await self.process.stdout.readline()
        assert line, "it has closed its output"
        self.lines.append(json.loads(line))
        return self.lines[-1]

    async def answer(self, as_id: wire.RequestId) -> Json:
        """The next line that is a response to the request."""
        while True:
            message: Json = await self.message()
            if message.get("id") == as_id and "method" not in message:
                return message

    async def text(self, as_id: wire.RequestId) -> str:
        """What the called tool has returned."""
        text: str = (await self.answer(as_id))["result"]["content"][0]["text"]
        return text

    async def ended(self, within: float = DEADLINE) -> tuple[int, list[Any], str]:
        """Its exit code, the lines that it has written last, and what is on its standard error."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        async with asyncio.timeout(within):
            out, errors = await asyncio.gather(self.process.stdout.read(), self.process.stderr.read())
            code = await self.process.wait()
        return code, [json.loads(line) for line in out.splitlines()], errors.decode()

    async def close(self, within: float = DEADLINE) -> tuple[int, list[Any], str]:
        """Close its standard input; see `ended`."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.ended(within)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)


@asynccontextmanager
async def child(target: str = "tests.servers.basic:server", **environ: str) -> AsyncIterator[Child]:
    """A server process; one that has not ended by itself is killed."""
    command: Sequence[str] = (*COMMAND, target)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        cwd=ROOT,
        env=environment(environ),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        limit=64 * 1024 * 1024,
    )
    try:
        yield Child(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
