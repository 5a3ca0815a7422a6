"""`resources/subscribe`: whichever process answers it, all know, and nobody else's stream tells (server/resources)."""

import asyncio
import time
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from mcpfleet import Principal, Topic
from mcpfleet.protocol.messages.subscriptions import MAX_WATCHED
from mcpfleet.server.events import EVENTS
from mcpfleet.server.exchange import Retention
from tests.answer import Answer, Json
from tests.server.watchable import watchable
from tests.server.wire import Flight, Node, Session
from tests.server.world import PATIENT, World, eventually

ADA, BOB = Principal("ada"), Principal("bob")
URI = "a://b"
TOOLS_CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


async def nodes(world: World, count: int = 2, **options: Any) -> list[Node]:
    return [await world.node(server=watchable(), **options) for _ in range(count)]


async def subscribe(session: Session, node: Node, uri: Any = URI, method: str = "subscribe") -> Answer:
    return await session.request(node, f"resources/{method}", {"uri": uri}).got()


async def listening(session: Session, node: Node, after: str | None = None) -> Flight:
    flight = session.listen(node, after)
    await flight.begun()
    return flight


async def heard(flight: Flight) -> Json:
    message = await flight.message()
    assert message is not None
    return message


def updated(uri: str = URI) -> Json:
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}


async def test_an_update_right_after_the_answer_is_told_whoever_answered_published_and_listens(world: World) -> None:
    """A thousand times, by ten sessions at once, in every order of the three processes."""
    orders = [*permutations(await nodes(world, 3))]

    async def hundred(holds: Node, answers: Node, publishes: Node) -> None:
        session = await holds.initialize()
        flight = await listening(session, holds)
        for turn in range(100):
            uri = f"a://{session.id}/{turn}"
            assert (await subscribe(session, answers, uri)).result == {}
            await publishes.engine.fleet.notify_resource_updated(uri)
            assert await heard(flight) == updated(uri)

    async with asyncio.TaskGroup() as sessions:
        for number in range(10):
            sessions.create_task(hundred(*orders[number % len(orders)]))


async def test_what_is_not_watched_and_not_watched_any_more_is_not_told(world: World) -> None:
    one, two = await nodes(world)
    session = await one.initialize()
    flight = await listening(session, one)
    await two.engine.fleet.notify_resource_updated(URI)
    await subscribe(session, two)
    await two.engine.fleet.notify_resource_updated("a://other")
    await two.engine.fleet.notify_resource_updated(URI)
    assert await heard(flight) == updated()
    assert (await subscribe(session, one, method="unsubscribe")).result == {}
    await two.engine.fleet.notify_resource_updated(URI)
    await two.engine.fleet.notify_tools_changed()
    assert await heard(flight) == TOOLS_CHANGED


async def test_a_session_hears_nothing_of_what_another_watches(world: World) -> None:
    one, two = await nodes(world)
    mine, theirs = await one.initialize(), await one.initialize()
    flights = await listening(mine, one), await listening(theirs, two)
    await subscribe(theirs, one)
    await one.engine.fleet.notify_resource_updated(URI)
    await one.engine.fleet.notify_tools_changed()
    assert await heard(flights[0]) == TOOLS_CHANGED
    assert [await heard(flights[1]), await heard(flights[1])] == [updated(), TOOLS_CHANGED]


async def test_what_is_for_one_principal_reaches_no_other_who_watches_the_same(world: World) -> None:
    one, two = await nodes(world)
    sessions = [await one.initialize(principal=who) for who in (ADA, BOB)]
    for session in sessions:
        await subscribe(session, two)
    adas, bobs = await listening(sessions[0], one), await listening(sessions[1], one)
    await two.engine.fleet.notify_resource_updated(URI, only_for=ADA)
    await two.engine.fleet.notify_tools_changed()
    assert [await heard(adas), await heard(adas)] == [updated(), TOOLS_CHANGED]
    assert await heard(bobs) == TOOLS_CHANGED


async def test_a_stream_that_begins_later_or_elsewhere_knows_what_is_watched(world: World) -> None:
    one, two = await nodes(world)
    session = await one.initialize()
    await subscribe(session, one)
    await two.engine.fleet.notify_resource_updated(URI)
    first = await listening(session, one)
    assert await heard(first) == updated()
    await first.cut()
    await two.engine.fleet.notify_resource_updated(URI)
    again = await listening(session, two, first.last_event_id)
    assert await heard(again) == updated()


async def test_a_gap_counts_as_an_update_of_all_that_is_watched(world: World) -> None:
    one, two = await nodes(world)
    session = await one.initialize()
    await subscribe(session, two, "a://2")
    await subscribe(session, two, "a://1")
    flight = await listening(session, one)
    await world.store.delete(EVENTS)
    lists = [{"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"} for kind in ("prompts", "resources")]
    found = [await heard(flight) for _ in range(5)]
    assert found == [lists[0], updated("a://1"), updated("a://2"), lists[1], TOOLS_CHANGED]


async def test_a_subscription_lives_as_long_as_its_session_and_ends_with_it(world: World) -> None:
    one, two = await nodes(world)
    session = await one.initialize()
    await subscribe(session, two)
    assert [key for key in await world.keys() if "subscriptions" in key]
    await session.end(one)
    assert [key for key in await world.keys() if "subscriptions" in key] == []


async def test_many_subscriptions_at_once_through_several_processes_are_all_kept(world: World) -> None:
    processes = await nodes(world, 3)
    session = await processes[0].initialize()
    uris = [f"a://{number}" for number in range(12)]
    answers = await asyncio.gather(*(subscribe(session, processes[turn % 3], uri) for turn, uri in enumerate(uris)))
    assert [got.result for got in answers] == [{}] * 12
    flight = await listening(session, processes[1])
    for uri in uris:
        await processes[2].engine.fleet.notify_resource_updated(uri)
    assert [await heard(flight) for _ in uris] == [updated(uri) for uri in uris]


