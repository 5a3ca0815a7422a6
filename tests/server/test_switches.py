"""Tools, prompts and resources that come and go while the fleet serves: everywhere, at once in lists, for good."""

import asyncio
from functools import partial

import pytest

from mcpfleet import Context, Server
from mcpfleet.errors import Unavailable
from mcpfleet.server.events import EVENTS
from mcpfleet.server.fleet import Kind
from mcpfleet.server.switches import CELL
from tests.answer import Json
from tests.server.wire import Flight, Node
from tests.server.world import World, eventually

CHANGED = "notifications/tools/list_changed"


def switchable() -> Server:
    """A server with two of everything, whose tools switch each other."""
    server = Server("switchable", version="1", switchable=True)

    @server.tool
    def one() -> str:
        """The first."""
        return "one"

    @server.tool
    def two() -> str:
        """The second."""
        return "two"

    @server.tool
    async def switch(kind: Kind, name: str, on: bool, ctx: Context) -> None:
        """Switch one thing."""
        await (ctx.fleet.enable(kind, name) if on else ctx.fleet.disable(kind, name))

    @server.prompt
    def ask() -> str:
        """Ask."""
        return "ask"

    @server.resource("a://b")
    def known() -> str:
        """Known."""
        return "known"

    @server.resource("c://{d}")
    def any_of_them(d: str) -> str:
        """One of many."""
        return d

    return server


async def nodes(world: World, count: int) -> list[Node]:
    found = [await world.node(server=switchable()) for _ in range(count)]
    for node in found:
        await eventually(partial(has_looked, world, node))
    return found


def has_looked(world: World, node: Node) -> bool:
    return f"get {CELL}" in world.links[node].verbs


async def tools(node: Node) -> list[str]:
    return [tool["name"] for tool in (await node.modern("tools/list").got()).result["tools"]]


async def called(node: Node, tool: str) -> Json:
    reply: Json = (await node.modern("tools/call", {"name": tool}).got()).reply
    return reply


async def is_callable(node: Node, tool: str) -> bool:
    return "result" in await called(node, tool)


async def is_unknown(node: Node, tool: str) -> bool:
    return not await is_callable(node, tool)


async def heard(flight: Flight, method: str = CHANGED) -> None:
    message = await flight.message()
    assert message is not None
    assert message["method"] == method


@pytest.fixture
async def three(world: World) -> list[Node]:
    return await nodes(world, 3)


async def test_a_disabled_tool_is_in_no_list_of_any_process_and_unknown_to_calls(three: list[Node]) -> None:
    one, two, late = three
    await one.engine.fleet.disable("tool", "one")
    for node in three:
        assert await tools(node) == ["two", "switch"]
    for node in (one, two, late):
        await eventually(partial(is_unknown, node, "one"))
    error = (await called(two, "one"))["error"]
    assert error == (await called(two, "never-there"))["error"] | {"message": "Unknown tool: one"}
    await two.engine.fleet.enable("tool", "one")
    for node in three:
        assert await tools(node) == ["one", "two", "switch"]
        await eventually(partial(is_callable, node, "one"))


async def test_a_tool_can_switch_another_and_everybody_is_told(three: list[Node]) -> None:
    one, two, _ = three
    session = await two.initialize()
    legacy = session.listen(two)
    await legacy.begun()
    modern = two.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    await heard(modern, "notifications/subscriptions/acknowledged")
    for on in (False, True):
        await one.modern("tools/call", {"name": "switch", "arguments": {"kind": "tool", "name": "two", "on": on}}).got()
        for flight in (legacy, modern):
            await heard(flight)
        assert ("two" in await tools(two)) is on


async def test_a_list_after_the_notification_shows_the_change_on_a_process_that_has_not_heard_of_it(
    world: World, three: list[Node]
) -> None:
    one, two, deaf = three
    modern = two.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    await heard(modern, "notifications/subscriptions/acknowledged")
    go = world.links[deaf].hold("read events/all")
    await one.engine.fleet.disable("tool", "one")
    await heard(modern)
    assert await tools(deaf) == ["two", "switch"]
    go()


@pytest.mark.parametrize(
    ("kind", "name", "list_of", "key", "use"),
    [
        ("prompt", "ask", "prompts", "name", ("prompts/get", {"name": "ask"})),
        ("resource", "a://b", "resources", "uri", ("resources/read", {"uri": "a://b"})),
        ("template", "c://{d}", "resources/templates", "uriTemplate", ("resources/read", {"uri": "c://x"})),
    ],
)
async def test_prompts_resources_and_templates_are_switched_likewise(
    memory: World, kind: Kind, name: str, list_of: str, key: str, use: tuple[str, Json]
) -> None:
    one, two = await nodes(memory, 2)
    parts = {"resources/templates": "resourceTemplates"}
    method, params = use

    async def seen() -> bool:
        listed = (await two.modern(f"{list_of}/list").got()).result[parts.get(list_of, list_of)]
        return name in [each[key] for each in listed]

    async def used() -> bool:
        routing = {} if "name" in params else {"Mcp_Name": params["uri"]}
        return "result" in (await two.modern(method, params, **routing).got()).reply

    async def unused() -> bool:
        return not await used()

    assert (await seen(), await used()) == (True, True)
    await one.engine.fleet.disable(kind, name)
    assert await seen() is False
    await eventually(unused)
    await one.engine.fleet.enable(kind, name)
    assert await seen() is True
    await eventually(used)


