"""One connection of lines, its bounds, and whose cancel means what."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mcpfleet.server import conversation
from mcpfleet.server.conversation import Conversation
from tests.answer import Json
from tests.server.tasks.clients import TAKES
from tests.server.tasks.diggers import Digging
from tests.server.wire import DEADLINE, MODERN
from tests.server.world import World, eventually

META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Line:
    """A client on one connection; what it hears is in `heard`."""

    def __init__(self, talking: Conversation, heard: "asyncio.Queue[Json]") -> None:
        self.talking = talking
        self._heard = heard

    async def say(self, **message: Any) -> None:
        await self.talking.take(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def hold(self, name: str, as_id: int) -> None:
        """Call the tool that waits."""
        params = {"name": "held", "arguments": {"name": name}, "_meta": META}
        await self.say(id=as_id, method="tools/call", params=params)

    async def hears(self) -> Json:
        async with asyncio.timeout(DEADLINE):
            return await self._heard.get()


@pytest.fixture
async def line(memory: World) -> AsyncIterator[Line]:
    node = await memory.node()
    heard: asyncio.Queue[Json] = asyncio.Queue()

    async def write(body: bytes) -> None:
        heard.put_nowait(json.loads(body))

    async with asyncio.TaskGroup() as tasks:
        talking = Conversation(node.engine, write, tasks)
        yield Line(talking, heard)
        await talking.ended(within=0)


async def test_a_request_beyond_the_bound_is_refused_and_the_next_is_served_when_there_is_room(
    line: Line, memory: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "MAX_RUNNING", 2)
    for as_id, name in enumerate("ab"):
        await line.hold(name, as_id)
        assert await memory.stage.began() == name
    await line.hold("c", 2)
    refused = await line.hears()
    assert (refused["id"], refused["error"]["data"]) == (2, {"reason": "too_many_requests"})
    memory.stage.release("a", "done")
    assert (await line.hears())["id"] == 0
    await eventually(lambda: len(line.talking._running) == 1)
    await line.hold("d", 3)
    assert await memory.stage.began() == "d"


async def test_of_two_requests_with_one_id_a_cancel_means_the_newer(line: Line, memory: World) -> None:
    for name in ("older", "newer"):
        await line.hold(name, 7)
        assert await memory.stage.began() == name
    await line.say(method="notifications/cancelled", params={"requestId": 7})
    assert await memory.stage.was_cancelled() == "newer"
    memory.stage.release("older", "done")
    assert (await line.hears())["result"]["content"][0]["text"] == "done"


async def test_a_cancel_tells_its_reason(line: Line, memory: World) -> None:
    await line.hold("a", 7)
    await memory.stage.began()
    await line.say(method="notifications/cancelled", params={"requestId": 7, "reason": "changed my mind"})
    assert await memory.stage.was_cancelled() == "a"
    await eventually(lambda: memory.stage.contexts["a"].cancel_reason == "changed my mind")


@pytest.mark.parametrize("request_id", [None, True, 1.5, [7], "7", 8])
async def test_a_cancel_of_anything_else_cancels_nothing(line: Line, memory: World, request_id: Any) -> None:
    await line.hold("kept", 7)
    await memory.stage.began()
    await line.say(method="notifications/cancelled", params={"requestId": request_id})
    memory.stage.release("kept", "done")
    assert (await line.hears())["result"]["content"][0]["text"] == "done"


async def test_what_expects_no_answer_gets_none(line: Line) -> None:
    await line.say(method="notifications/anything")
    await line.say(id=1, result={})
    await line.say(method="notifications/anything", params={"_meta": {**META, **dict.fromkeys(META, 7)}})
    await line.say(id=2, method="tools/list", params={"_meta": META})
    assert (await line.hears())["id"] == 2


async def test_a_connection_that_ends_cancels_what_still_runs(line: Line, memory: World) -> None:
    await line.hold("left", 1)
    await memory.stage.began()
    await line.talking.ended(within=0)
    assert await memory.stage.was_cancelled() == "left"


async def test_a_task_is_begun_followed_and_cancelled_on_a_connection_of_lines(memory: World) -> None:
    node = await memory.node(server=Digging().server())
    meta = {**META, **TAKES}
    heard: asyncio.Queue[Json] = asyncio.Queue()

    async def write(body: bytes) -> None:
        heard.put_nowait(json.loads(body))

    async with asyncio.TaskGroup() as tasks:
        talking = Conversation(node.engine, write, tasks)
        line = Line(talking, heard)
        await line.say(id=1, method="tools/call", params={"name": "ask", "arguments": {}, "_meta": meta})
        task_id = (await line.hears())["result"]["taskId"]
        listen = {"notifications": {"taskIds": [task_id]}, "_meta": meta}
        await line.say(id=2, method="subscriptions/listen", params=listen)
        assert (await line.hears())["params"]["notifications"] == {"taskIds": [task_id]}
        while (told := (await line.hears())["params"])["status"] != "input_required":
            assert told["status"] == "working"
        await line.say(id=3, method="tasks/cancel", params={"taskId": task_id, "_meta": meta})
        while "id" in (last := await line.hears()) or last["params"]["status"] != "cancelled":
            pass
        assert last["method"] == "notifications/tasks"
        await talking.ended(within=0)