async def test_subscribing_twice_is_subscribing_once(memory: World) -> None:
    (node,) = await nodes(memory, 1)
    session = await node.initialize()
    flight = await listening(session, node)
    for _ in range(2):
        assert (await subscribe(session, node)).result == {}
    await node.engine.fleet.notify_resource_updated(URI)
    await node.engine.fleet.notify_tools_changed()
    assert [await heard(flight), await heard(flight)] == [updated(), TOOLS_CHANGED]
    for _ in range(2):
        assert (await subscribe(session, node, method="unsubscribe")).result == {}


@pytest.mark.parametrize("uri", [None, 7, "", ["a://b"], "a://" + "x" * 5000, "b", "a b://c", "a://b\x00"])
@pytest.mark.parametrize("method", ["subscribe", "unsubscribe"])
async def test_what_is_no_uri_is_refused_and_nothing_is_kept(memory: World, uri: Any, method: str) -> None:
    (node,) = await nodes(memory, 1)
    session = await node.initialize()
    got = await subscribe(session, node, uri, method)
    assert (got.status, got.error["code"]) == (200, -32602)
    assert [key for key in await memory.keys() if "subscriptions" in key] == []


async def test_a_session_cannot_watch_without_end(memory: World) -> None:
    (node,) = await nodes(memory, 1)
    session = await node.initialize()
    for number in range(MAX_WATCHED):
        assert (await subscribe(session, node, f"a://{number}")).result == {}
    assert (await subscribe(session, node, "a://one-more")).error["code"] == -32602
    assert (await subscribe(session, node, "a://0")).result == {}
    assert (await subscribe(session, node, "a://0", "unsubscribe")).result == {}
    assert (await subscribe(session, node, "a://one-more")).result == {}


async def test_a_hook_decides_which_resources_and_lists_a_principal_hears_of(world: World) -> None:
    servers = [watchable(), watchable()]
    for server in servers:

        @server.may_watch
        def may_watch(principal: Principal | None, topic: Topic) -> bool:
            return principal == ADA or topic.kind == "prompts"

    one, two = [await world.node(server=server) for server in servers]
    adas, bobs = await one.initialize(principal=ADA), await one.initialize(principal=BOB)
    assert (await subscribe(adas, two)).result == {}
    refused = await subscribe(bobs, two)
    assert (refused.error["code"], refused.error["data"]) == (-32602, {"uri": URI})
    flights = await listening(adas, two), await listening(bobs, two)
    await one.engine.fleet.notify_resource_updated(URI)
    await one.engine.fleet.notify_tools_changed()
    await one.engine.fleet.notify_prompts_changed()
    prompts = {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}
    assert [await heard(flights[0]) for _ in range(3)] == [updated(), TOOLS_CHANGED, prompts]
    assert await heard(flights[1]) == prompts


@pytest.mark.parametrize("method", ["subscribe", "unsubscribe"])
async def test_a_server_without_resources_has_no_such_methods(memory: World, method: str) -> None:
    node = await memory.node()
    session = await node.initialize()
    assert (await subscribe(session, node, method=method)).error["code"] == -32601


async def test_while_the_store_is_away_subscribing_is_refused_and_can_be_repeated(world: World) -> None:
    one, two = await nodes(world)
    session = await one.initialize()
    flight = await listening(session, two)
    for what in (f"get {session.id}/subscriptions", f"put {session.id}/subscriptions", "append events/all"):
        world.links[one].cut_at(what)
        assert (await subscribe(session, one)).status == 503
        world.links[one].restore()
    assert (await subscribe(session, one)).result == {}
    await one.engine.fleet.notify_resource_updated(URI)
    assert await heard(flight) == updated()


async def test_a_subscription_in_doubt_is_made_for_certain(world: World) -> None:
    one, two = await nodes(world)
    session = await one.initialize()
    world.links[one].lossy = "*"
    assert (await subscribe(session, one)).status == 503  # every reply of the store is lost, that to the load first
    world.links[one].restore()
    assert (await subscribe(session, one)).result == {}
    flight = await listening(session, two)
    await one.engine.fleet.notify_resource_updated(URI)
    assert await heard(flight) == updated()


async def test_a_stream_ends_when_its_principals_token_expires_and_another_token_takes_it_up(memory: World) -> None:
    node, _ = await nodes(memory)
    session = await node.initialize(principal=ADA)
    soon = replace(ADA, expires=time.time() + 0.1)
    flight = replace(session, principal=soon).listen(node)
    await flight.begun()
    got = await flight.got()
    assert (got.status, got.messages) == (200, [])
    again = await listening(
        replace(session, principal=replace(ADA, expires=time.time() + 3600)), node, flight.last_event_id
    )
    await node.engine.fleet.notify_tools_changed()
    assert await heard(again) == TOOLS_CHANGED


async def test_a_holder_that_was_slow_reads_the_filter_before_the_update_that_it_lets_through(world: World) -> None:
    one, two = await nodes(world, policy=replace(PATIENT, retention=Retention(keep=1000)))
    session = await one.initialize()
    flight = await listening(session, one)
    go = world.links[one].hold("read events/all")
    await two.engine.fleet.notify_tools_changed()
    await eventually(lambda: "read events/all" in world.links[one].verbs)
    await subscribe(session, two)
    await two.engine.fleet.notify_resource_updated(URI)
    go()
    assert [await heard(flight), await heard(flight)] == [TOOLS_CHANGED, updated()]