async def test_what_a_session_uses_is_switched_for_it_as_for_everybody(three: list[Node]) -> None:
    one, two, _ = three
    session = await two.initialize()
    await one.engine.fleet.disable("tool", "one")
    listed = (await session.request(two, "tools/list").got()).result["tools"]
    assert [tool["name"] for tool in listed] == ["two", "switch"]


async def test_many_switches_at_once_on_several_processes_are_all_made(three: list[Node]) -> None:
    things: list[tuple[Kind, str]] = [
        ("tool", "one"),
        ("tool", "two"),
        ("prompt", "ask"),
        ("resource", "a://b"),
        ("template", "c://{d}"),
    ]
    await asyncio.gather(*(three[turn % 3].engine.fleet.disable(*thing) for turn, thing in enumerate(things)))
    assert await tools(three[0]) == ["switch"]
    assert (await three[1].modern("resources/list").got()).result["resources"] == []
    await asyncio.gather(*(three[turn % 3].engine.fleet.enable(*thing) for turn, thing in enumerate(things)))
    assert await tools(three[2]) == ["one", "two", "switch"]


async def test_switching_twice_is_switching_once_and_nothing_is_left_at_the_end(
    world: World, three: list[Node]
) -> None:
    fleet = three[0].engine.fleet
    for _ in range(2):
        await fleet.disable("tool", "one")
    assert await world.store.get(CELL) is not None
    for _ in range(2):
        await fleet.enable("tool", "one")
    assert await world.store.get(CELL) is None


async def test_it_lasts_across_a_restart_of_the_whole_fleet(world: World) -> None:
    (node,) = await nodes(world, 1)
    await node.engine.fleet.disable("tool", "one")
    await world.stop(node)
    (again,) = await nodes(world, 1)
    assert await is_callable(again, "one") is False
    assert await tools(again) == ["two", "switch"]


async def test_while_the_store_is_away_lists_and_calls_go_by_what_was_known_last(
    world: World, three: list[Node]
) -> None:
    one, two, _ = three
    await one.engine.fleet.disable("tool", "one")
    assert await tools(two) == ["two", "switch"]
    world.links[two].away = True
    assert await tools(two) == ["two", "switch"]
    assert await is_callable(two, "one") is False
    assert await is_callable(two, "two") is True
    with pytest.raises(Unavailable):
        await two.engine.fleet.enable("tool", "one")


async def test_a_process_that_never_learned_what_is_off_serves_nothing_that_may_be(memory: World) -> None:
    (node,) = await nodes(memory, 1)
    await node.engine.fleet.disable("tool", "one")
    switches = node.engine._switches
    switches._off = None  # as at the start
    memory.links[node].away = True
    for got in (await node.modern("tools/list").got(), await node.modern("tools/call", {"name": "one"}).got()):
        assert (got.status, got.reason, got.headers["Retry-After"]) == (503, "store_unavailable", "1")
    memory.links[node].away = False
    assert await is_callable(node, "one") is False


async def test_a_change_whose_event_was_lost_is_found_all_the_same(world: World, three: list[Node]) -> None:
    one, two, _ = three
    modern = two.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    await heard(modern, "notifications/subscriptions/acknowledged")
    world.links[one].cut_at(f"append {EVENTS}")
    with pytest.raises(Unavailable):
        await one.engine.fleet.disable("tool", "one")
    assert await is_callable(two, "one") is True
    await two.engine._switches.look_again()
    assert await is_callable(two, "one") is False
    await heard(modern)


async def test_what_is_not_there_cannot_be_disabled(memory: World) -> None:
    (node,) = await nodes(memory, 1)
    with pytest.raises(ValueError, match="no tool called 'three'"):
        await node.engine.fleet.disable("tool", "three")
    assert await memory.store.get(CELL) is None


async def test_a_server_that_is_not_switchable_refuses_and_asks_the_store_nothing(world: World) -> None:
    node = await world.node()
    with pytest.raises(ValueError, match="switchable"):
        await node.engine.fleet.disable("tool", "echo")
    world.links[node].verbs.clear()
    await node.modern("tools/list").got()
    assert not [verb for verb in world.links[node].verbs if CELL in verb]


async def test_a_tool_registered_while_others_are_off_is_there(memory: World) -> None:
    (node,) = await nodes(memory, 1)
    await node.engine.fleet.disable("tool", "one")
    node.engine.server.tool(late)
    assert await tools(node) == ["two", "switch", "late"]


def late(x: int) -> int:
    """Come late."""
    return x
