"""`subscriptions/listen`: acknowledged first, told in order of what changed, and ended with a result (MCP:
basic/patterns/subscriptions)."""

import asyncio
import time
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from mcpfleet import Context, Principal, Topic
from mcpfleet.errors import Unavailable
from mcpfleet.server.events import EVENTS
from tests.answer import Json
from tests.server.watchable import watchable
from tests.server.wire import Flight, Node
from tests.server.world import PATIENT, World, eventually

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS_CHANGED = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"
ADA, BOB = Principal("ada"), Principal("bob")
TOOLS = {"toolsListChanged": True}
EVERYTHING = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


def listen(node: Node, as_id: str | int = 1, *, to: Json = TOOLS, principal: Principal | None = None) -> Flight:
    asked = dict(to)
    return node.modern("subscriptions/listen", {"notifications": asked}, as_id=as_id, principal=principal)


async def heard(flight: Flight) -> Json:
    """The next message of a stream that goes on."""
    message = await flight.message()
    assert message is not None
    return message


async def listening(
    node: Node, as_id: str | int = 1, *, to: Json = TOOLS, principal: Principal | None = None
) -> tuple[Flight, Json]:
    """A stream that has begun, and the filter that was acknowledged."""
    flight = listen(node, as_id, to=to, principal=principal)
    first = await heard(flight)
    assert first["method"] == ACKNOWLEDGED
    assert first["params"]["_meta"] == {SUBSCRIPTION: as_id}
    honoured: Json = first["params"]["notifications"]
    return flight, honoured


async def told(flight: Flight, method: str = TOOLS_CHANGED, as_id: str | int = 1, **params: Any) -> None:
    assert await heard(flight) == {
        "jsonrpc": "2.0",
        "method": method,
        "params": {**params, "_meta": {SUBSCRIPTION: as_id}},
    }


async def test_a_change_anywhere_reaches_the_streams_of_every_process(world: World) -> None:
    node, other = await world.node(), await world.node()
    flights = [(await listening(where, f"s{turn}"))[0] for turn, where in enumerate([node, other])]
    await other.engine.fleet.notify_tools_changed()
    for turn, flight in enumerate(flights):
        await told(flight, as_id=f"s{turn}")
    await node.engine.fleet.notify_tools_changed()
    for turn, flight in enumerate(flights):
        await told(flight, as_id=f"s{turn}")
        assert flight.peer.arrived.empty()


async def test_an_update_right_after_the_acknowledgement_is_told_whoever_published(world: World) -> None:
    """A thousand times, ten at once, from each of three processes to each other one."""
    pairs = [*permutations([await world.node(server=watchable()) for _ in range(3)], 2)]

    async def hundred(lane: int) -> None:
        for turn in range(100):
            holds, publishes = pairs[(lane + turn) % len(pairs)]
            uri = f"a://{lane}/{turn}"
            flight, _ = await listening(holds, to={"resourceSubscriptions": [uri]})
            await publishes.engine.fleet.notify_resource_updated(uri)
            await told(flight, UPDATED, uri=uri)
            await flight.cut()

    async with asyncio.TaskGroup() as lanes:
        for lane in range(10):
            lanes.create_task(hundred(lane))


async def test_a_tool_tells_of_changes_by_its_context(memory: World) -> None:
    server = watchable()

    @server.tool
    async def change(ctx: Context) -> None:
        await ctx.notify_tools_changed()
        await ctx.notify_prompts_changed()
        await ctx.notify_resources_changed()
        await ctx.notify_resource_updated("a://b")
        await ctx.notify_resource_updated("a://b", only_for=ADA)

    node = await memory.node(server=server)
    flight, _ = await listening(node, to={**EVERYTHING, "resourceSubscriptions": ["a://b"]})
    assert "isError" not in (await node.modern("tools/call", {"name": "change"}).got()).result
    for kind in ("tools", "prompts", "resources"):
        await told(flight, f"notifications/{kind}/list_changed")
    await told(flight, UPDATED, uri="a://b")


