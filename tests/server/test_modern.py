"""Modern requests: each stands alone, and its response is the only way back (transports/streamable-http)."""

import asyncio
import random
from typing import Any

import pytest

from mcpfleet import Context, Principal, ProtocolError
from mcpfleet.server.eras.modern import MAX_NOTIFICATIONS
from tests.answer import Json
from tests.server.wire import DEADLINE, Node
from tests.server.world import PATIENT, World, eventually

LOG_LEVEL = "io.modelcontextprotocol/logLevel"


def held(node: Node, name: str = "a", *, as_id: str | int = 1, meta: Json | None = None, **options: Any) -> Any:
    return node.modern("tools/call", {"name": "held", "arguments": {"name": name}}, as_id=as_id, meta=meta, **options)


async def test_a_request_asks_the_store_nothing(world: World) -> None:
    node = await world.node()
    verbs = world.links[node].verbs
    verbs.clear()
    got = await node.modern("tools/call", {"name": "echo", "arguments": {"x": "hi"}}).got()
    assert got.text == "hi"
    assert (await node.modern("tools/list").got()).status == 200
    assert (await node.modern("server/discover").got()).status == 200
    own = ("fleet/", "keepers/", "events/")  # what the process asks in its own time
    assert [verb for verb in verbs if not verb.partition(" ")[2].startswith(own)] == []


async def test_while_the_store_is_away_requests_are_served(world: World) -> None:
    node = await world.node()
    world.links[node].away = True
    got = await node.modern("tools/call", {"name": "count", "arguments": {"n": 2}}, meta={"progressToken": 1}).got()
    assert (got.is_stream, got.progress, got.result["structuredContent"]) == (True, [1, 2], 2)


async def test_a_request_that_says_nothing_but_its_result_is_one_json_object(memory: World) -> None:
    node = await memory.node()
    got = await node.modern("tools/call", {"name": "echo", "arguments": {"x": "hi"}}, as_id="mine").got()
    assert (got.status, got.is_stream, got.reply["id"], got.result["resultType"]) == (200, False, "mine", "complete")


async def test_the_first_notification_makes_it_a_stream_without_event_ids(memory: World) -> None:
    node = await memory.node()
    got = await node.modern("tools/call", {"name": "count", "arguments": {"n": 3}}, meta={"progressToken": "t"}).got()
    assert got.progress == [1, 2, 3]
    assert [event.id for event in got.events] == [None] * 4
    assert "result" in got.messages[-1]


async def test_a_client_that_takes_no_streams_is_told_nothing_but_the_result(memory: World) -> None:
    node = await memory.node()
    params = {"name": "count", "arguments": {"n": 3}}
    got = await node.modern("tools/call", params, meta={"progressToken": 1}, Accept="application/json").got()
    assert (got.is_stream, got.result["structuredContent"]) == (False, 3)


async def test_a_client_that_takes_only_streams_gets_one_of_one_event(memory: World) -> None:
    node = await memory.node()
    got = await node.modern("tools/list", Accept="text/event-stream").got()
    assert (got.is_stream, len(got.events)) == (True, 1)


async def test_log_messages_come_only_if_the_request_asks_for_them_and_from_its_level_on(memory: World) -> None:
    node = await memory.node()
    for meta, expected in (({}, []), ({LOG_LEVEL: "warning"}, ["warning", "alert"]), ({LOG_LEVEL: "alert"}, ["alert"])):
        name = str(meta)
        flight = held(node, name, meta=meta)
        await memory.stage.began()
        for level in ("debug", "warning", "alert"):
            await memory.stage.contexts[name].log(level, "x")
        memory.stage.release(name)
        got = await flight.got()
        assert [message["params"]["level"] for message in got.notifications] == expected


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ProtocolError(-32602, "no"), 400, -32602),
        (ProtocolError(-32021, "no", {"requiredCapabilities": {"sampling": {}}}), 400, -32021),
        (ProtocolError(-32601, "no"), 404, -32601),
        (ProtocolError(-32002, "no"), 400, -32602),
        (ProtocolError(-32042, "no"), 200, -32603),
        (ProtocolError(-32603, "no"), 200, -32603),
        (ProtocolError(-1, "no"), 200, -1),
    ],
)
async def test_an_error_has_the_status_of_its_code_unless_a_stream_has_begun(
    memory: World, error: ProtocolError, status: int, code: int
) -> None:
    node = await memory.node()
    for streamed in (False, True):
        flight = held(node, str(streamed), as_id="mine", meta={"progressToken": 1})
        await memory.stage.began()
        if streamed:
            await memory.stage.contexts[str(streamed)].report_progress(1)
        memory.stage.fail(str(streamed), error)
        got = await flight.got()
        assert (got.status, got.error["code"], got.reply["id"]) == (200 if streamed else status, code, "mine")


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"])
async def test_what_the_era_does_not_have_is_404(memory: World, method: str) -> None:
    node = await memory.node()
    got = await node.modern(method).got()
    assert (got.status, got.error["code"], got.reply["id"]) == (404, -32601, 1)


