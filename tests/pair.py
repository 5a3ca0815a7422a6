"""A client of the oldest transport: one stream, and an address to post to."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final
from urllib.parse import urljoin

from tests import wire
from tests.answer import Answer, Json
from tests.balancer import PIN
from tests.wire import Client, RequestId, Stream

OLDEST: Final = "2024-11-05"


class Pair:
    """A session that is open; `pin` sends a message to the process of that index, otherwise it goes to any."""

    def __init__(self, stream: Stream, http: Client) -> None:
        self.stream = stream
        self.heard: list[Json] = []
        self._http = http

    @property
    def address(self) -> str:
        """Where it posts to."""
        return self._http.url

    async def post(self, message: Any, *, pin: int | None = None, headers: Mapping[str, str] | None = None) -> Answer:
        body = message if isinstance(message, bytes) else json.dumps(message)
        content = {"Content-Type": "application/json", **_pinned(pin), **(headers or {})}
        return await self._http.send("POST", body, headers=content, bare=True)

    async def request(
        self, method: str, params: Json | None = None, *, as_id: RequestId = 1, pin: int | None = None
    ) -> None:
        """Send one request, which is accepted."""
        message = {"jsonrpc": "2.0", "id": as_id, "method": method, "params": params or {}}
        answer = await self.post(message, pin=pin)
        assert (answer.status, answer.body) == (202, b""), answer

    async def call(
        self, tool: str, *, as_id: RequestId = 1, pin: int | None = None, token: Any = None, **arguments: Any
    ) -> None:
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        await self.request("tools/call", {"name": tool, "arguments": arguments, **meta}, as_id=as_id, pin=pin)

    async def notify(self, method: str, params: Json | None = None, *, pin: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        assert (await self.post(message, pin=pin)).status == 202

    async def message(self, within: float = wire.DEADLINE) -> Json | None:
        """The next message; None after the last."""
        message = await self.stream.message(within)
        if message is not None:
            self.heard.append(message)
        return message

    async def answer(self, as_id: RequestId, within: float = wire.DEADLINE) -> Json:
        """The next message that answers the request."""
        while (message := await self.message(within)) is not None:
            if message.get("id") == as_id and "method" not in message:
                return message
        raise AssertionError(f"the stream ended without an answer to {as_id!r}")

    async def text(self, as_id: RequestId) -> str:
        """What the called tool has returned."""
        text: str = (await self.answer(as_id))["result"]["content"][0]["text"]
        return text

    async def shake_hands(self, date: str = OLDEST, *, pin: int | None = None) -> Json:
        params = {"protocolVersion": date, "capabilities": {}, "clientInfo": wire.CLIENT_INFO}
        await self.request("initialize", params, as_id="hello", pin=pin)
        result: Json = (await self.answer("hello"))["result"]
        await self.notify("notifications/initialized")
        return result

    async def noted(self, entry: str, process: int) -> None:
        """Return once a tool of the process has noted this."""
        async with asyncio.timeout(wire.DEADLINE):
            found: list[str] = []
            while entry not in found:
                await self.call("journal", as_id="journal", pin=process)
                found = json.loads(await self.text("journal"))


@asynccontextmanager
async def opened(url: str, *, pin: int | None = None, headers: Mapping[str, str] | None = None) -> AsyncIterator[Pair]:
    """A session on the server at the URL, which has no path; leaving closes the stream."""
    async with AsyncExitStack() as held:
        source = await held.enter_async_context(Client(f"{url}/sse", OLDEST, {**(headers or {})}))
        stream = await held.enter_async_context(source.opened("GET", headers=_pinned(pin)))
        assert stream.status == 200, stream.headers
        first = await stream.event()
        assert first is not None
        assert first.event == "endpoint"
        assert first.data is not None
        address = urljoin(source.url, first.data.decode())
        yield Pair(stream, await held.enter_async_context(Client(address, OLDEST, {**(headers or {})})))


def _pinned(process: int | None) -> dict[str, str]:
    return {} if process is None else {PIN: str(process)}
