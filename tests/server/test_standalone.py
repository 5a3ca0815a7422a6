"""A session's GET streams: every change once, on one stream, wherever connections come and go (transports, "Listening
for Messages from the Server")."""

from dataclasses import replace
from typing import Any

import pytest

from mcpfleet.server import eventids
from mcpfleet.server.eventids import StandalonePlace
from mcpfleet.server.events import EVENTS
from mcpfleet.server.exchange import Retention
from mcpfleet.server.tenure import MAX_NEWER
from tests.server.watchable import watchable
from tests.server.wire import Flight, Node, Session
from tests.server.world import PATIENT, World, eventually

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
LISTS_CHANGED = [f"notifications/{kind}/list_changed" for kind in ("prompts", "resources", "tools")]


async def listening(session: Session, node: Node, after: str | None = None) -> Flight:
    """A stream that has begun."""
    flight = session.listen(node, after)
    await flight.begun()
    return flight


async def heard(flight: Flight) -> dict[str, Any]:
    """The next message of a stream that goes on."""
    message = await flight.message()
    assert message is not None
    return message


async def test_a_change_reaches_the_stream_of_every_session_on_every_process_once(world: World) -> None:
    node, other = await world.node(), await world.node()
    sessions = [await node.initialize() for _ in range(4)]
    flights = [await listening(session, where) for session, where in zip(sessions, [node, other] * 2, strict=True)]
    await other.engine.fleet.notify_tools_changed()
    for flight in flights:
        assert await heard(flight) == CHANGED
    await node.engine.fleet.notify_tools_changed()  # were anything told twice, it would come before this
    await node.engine.fleet.notify_tools_changed()
    for flight in flights:
        assert [await heard(flight), await heard(flight)] == [CHANGED, CHANGED]
        assert flight.peer.arrived.empty()


async def test_the_first_stream_of_a_session_begins_where_the_session_did(world: World) -> None:
    node, other = await world.node(), await world.node()
    await node.engine.fleet.notify_tools_changed()
    session = await node.initialize()
    await node.engine.fleet.notify_tools_changed()
    flight = await listening(session, other)
    assert await heard(flight) == CHANGED
    await node.engine.fleet.notify_tools_changed()
    assert await heard(flight) == CHANGED
    assert flight.peer.arrived.empty()


