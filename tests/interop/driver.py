"""Foreign clients under test: a process for each package makes connections with it, and does with them what it is told.

A driver reads a JSON object a line, and writes one a line:

    → {"id": 1, "client": "a", "verb": "connect" | "request" | "notify" | "listen" | "unlisten" | "skills" | "close", …}
    ← {"id": 1, "result": {…}}, or {"id": 1, "error": {"code": …, "message": …, "data": …}}
    ← {"of": 1, "progress": {…}}           what the client is told of a request under way
    ← {"client": "a", "method": …, "params": …}                   what else it is told
    ← {"client": "a", "question": "q", "method": …, "params": …}  what it is asked
    → {"question": "q", "result": {…}}, or {"question": "q", "error": {…}}
    → {"cancel": 1}                        have the client give a request up
"""

import asyncio
import itertools
import json
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from mcpfleet_service.tether import tethered

Json = dict[str, Any]
Answer = Callable[[Json], Json | None]

SECONDS: Final = 30.0
"""How long anything may take."""
EVERYTHING: Final = ("elicitation", "sampling", "roots")
"""What a client can be asked."""


class Refused(Exception):
    """The client raised an error: one that the server sent, with its code, or one of its own, with a name."""

    def __init__(self, code: int | str, message: str, data: Any) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data


@dataclass(slots=True)
class Connection:
    """A client of some package, connected; it belongs to the event loop of one test."""

    name: str
    driver: "Driver"
    about: Json = field(default_factory=dict)
    """What it knows of the server: `server`, `capabilities`, `instructions`."""
    answers: dict[str, Answer] = field(default_factory=dict)
    """How it answers what it is asked, by method; None is no answer at all."""
    told: list[tuple[str, Json]] = field(default_factory=list)
    """What it has been told, and no test has asked for yet."""
    more: asyncio.Event = field(default_factory=asyncio.Event)

    async def request(
        self,
        method: str,
        params: Json | None = None,
        *,
        progress: list[Json] | None = None,
        timeout: float | None = None,
        manual: bool = False,
    ) -> Json:
        """What the client's function for this method returns; `manual`: also an `InputRequiredResult`.

        Progress is added to the list. To cancel this is to have the client give the request up. Raises `Refused`.
        """
        milliseconds = None if timeout is None else int(timeout * 1000)
        given = {"method": method, "params": params or {}, "timeout": milliseconds, "manual": manual}
        return await self.do("request", given, progress)

    async def call(self, tool: str, **arguments: Any) -> Any:
        """What a tool returns, from its text where it is JSON, else the text."""
        result = await self.request("tools/call", {"name": tool, "arguments": arguments})
        text: str = result["content"][0]["text"] if result["content"] else ""
        assert not result.get("isError"), text
        try:
            return json.loads(text)
        except ValueError:
            return text

    async def heard(self, method: str, **wanted: Any) -> Json:
        """The params of the first notification of this method, and with these params, that no test has had yet."""
        async with asyncio.timeout(SECONDS):
            while True:
                self.more.clear()
                for number, (name, params) in enumerate(self.told):
                    if name == method and wanted.items() <= params.items():
                        del self.told[number]
                        return params
                await self.more.wait()

    async def do(self, verb: str, given: Json | None = None, progress: list[Json] | None = None) -> Json:
        """Have the driver do something with this connection."""
        async with asyncio.timeout(SECONDS):
            return await self.driver.perform(self.name, verb, given or {}, progress)

    def take(self, line: Json) -> None:
        """Take what the client is told, or answer what it is asked."""
        if "question" in line:
            self._answer(line)
        else:
            self.told.append((line["method"], line["params"]))
            self.more.set()

    def _answer(self, line: Json) -> None:
        try:
            result = self.answers[line["method"]](line["params"])
        except Refused as refused:
            error = {"code": refused.code, "message": refused.message, "data": refused.data}
            self.driver.say({"question": line["question"], "error": error})
        else:
            if result is not None:
                self.driver.say({"question": line["question"], "result": result})


@dataclass(slots=True)
class _Pending:
    loop: asyncio.AbstractEventLoop
    result: "asyncio.Future[Json]"
    progress: list[Json]


class Driver:
    """The driver of one package, while it runs; as a context manager it ends with the block."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], cwd: Path, log: Path) -> None:
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                tethered(command),
                env=dict(environ),
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._numbers = itertools.count(1)
        self._pending: dict[int, _Pending] = {}
        self._connections: dict[str, tuple[asyncio.AbstractEventLoop, Connection]] = {}
        self._standing: dict[str, Json] = {}
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    async def standing(self, server: Json, *, era: str) -> Connection:
        """The connection in this era that stays from one test to the next, and keeps what it has subscribed to."""
        connection = self.attach(f"standing-{era}")
        if connection.name not in self._standing:
            given = {"server": server, "era": era, "can": EVERYTHING, "extensions": None}
            self._standing[connection.name] = await connection.do("connect", given)
        connection.about = self._standing[connection.name]
        return connection

    @asynccontextmanager
    async def connected(
        self, server: Json, *, era: str, can: Sequence[str] = EVERYTHING, extensions: Json | None = None
    ) -> AsyncIterator[Connection]:
        """A connection of its own to this server, in this era, of a client that can be asked these things."""
        connection = self.attach(f"client-{next(self._numbers)}")
        given = {"server": server, "era": era, "can": list(can), "extensions": extensions}
        connection.about = await connection.do("connect", given)
        try:
            yield connection
        finally:
            with suppress(Refused):  # its server may be gone
                await connection.do("close")
            del self._connections[connection.name]

    def attach(self, name: str) -> Connection:
        """The connection of this name as this test's own; what it is told from now on is told to this test."""
        connection = Connection(name, self)
        self._connections[name] = asyncio.get_running_loop(), connection
        return connection

    async def perform(self, client: str, verb: str, given: Json, progress: list[Json] | None) -> Json:
        """Send a command, and wait for its result; give it up if this is cancelled."""
        number = next(self._numbers)
        loop = asyncio.get_running_loop()
        pending = self._pending[number] = _Pending(loop, loop.create_future(), [] if progress is None else progress)
        self.say({"id": number, "client": client, "verb": verb, **given})
        try:
            return await pending.result
        except asyncio.CancelledError:
            self.say({"cancel": number})
            raise

    def say(self, line: Json) -> None:
        """Write a line to the driver."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(SECONDS)
        finally:
            self._process.kill()
            self._listener.join(SECONDS)

    def _listen(self) -> None:
        """Hand each line to the loop that waits for it."""
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for text in lines:
                line = json.loads(text)
                with suppress(RuntimeError, KeyError):  # the test that it was meant for is over
                    if "client" in line:
                        loop, connection = self._connections[line["client"]]
                        loop.call_soon_threadsafe(connection.take, line)
                    else:
                        pending = self._pending[line["of"] if "of" in line else line["id"]]
                        pending.loop.call_soon_threadsafe(self._settle, pending, line)

    def _settle(self, pending: _Pending, line: Json) -> None:
        if "of" in line:
            pending.progress.append(line["progress"])
        elif not pending.result.done():
            if "error" in line:
                error = line["error"]
                pending.result.set_exception(Refused(error["code"], error["message"], error.get("data")))
            else:
                pending.result.set_result(line["result"])


async def noted(client: Connection, entry: str, journal: str = "journal") -> None:
    """Return once a tool has noted this, in whatever process; the balancer asks all of them in turn."""
    async with asyncio.timeout(SECONDS):
        while entry not in await client.call(journal):
            pass