async def test_a_client_that_leaves_cancels_its_request_and_hears_no_more(memory: World) -> None:
    node = await memory.node()
    flight = held(node, meta={"progressToken": 1})
    await memory.stage.began()
    await flight.cut()
    assert await memory.stage.was_cancelled() == "a"
    context = memory.stage.contexts["a"]
    assert context.cancelled
    await context.report_progress(1)
    assert flight.peer.events == []


async def test_modern_clients_that_leave_at_any_moment_harm_nobody_else(memory: World) -> None:
    """Cancellation, "Timing Considerations": a result that crosses a cancel is nobody's, and costs nobody else's."""
    node = await memory.node()
    chance = random.Random(7)

    @node.engine.server.tool
    async def soon(tag: str, ctx: Context) -> str:
        """Report, and return after a moment."""
        await ctx.report_progress(1)
        await asyncio.sleep(chance.uniform(0, 0.02))
        return tag

    async def leave(number: int) -> bool:
        params = {"name": "soon", "arguments": {"tag": str(number)}}
        flight = node.modern("tools/call", params, as_id=number, meta={"progressToken": number})
        await asyncio.sleep(chance.uniform(0, 0.02))
        if number % 4 == 0:
            await flight.got()
        ended = flight.ended
        await flight.cut()
        heard = len(flight.peer.events)
        await asyncio.sleep(0.02)
        assert len(flight.peer.events) == heard
        return ended

    async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as tasks:
        leaving = [tasks.create_task(leave(number)) for number in range(100)]
        staying = node.modern("tools/call", {"name": "soon", "arguments": {"tag": "stays"}}, as_id=5)
    assert all(each.result() for each in leaving[::4])
    assert (await staying.got()).text == "stays"


async def test_one_request_sends_a_bounded_number_of_notifications_and_still_its_result(
    memory: World, caplog: pytest.LogCaptureFixture
) -> None:
    node = await memory.node()
    arguments = {"n": MAX_NOTIFICATIONS + 50}
    got = await node.modern("tools/call", {"name": "count", "arguments": arguments}, meta={"progressToken": 1}).got()
    assert got.progress == list(range(1, MAX_NOTIFICATIONS + 1))
    assert got.result["structuredContent"] == MAX_NOTIFICATIONS + 50
    assert caplog.text.count("the rest are dropped") == 1


async def test_notifications_from_many_tasks_of_a_tool_are_whole_frames(memory: World) -> None:
    node = await memory.node()
    flight = held(node, meta={LOG_LEVEL: "debug"})
    await memory.stage.began()
    context = memory.stage.contexts["a"]
    async with asyncio.TaskGroup() as tasks:
        for number in range(50):
            tasks.create_task(context.log("info", number))
    memory.stage.release("a")
    got = await flight.got()
    assert sorted(message["params"]["data"] for message in got.notifications) == list(range(50))


async def test_a_notification_is_accepted_whatever_becomes_of_it(memory: World) -> None:
    node = await memory.node()
    message = {"jsonrpc": "2.0", "method": "notifications/whatever"}
    got = await node.send("POST", message, MCP_Protocol_Version="2026-07-28").got()
    assert (got.status, got.body) == (202, b"")


async def test_a_process_that_stops_ends_its_requests_with_an_error_at_once(memory: World) -> None:
    node = await memory.node(PATIENT)
    plain, streamed = held(node, "plain", as_id="p"), held(node, "streamed", as_id="s", meta={"progressToken": 1})
    await memory.stage.began()
    await memory.stage.began()
    await memory.stage.contexts["streamed"].report_progress(1)
    node.engine.drain()
    for flight, as_id in ((plain, "p"), (streamed, "s")):
        got = await flight.got()
        assert (got.status, got.reason, got.reply["id"]) == (200, "server_stopped", as_id)
    assert {await memory.stage.was_cancelled(), await memory.stage.was_cancelled()} == {"plain", "streamed"}


async def test_a_handler_sees_who_sent_this_very_request(memory: World) -> None:
    node = await memory.node()
    ada = Principal("ada", claims={"scope": "all"})
    flight = held(node, principal=ada, meta={"progressToken": 1}, X_Custom="kept")
    await memory.stage.began()
    context = memory.stage.contexts["a"]
    memory.stage.release("a")
    await flight.got()
    assert context.principal == ada
    assert context.principal.claims == {"scope": "all"}
    assert context.headers.get("x-custom") == "kept"
    assert context.client_info == {"name": "wire", "version": "1"}
    assert (context.session_id, context.request_id, context.protocol_version) == (None, 1, "2026-07-28")
    assert context.meta["progressToken"] == 1


async def test_requests_leave_nothing_behind_in_their_process(memory: World) -> None:
    node = await memory.node()
    before = len(asyncio.all_tasks())
    for _ in range(20):
        await node.modern("tools/call", {"name": "count", "arguments": {"n": 3}}, meta={"progressToken": 1}).got()
        await node.modern("tools/list").got()
    async with asyncio.timeout(DEADLINE):
        await eventually(lambda: len(asyncio.all_tasks()) <= before)
