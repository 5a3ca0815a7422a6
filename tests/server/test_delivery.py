"""Streams that were begun on one process and go on, on any (transports, "Resumability and Redelivery")."""

from dataclasses import replace

from mcpfleet.server.exchange import Retention
from tests.server.wire import Flight, Node, Session
from tests.server.world import PATIENT, World, eventually


async def told(world: World, session: Session, node: Node, name: str = "a", *, tool: str = "held") -> Flight:
    """A call that has begun to stream: it has reported 1."""
    flight = session.call(node, tool, name=name, token=1)
    assert await world.stage.began() == name
    await world.stage.contexts[name].report_progress(1)
    await flight.message()
    return flight


async def test_a_stream_goes_on_elsewhere_after_its_last_event_once_and_in_order(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flight = await told(world, session, node)
    await flight.cut()
    again = session.listen(other, flight.last_event_id)
    for number in (2, 3):
        await world.stage.contexts["a"].report_progress(number)
        await again.message()
    world.stage.release("a", "result")
    got = await again.got()
    assert (got.progress, got.text) == ([2, 3], "result")
    assert all(event.id for event in got.events)


async def test_a_stream_can_be_read_again_from_any_of_its_events(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flight = await told(world, session, node)
    world.stage.release("a", "result")
    whole = await flight.got()
    for at, event in enumerate(whole.events[:-1]):
        assert event.id
        again = await session.listen(other, event.id).got()
        assert [each.data for each in again.events] == [b"", *(each.data for each in whole.events[at + 1 :])]
        assert [each.id for each in again.events] == [each.id for each in whole.events[at:]]


async def test_after_its_last_event_a_stream_is_empty_and_closed(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    got = await session.call(node, "count", n=1, token=1).got()
    again = await session.listen(other, got.events[-1].id).got()
    assert (again.status, again.is_stream, again.events) == (200, True, [])


async def test_a_stream_that_was_trimmed_ends_with_the_error_of_its_call(world: World) -> None:
    node, other = await world.node(replace(PATIENT, retention=Retention(keep=2))), await world.node()
    session = await node.initialize()
    for as_id in ("mine", "x" * 1000):
        flight = session.call(node, "held", name=as_id, as_id=as_id, token=1)
        await world.stage.began()
        begun = None
        for number in range(1, 6):
            await world.stage.contexts[as_id].report_progress(number)
            begun = begun or await flight.begun()
            await flight.message()
        got = await session.listen(other, begun).got()
        assert (got.status, got.reason, got.reply["id"]) == (200, "not_replayable", as_id)
        world.stage.release(as_id)


async def test_a_stream_of_which_nothing_is_left_ends_with_the_error_of_its_call(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    got = await session.call(node, "count", n=1, token=1, as_id="mine").got()
    for key in {verb.partition(" ")[2] for verb in world.links[node].verbs if "/x/" in verb}:
        await world.store.delete(key)
    again = await session.listen(node, got.events[0].id).got()
    assert (again.status, again.reason, again.reply["id"]) == (200, "not_replayable", "mine")


async def test_a_stream_of_which_not_even_the_id_of_its_request_is_left_is_refused(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    got = await session.call(node, "count", n=1, token=1, as_id="x" * 1000).got()
    for key in {verb.partition(" ")[2] for verb in world.links[node].verbs if "/x/" in verb}:
        await world.store.delete(key)
    again = await session.listen(node, got.events[0].id).got()
    assert (again.status, again.reason) == (400, "stream_expired")


async def test_whoever_takes_a_stream_up_is_the_only_one_to_hear_the_rest(world: World) -> None:
    node, other, third = await world.node(replace(PATIENT, stream_after=0.01)), await world.node(), await world.node()
    session = await node.initialize()
    first = await told(world, session, node)
    second = session.listen(other, first.last_event_id)
    got = await first.got()
    assert (got.status, got.replies) == (200, [])
    third_time = session.listen(third, first.last_event_id)
    assert (await second.got()).replies == []
    world.stage.release("a", "for the newest")
    assert (await third_time.got()).text == "for the newest"


async def test_ten_connections_that_take_up_one_stream_at_once_each_hear_a_part_and_one_the_end(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flight = await told(world, session, node)
    again = [session.listen(where, flight.last_event_id) for where in (node, other) * 5]
    await eventually(lambda: sum(each.ended for each in again) == 9)
    world.stage.release("a", "result")
    found = [await each.got() for each in again]
    assert [got.text for got in found if got.replies] == ["result"]
    assert all(got.progress == [] for got in found)


async def test_the_half_dead_connection_that_a_stream_had_blocks_nobody(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flight = await told(world, session, node)
    flight.peer.reading.clear()
    await world.stage.contexts["a"].report_progress(2)
    again = session.listen(other, flight.last_event_id)
    world.stage.release("a", "result")
    got = await again.got()
    assert (got.progress, got.text) == ([2], "result")
    assert (await session.call(node, "echo", x="hi").got()).text == "hi"


async def test_long_replays_and_new_messages_come_in_order_without_a_gap_or_a_double(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    await session.request(node, "logging/setLevel", {"level": "debug"}).got()
    flight = await told(world, session, node)
    await flight.cut()
    context = world.stage.contexts["a"]
    for number in range(300):
        await context.log("info", number)
    again = session.listen(other, flight.last_event_id)
    for number in range(300, 400):
        await context.log("info", number)
    bystander = session.call(other, "echo", x="not held up")
    assert (await bystander.got()).text == "not held up"
    world.stage.release("a")
    got = await again.got()
    assert [each["params"]["data"] for each in got.notifications] == list(range(400))
    assert len({event.id for event in got.events}) == len(got.events)


async def test_a_call_whose_process_has_died_ends_for_whoever_asks_with_an_unknown_outcome(world: World) -> None:
    brief = replace(PATIENT, lease=0.3)
    node, other = await world.node(brief), await world.node(brief)
    session = await node.initialize()
    flight = await told(world, session, node)
    await world.crash(node)
    got = await session.listen(other, flight.last_event_id).got()
    assert (got.status, got.reason, got.reply["id"]) == (200, "outcome_unknown", 1)
    again = await session.listen(other, flight.last_event_id).got()
    assert again.replies == got.replies