@pytest.mark.parametrize(
    "uri", ["", "a://" + "a" * 5000, "b", "a://{b}"], ids=["empty", "long", "relative", "template"]
)
async def test_a_uri_that_nobody_can_watch_is_refused(memory: World, uri: str) -> None:
    node = await memory.node()
    with pytest.raises(ValueError, match="URI"):
        await node.engine.fleet.notify_resource_updated(uri)


async def test_while_the_store_is_away_nobody_is_told(world: World) -> None:
    node = await world.node()
    world.links[node].away = True
    with pytest.raises(Unavailable):
        await node.engine.fleet.notify_tools_changed()


@pytest.mark.parametrize("as_id", [0, "", 7, "seven"])
async def test_every_frame_names_the_request_that_opened_the_stream(memory: World, as_id: str | int) -> None:
    node = await memory.node()
    flight, _ = await listening(node, as_id)
    await node.engine.fleet.notify_tools_changed()
    await told(flight, as_id=as_id)
    node.engine.drain()
    got = await flight.got()
    assert got.reply["id"] == as_id
    assert got.result["resultType"] == "complete"
    assert got.result["_meta"][SUBSCRIPTION] == as_id


@pytest.mark.parametrize(
    ("asked", "honoured"),
    [
        ({}, {}),
        ({"toolsListChanged": True}, {"toolsListChanged": True}),
        ({"toolsListChanged": False, "promptsListChanged": None}, {}),
        ({"toolsListChanged": True, **EVERYTHING, "resourceSubscriptions": ["a://b"]}, {"toolsListChanged": True}),
        ({"toolsListChanged": True, "acme/stars": ["sirius"]}, {"toolsListChanged": True}),
    ],
)
async def test_only_what_the_server_has_is_acknowledged(memory: World, asked: Json, honoured: Json) -> None:
    assert (await listening(await memory.node(), to=asked))[1] == honoured


async def test_what_the_server_has_is_acknowledged_in_the_order_of_the_request(memory: World) -> None:
    asked = {**EVERYTHING, "resourceSubscriptions": ["b://b", "a://a", "b://b"]}
    _, honoured = await listening(await memory.node(server=watchable()), to=asked)
    assert honoured == {**EVERYTHING, "resourceSubscriptions": ["b://b", "a://a"]}


@pytest.mark.parametrize(
    "notifications",
    [
        None,
        [],
        "all",
        {"toolsListChanged": 1},
        {"toolsListChanged": "yes"},
        {"resourceSubscriptions": "a://b"},
        {"resourceSubscriptions": [1]},
        {"resourceSubscriptions": [""]},
        {"resourceSubscriptions": ["x" * 5000]},
        {"resourceSubscriptions": [f"a://{number}" for number in range(1001)]},
    ],
)
async def test_a_filter_that_is_none_is_refused(memory: World, notifications: Any) -> None:
    node = await memory.node()
    got = await node.modern("subscriptions/listen", {"notifications": notifications}, as_id="x").got()
    assert (got.status, got.error["code"], got.reply["id"]) == (400, -32602, "x")


async def test_a_client_that_takes_no_events_is_refused(memory: World) -> None:
    node = await memory.node()
    got = await node.modern("subscriptions/listen", {"notifications": {}}, Accept="application/json").got()
    assert (got.status, got.error["code"], got.reason) == (406, -32600, "accept")


async def test_nothing_is_told_that_was_not_asked_for(memory: World) -> None:
    node = await memory.node(server=watchable())
    flight, _ = await listening(node, to={"promptsListChanged": True, "resourceSubscriptions": ["a://b"]})
    fleet = node.engine.fleet
    await fleet.notify_tools_changed()
    await fleet.notify_resources_changed()
    await fleet.notify_resource_updated("a://c")
    await fleet.notify_resource_updated("a://b")
    await told(flight, UPDATED, uri="a://b")
    await fleet.notify_prompts_changed()
    await told(flight, "notifications/prompts/list_changed")
    assert flight.peer.arrived.empty()


