"""The oldest transport when its store or its client goes away at the worst moment."""

import asyncio
import json
from dataclasses import replace
from typing import Any

from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import PairMessage, PairStream
from mcpfleet.protocol.jsonrpc import Notification, Request
from mcpfleet.server.exchange import Retention
from mcpfleet.server.peer import Answer
from tests.server.wire import Node, RecordingPeer
from tests.server.world import PATIENT, World, eventually

HELLO = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}


class Pair:
    """A stream that one node holds, and POSTs to any."""

    def __init__(self, holder: Node) -> None:
        self.peer = RecordingPeer()
        self.serving = asyncio.ensure_future(holder.engine.serve(PairStream("/m"), Headers(), None, self.peer))
        self.session = ""

    async def open(self) -> "Pair":
        event = await self.peer.arrived.get()
        assert event is not None
        assert event.data is not None
        self.session = event.data.decode().partition("session_id=")[2]
        return self

    async def post(self, node: Node, method: str, params: dict[str, Any] | None = None, as_id: int = 1) -> Answer:
        asked = PairMessage(self.session, Request(as_id, method, params or {}))
        answer = await node.engine.serve(asked, Headers(), None, RecordingPeer())
        assert answer is not None
        return answer

    async def call(self, node: Node, tool: str, as_id: int = 1, **arguments: Any) -> Answer:
        return await self.post(node, "tools/call", {"name": tool, "arguments": arguments}, as_id)

    @property
    def heard(self) -> list[dict[str, Any]]:
        return [json.loads(event.data) for event in self.peer.events[1:] if event.data]

    async def close(self) -> None:
        self.serving.cancel()
        await asyncio.wait([self.serving])


async def test_a_call_that_cannot_be_announced_is_refused_and_not_run(world: World) -> None:
    holder, runner = await world.node(), await world.node()
    pair = await Pair(holder).open()
    world.links[runner].cut_at(f"append {pair.session}/log")
    answer = await pair.call(runner, "held", name="never")
    assert answer.status == 503
    world.links[runner].restore()
    assert (await pair.call(runner, "held", as_id=2, name="now")).status == 202
    assert await world.stage.began() == "now"
    world.stage.release("now", "done")
    await eventually(lambda: [each["id"] for each in pair.heard] == [2])
    await pair.close()


async def test_a_call_whose_stream_cannot_be_opened_is_refused_and_not_run(memory: World) -> None:
    holder, runner = await memory.node(), await memory.node()
    pair = await Pair(holder).open()
    memory.links[runner].cut_at("put *record")
    assert (await pair.call(runner, "held", name="never")).status == 503
    memory.links[runner].restore()
    assert memory.stage.begun.empty()
    await eventually(lambda: runner.engine.calls == 0)
    await pair.close()


async def test_a_client_that_leaves_before_its_post_is_taken_has_asked_nothing(memory: World) -> None:
    holder, runner = await memory.node(), await memory.node()
    pair = await Pair(holder).open()
    go = memory.links[runner].hold(f"append {pair.session}/log")
    posting = asyncio.ensure_future(pair.call(runner, "held", name="never"))
    await memory.links[runner].reached(f"append {pair.session}/log")
    posting.cancel()
    await asyncio.wait([posting])
    go()
    await eventually(lambda: runner.engine.calls == 0)
    assert memory.stage.begun.empty()
    await pair.close()


async def test_closing_the_stream_leaves_nothing_of_the_session(world: World) -> None:
    node = await world.node()
    before = await world.keys()
    pair = await Pair(node).open()
    assert (await pair.post(node, "initialize", HELLO)).status == 202
    await eventually(lambda: [each["result"]["protocolVersion"] for each in pair.heard] == ["2024-11-05"])
    await pair.close()
    assert {key for key in await world.keys() - before if pair.session in key} == set()


async def test_a_stream_that_has_lost_a_part_of_what_was_said_ends(world: World) -> None:
    """Loss is said aloud: the client opens another session."""
    holder, other = [await world.node(replace(PATIENT, retention=Retention(keep=2))) for _ in range(2)]
    pair = await Pair(holder).open()
    go = world.links[holder].hold(f"read {pair.session}/log")
    assert (await pair.post(other, "logging/setLevel", {"level": "debug"}, as_id=0)).status == 202
    await world.links[holder].reached(f"read {pair.session}/log")
    for turn in range(1, 6):
        assert (await pair.post(other, "logging/setLevel", {"level": "debug"}, as_id=turn)).status == 202
    go()
    async with asyncio.timeout(10):
        await pair.serving
    assert (await pair.post(other, "ping")).status == 404


async def test_a_notification_of_an_ended_session_is_404(memory: World) -> None:
    node = await memory.node()
    pair = await Pair(node).open()
    await pair.close()
    asked = PairMessage(pair.session, Notification("notifications/initialized"))
    answer = await node.engine.serve(asked, Headers(), None, RecordingPeer())
    assert answer is not None
    assert answer.status == 404