async def test_a_later_stream_begins_with_what_comes_then(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    await node.engine.fleet.notify_tools_changed()
    first = await listening(session, node)
    await heard(first)
    await node.engine.fleet.notify_tools_changed()
    await heard(first)
    await first.cut()
    second = await listening(session, other)
    await node.engine.fleet.notify_tools_changed()
    assert await heard(second) == CHANGED
    place = eventids.read(session.id, second.last_event_id)
    assert isinstance(place, StandalonePlace)
    assert place.events.offset == 3, "the first two were the first stream's"


@pytest.mark.parametrize("date", ["2024-11-05", "2025-06-18"])
async def test_a_stream_of_an_older_revision_begins_without_an_empty_event(memory: World, date: str) -> None:
    node = await memory.node()
    session = await node.initialize(date)
    flight = session.listen(node)
    await node.engine.fleet.notify_tools_changed()
    event = await flight.event()
    assert event is not None
    assert event.data


async def test_a_change_between_the_death_of_one_connection_and_the_next_is_delivered_once(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flight = await listening(session, node)
    await node.engine.fleet.notify_tools_changed()
    await heard(flight)
    await flight.cut()
    await node.engine.fleet.notify_tools_changed()
    again = await listening(session, other, flight.last_event_id)
    assert await heard(again) == CHANGED
    await node.engine.fleet.notify_tools_changed()
    assert await heard(again) == CHANGED
    assert again.peer.arrived.empty()


async def test_a_stream_can_be_taken_up_from_its_very_beginning(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flight = session.listen(node)
    begun = await flight.begun()
    await flight.cut()
    await node.engine.fleet.notify_tools_changed()
    again = await listening(session, other, begun)
    assert await heard(again) == CHANGED


async def test_only_the_newest_of_two_streams_is_told_and_the_older_stays_open(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    older = await listening(session, node)
    newer = await listening(session, other)
    for _ in range(3):
        await node.engine.fleet.notify_tools_changed()
        assert await heard(newer) == CHANGED
    assert older.peer.arrived.empty()
    assert not older.ended


async def test_what_was_published_before_the_take_over_is_told_by_the_older_stream_however_late_it_reads(
    world: World,
) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    older = await listening(session, node)
    go = world.links[node].hold("read events/all")
    await other.engine.fleet.notify_tools_changed()
    newer = await listening(session, other)
    await eventually(lambda: world.links[node].verbs[-1] == f"read {session.id}/log")
    await other.engine.fleet.notify_tools_changed()
    assert await heard(newer) == CHANGED
    go()
    assert await heard(older) == CHANGED
    await other.engine.fleet.notify_tools_changed()
    assert await heard(newer) == CHANGED
    assert older.peer.arrived.empty()
    assert newer.peer.arrived.empty()
    await older.cut()
    again = await listening(session, other, older.last_event_id)  # from what it was told late, while it was silent
    await other.engine.fleet.notify_tools_changed()
    assert await heard(again) == CHANGED
    assert again.peer.arrived.empty(), "the rest was the other stream's"


async def test_a_stream_that_was_silent_and_is_taken_up_again_passes_over_what_the_other_was_told(
    world: World,
) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    first = await listening(session, node)
    await node.engine.fleet.notify_tools_changed()
    await heard(first)
    second = await listening(session, other)
    await node.engine.fleet.notify_tools_changed()
    await heard(second)
    await first.cut()
    go = world.links[node].hold(f"read {session.id}/log")
    again = await listening(session, node, first.last_event_id)
    await world.links[node].reached(f"read {session.id}/log")
    assert (await session.call(node, "echo", x="hi").got()).text == "hi"
    assert again.peer.arrived.empty(), "it cannot know yet what is its own to tell"
    go()
    await other.engine.fleet.notify_tools_changed()
    assert await heard(again) == CHANGED
    assert again.peer.arrived.empty(), "the second change was the other stream's"
    assert second.peer.arrived.empty()


async def test_taking_a_stream_up_ends_its_earlier_connection_wherever_it_is(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flight = await listening(session, node)
    bystander = await listening(session, node)
    again = await listening(session, other, flight.last_event_id)
    got = await flight.got()
    assert (got.status, got.messages) == (200, [])
    assert not bystander.ended
    await node.engine.fleet.notify_tools_changed()
    assert await heard(again) == CHANGED


async def test_ten_connections_that_take_up_one_stream_at_once_leave_one(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flight = await listening(session, node)
    again = [session.listen(where, flight.last_event_id) for where in (node, other) * 5]
    await eventually(lambda: sum(each.ended for each in again) == 9)
    await flight.got()
    await node.engine.fleet.notify_tools_changed()
    (left,) = (each for each in again if not each.ended)
    await left.begun()
    assert await heard(left) == CHANGED


async def test_four_streams_of_a_session_are_open_at_most(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    flights = [await listening(session, node) for _ in range(MAX_NEWER + 2)]
    got = await flights[0].got()
    assert (got.status, got.messages) == (200, [])
    assert [flight.ended for flight in flights] == [True, False, False, False, False]


async def test_a_stream_that_nobody_reads_blocks_neither_its_session_nor_others(world: World) -> None:
    node, other = await world.node(), await world.node()
    session, bystander = await node.initialize(), await node.initialize()
    stuck, free = await listening(session, node), await listening(bystander, node)
    stuck.peer.reading.clear()
    await node.engine.fleet.notify_tools_changed()
    assert await heard(free) == CHANGED
    assert (await session.call(node, "echo", x="hi").got()).text == "hi"
    again = await listening(session, other, stuck.last_event_id)
    assert await heard(again) == CHANGED


async def test_no_answer_to_a_call_goes_on_a_stream_of_a_get(world: World) -> None:
    """Only who takes up a call's own stream gets its response there."""
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flights = [await listening(session, node), await listening(session, other)]
    streamed = session.call(node, "held", name="a", token=1)
    await world.stage.began()
    await world.stage.contexts["a"].report_progress(1)
    assert await heard(streamed)
    await streamed.cut()
    assert (await session.call(other, "echo", x="hi").got()).text == "hi"
    world.stage.release("a", "done")
    assert (await session.listen(node, streamed.last_event_id).got()).text == "done"
    await session.end(node)
    assert [(await flight.got()).messages for flight in flights] == [[], []]


async def test_a_deleted_session_ends_its_streams_on_every_process(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flights = [await listening(session, node), await listening(session, other)]
    await session.end(node)
    for flight in flights:
        got = await flight.got()
        assert [event.retry_ms for event in got.events if event.retry_ms] == [], "there is nothing to come back to"
    assert (await session.listen(other).got()).status == 404


async def test_a_process_that_drains_tells_its_clients_to_come_back_and_new_ones_likewise(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flight = await listening(session, node)
    await node.engine.fleet.notify_tools_changed()
    await heard(flight)
    node.engine.drain()
    got = await flight.got()
    assert got.events[-1].retry_ms
    before = await world.store.open(f"{session.id}/log", ttl=60)
    late = await session.listen(node).got()
    assert (late.status, late.messages, bool(late.events[-1].retry_ms)) == (200, [], True)
    assert await world.store.open(f"{session.id}/log", ttl=60) == before, "it took nothing over"
    again = await listening(session, other, flight.last_event_id)
    await other.engine.fleet.notify_tools_changed()
    assert await heard(again) == CHANGED


async def test_events_that_can_no_longer_be_replayed_count_as_a_change(world: World) -> None:
    policy = replace(PATIENT, retention=Retention(keep=3))
    node = await world.node(policy)
    session = await node.initialize()
    flight = await listening(session, node)
    await flight.cut()
    for _ in range(5):
        await node.engine.fleet.notify_tools_changed()
    late = await world.node(policy)  # which has them not even in memory
    again = await listening(session, late, flight.last_event_id)
    assert await heard(again) == CHANGED
    await node.engine.fleet.notify_tools_changed()
    assert await heard(again) == CHANGED
    assert again.peer.arrived.empty(), "five changes that are lost are one"


async def test_what_counts_as_changed_is_all_told_although_the_stream_is_cut_in_the_midst_of_it(world: World) -> None:
    """Resumability and Redelivery: each of these messages has an id of its own, and what follows it is not lost."""
    node, other = await world.node(server=watchable()), await world.node(server=watchable())
    session = await node.initialize()
    flight = await listening(session, node)
    await node.engine.fleet.notify_tools_changed()
    await heard(flight)
    await world.store.delete(EVENTS)
    everything = [await heard(flight) for _ in range(3)]
    assert len({message["method"] for message in everything}) == 3
    ids = [event.id for event in flight.peer.events if event.data][1:]
    assert len(set(ids)) == 3
    await flight.cut()
    for place in ids[:2]:
        again = await listening(session, other, place)
        assert [await heard(again) for _ in everything] == everything
        await again.cut()
    again = await listening(session, other, ids[2])
    await node.engine.fleet.notify_prompts_changed()
    assert await heard(again) == {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}
    assert again.peer.arrived.empty()


async def test_a_stream_whose_own_log_is_lost_in_part_counts_everything_as_changed(world: World) -> None:
    policy = replace(PATIENT, retention=Retention(keep=2))
    node = await world.node(policy)
    session = await node.initialize()
    flight = await listening(session, node)
    await flight.cut()
    for _ in range(5):
        await session.cancel(node, "unknown")
    again = await listening(session, node, flight.last_event_id)
    assert await heard(again) == CHANGED
    await node.engine.fleet.notify_tools_changed()
    assert await heard(again) == CHANGED


async def test_a_lost_log_of_events_counts_as_a_change_on_every_open_stream_that_is_not_silent(world: World) -> None:
    node, other = await world.node(), await world.node()
    session, second = await node.initialize(), await node.initialize()
    silent = await listening(session, node)
    for _ in range(2):
        await node.engine.fleet.notify_tools_changed()
        await heard(silent)
    flight, elsewhere = await listening(session, node), await listening(second, other)
    assert [await heard(elsewhere), await heard(elsewhere)] == [CHANGED, CHANGED]
    await world.store.delete(EVENTS)
    assert await heard(flight) == CHANGED
    assert await heard(elsewhere) == CHANGED
    await node.engine.fleet.notify_tools_changed()
    assert await heard(flight) == CHANGED
    assert silent.peer.arrived.empty()


async def test_a_stream_whose_session_was_deleted_ends_although_it_cannot_hear_so(world: World) -> None:
    node, other = await world.node(replace(PATIENT, session_idle=0.5)), await world.node()
    session = await node.initialize()
    flight = await listening(session, node)
    world.links[node].hold(f"read {session.id}/log")
    await session.end(other)
    assert (await flight.got()).messages == []


async def test_an_outage_ends_no_stream_and_loses_no_change(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flight = await listening(session, node)
    world.links[node].away = True
    await other.engine.fleet.notify_tools_changed()
    await eventually(lambda: any("events/all" in verb for verb in world.links[node].verbs[-5:]))
    assert not flight.ended
    world.links[node].away = False
    assert await heard(flight) == CHANGED


async def test_an_outage_loses_no_word_that_no_list_tells_of(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    await session.request(node, "logging/setLevel", {"level": "error"}).got()
    flight = await listening(session, node)
    world.links[node].away = True
    await other.engine.fleet.log("error", "out of paper")
    await eventually(lambda: any("events/all" in verb for verb in world.links[node].verbs[-5:]))
    world.links[node].away = False
    assert await heard(flight) == CHANGED
    said = await heard(flight)
    assert (said["method"], said["params"]["data"]) == ("notifications/message", "out of paper")


async def test_what_is_published_while_a_stream_is_about_to_say_that_all_has_changed_is_told_too(world: World) -> None:
    node = await world.node(replace(PATIENT, spread=0.2))
    session = await node.initialize()
    await session.request(node, "logging/setLevel", {"level": "error"}).got()
    flight = await listening(session, node)
    newer = world.stage.server()

    @newer.tool
    def only_here() -> None:
        """A tool of the next version."""

    other = await world.node(server=newer)
    await world.beat(other, node)
    for number in range(20):
        await other.engine.fleet.log("error", number)
    told = [await heard(flight) for _ in range(21)]
    assert told.count(CHANGED) == 1
    assert [each["params"]["data"] for each in told if each != CHANGED] == [*range(20)]


async def test_while_the_store_is_away_a_stream_cannot_begin_and_the_first_is_still_the_first_later(
    world: World,
) -> None:
    node = await world.node()
    session = await node.initialize()
    await node.engine.fleet.notify_tools_changed()
    for what in ("get */stream", "open events/all", f"append {session.id}/log"):
        world.links[node].cut_at(what)
        got = await session.listen(node).got()
        assert (got.status, got.reason, got.headers["Retry-After"]) == (503, "store_unavailable", "1")
        world.links[node].restore()
    assert await heard(await listening(session, node)) == CHANGED


async def test_a_change_of_the_lists_that_the_fleet_serves_counts_as_a_change(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    flight = await listening(session, node)
    newer = world.stage.server()

    @newer.tool
    def only_here() -> None:
        """A tool of the next version."""

    other = await world.node(server=newer)
    await world.beat(other, node)
    assert await heard(flight) == CHANGED
    await world.stop(other)
    await world.beat(node)
    assert await heard(flight) == CHANGED


async def test_a_change_of_those_lists_counts_as_one_for_a_stream_that_has_not_begun_to_read_too(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    go = world.links[node].hold(f"read {session.id}/log")
    flight = await listening(session, node)
    await world.links[node].reached(f"read {session.id}/log")
    newer = world.stage.server()

    @newer.tool
    def only_here() -> None:
        """A tool of the next version."""

    other = await world.node(server=newer)
    await world.beat(other, node)
    go()
    assert await heard(flight) == CHANGED


async def test_an_event_of_another_version_is_passed_over(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    flight = await listening(session, node)
    await world.store.append(EVENTS, b"\xff from the future", ttl=60, keep=10)
    await world.store.append(f"{session.id}/log", b"\xff from the future", ttl=60, keep=10)
    await node.engine.fleet.notify_tools_changed()
    assert await heard(flight) == CHANGED
    assert not flight.ended


async def test_a_stream_that_ended_with_the_last_process_of_a_version_is_told_so_elsewhere(world: World) -> None:
    """Its client may have listed on that process to the last, and could be told there of nothing that came then."""
    newer, older = await world.node(server=watchable()), await world.node()
    session = await older.initialize()
    flight = await listening(session, older)
    await flight.cut()
    await world.stop(older)
    again = await listening(session, newer, flight.last_event_id)
    kinds = ("prompts", "resources", "tools")
    assert [await heard(again) for _ in kinds] == [
        {**CHANGED, "method": f"notifications/{kind}/list_changed"} for kind in kinds
    ]


async def test_a_stream_that_is_cut_while_it_is_told_of_a_version_that_has_gone_is_told_all_of_it_again(
    world: World,
) -> None:
    newer, older = await world.node(server=watchable()), await world.node()
    session = await newer.initialize()
    flight = await listening(session, newer)
    flight.peer.reading.clear()
    await world.stop(older)
    flight.peer.reading.set()
    await heard(flight)
    first = next(event.id for event in flight.peer.events if event.data)
    await flight.cut()
    again = await listening(session, newer, first)
    assert [(await heard(again))["method"] for _ in LISTS_CHANGED] == LISTS_CHANGED