async def test_what_is_for_one_principal_reaches_nobody_else(world: World) -> None:
    node, other = await world.node(server=watchable()), await world.node(server=watchable())
    watching = {"resourceSubscriptions": ["a://b", "a://end"]}
    adas, _ = await listening(node, principal=ADA, to=watching)
    bobs, _ = await listening(node, principal=BOB, to=watching)
    anybodys, _ = await listening(node, to=watching)
    await other.engine.fleet.notify_resource_updated("a://b", only_for=ADA)
    await told(adas, UPDATED, uri="a://b")
    await other.engine.fleet.notify_resource_updated("a://end")
    for flight in (adas, bobs, anybodys):
        await told(flight, UPDATED, uri="a://end")


async def test_a_hook_decides_who_may_watch_what(memory: World) -> None:
    server = watchable()

    @server.may_watch
    async def may_watch(principal: Principal | None, topic: Topic) -> bool:
        return principal is not None and (topic.kind != "resource" or topic.key.startswith(f"{principal.subject}://"))

    node = await memory.node(server=server)
    asked = {"toolsListChanged": True, "resourceSubscriptions": ["ada://1", "bob://1"]}
    adas, honoured = await listening(node, principal=ADA, to=asked)
    assert honoured == {"toolsListChanged": True, "resourceSubscriptions": ["ada://1"]}
    assert (await listening(node, to=asked))[1] == {}
    await node.engine.fleet.notify_resource_updated("bob://1")
    await node.engine.fleet.notify_resource_updated("ada://1")
    await told(adas, UPDATED, uri="ada://1")


async def test_a_hook_that_fails_permits_nothing(memory: World) -> None:
    server = watchable()

    @server.may_watch
    def may_watch(principal: Principal | None, topic: Topic) -> bool:
        raise LookupError(topic)

    got = await listen(await memory.node(server=server)).got()
    assert (got.status, got.error["code"]) == (500, -32603)
    assert "tools" not in str(got.error)


async def test_beyond_the_cap_a_stream_is_refused_until_another_has_ended(memory: World) -> None:
    node = await memory.node(replace(PATIENT, max_listens=2))
    flights = [(await listening(node))[0] for _ in range(2)]
    got = await listen(node, "late").got()
    assert (got.status, got.reason, got.reply["id"]) == (503, "too_many_listen_streams", "late")
    assert int(got.headers["Retry-After"]) > 0
    await flights[0].cut()
    await listening(node)


async def test_a_process_that_drains_ends_its_streams_with_a_result_and_begins_none(world: World) -> None:
    node, other = await world.node(), await world.node()
    flight, _ = await listening(node)
    node.engine.drain()
    got = await flight.got()
    assert got.messages[-1] == got.reply
    assert got.result["_meta"][SUBSCRIPTION] == 1
    late = await listen(node).got()
    assert (late.status, late.reason, late.headers["Retry-After"]) == (503, "server_stopping", "1")
    await listening(other)


async def test_a_burst_is_gathered(world: World) -> None:
    node, other = await world.node(server=watchable()), await world.node(server=watchable())
    uris = ["a://1", "a://2", "a://3"]
    flight, _ = await listening(node, to={"resourceSubscriptions": [*uris, "a://end"]})
    for turn in range(300):
        await other.engine.fleet.notify_resource_updated(uris[turn % 3])
    await other.engine.fleet.notify_resource_updated("a://end")
    found = []
    while (uri := (await heard(flight))["params"]["uri"]) != "a://end":
        found.append(uri)
    assert set(found) == set(uris)
    assert len(found) < 150


async def test_a_stream_that_is_not_read_holds_one_notice_of_each_topic(memory: World) -> None:
    node = await memory.node(server=watchable())
    slow, _ = await listening(node, to={"resourceSubscriptions": ["a://b", "a://end"]})
    free, _ = await listening(node, to={"resourceSubscriptions": ["a://end"]})
    slow.peer.reading.clear()
    for _ in range(500):
        await node.engine.fleet.notify_resource_updated("a://b")
    await node.engine.fleet.notify_resource_updated("a://end")
    await told(free, UPDATED, uri="a://end")
    slow.peer.reading.set()
    for uri in ("a://b", "a://b", "a://end"):  # the first was on its way when the client stopped to read
        await told(slow, UPDATED, uri=uri)
    assert slow.peer.arrived.empty()


async def test_a_gap_counts_as_a_change_of_all_that_is_watched(world: World) -> None:
    node, other = await world.node(server=watchable()), await world.node(server=watchable())
    flight, _ = await listening(node, to={**TOOLS, "resourceSubscriptions": ["a://b"]})
    elsewhere, _ = await listening(other, to={"promptsListChanged": True})
    await world.store.delete(EVENTS)
    await told(flight, UPDATED, uri="a://b")
    await told(flight)
    await told(elsewhere, "notifications/prompts/list_changed")
    await other.engine.fleet.notify_tools_changed()
    await told(flight)
    assert elsewhere.peer.arrived.empty()


async def test_a_stream_begun_while_the_store_is_away_is_told_when_it_is_back(world: World) -> None:
    node, other = await world.node(), await world.node()
    world.links[node].away = True
    flight, _ = await listening(node)
    await other.engine.fleet.notify_tools_changed()
    world.links[node].away = False
    await told(flight)


async def test_other_lists_in_the_fleet_count_as_a_change(world: World) -> None:
    node = await world.node()
    flight, _ = await listening(node)
    newer = world.stage.server()

    @newer.tool
    def only_here() -> None:
        """A tool of the next version."""

    other = await world.node(server=newer)
    await world.beat(other, node)
    await told(flight)
    await world.stop(other)
    await world.beat(node)
    await told(flight)


async def test_an_event_of_another_version_is_passed_over(world: World) -> None:
    node = await world.node()
    flight, _ = await listening(node)
    await world.store.append(EVENTS, b"\xff from the future", ttl=60, keep=10)
    await node.engine.fleet.notify_tools_changed()
    await told(flight)
    assert not flight.ended


async def test_a_stream_ends_with_a_result_when_its_principals_token_expires(memory: World) -> None:
    node = await memory.node()
    soon = Principal("ada", expires=time.time() + 0.1)
    flight, _ = await listening(node, principal=soon)
    later, _ = await listening(node, principal=replace(soon, expires=time.time() + 3600))
    got = await flight.got()
    assert got.result["_meta"][SUBSCRIPTION] == 1
    await node.engine.fleet.notify_tools_changed()
    await told(later)


async def test_nothing_is_left_of_a_stream_whose_client_went(memory: World) -> None:
    node = await memory.node()
    flight, _ = await listening(node)
    await flight.cut()
    watches = node.engine._watches
    assert (len(watches), dict(watches._by_topic)) == (0, {})
    await node.engine.fleet.notify_tools_changed()


async def test_the_store_is_not_asked_when_a_stream_begins(world: World) -> None:
    node = await world.node()
    verbs = world.links[node].verbs
    verbs.clear()
    for _ in range(20):
        await listening(node)
    asked = [verb for verb in verbs if "events" in verb or "session" in verb]
    assert len(asked) < 10, "but for what the process reads for itself"


async def test_an_outage_counts_as_a_change_once_it_is_over(world: World) -> None:
    node = await world.node()
    flight, _ = await listening(node)
    link = world.links[node]
    link.away = True
    link.verbs.clear()
    await world.store.append(EVENTS, b"\xff which rings the bell", ttl=60, keep=10)
    await eventually(lambda: "read events/all" in link.verbs)
    assert flight.peer.arrived.empty()
    link.away = False
    await told(flight)
