"""JSON or a stream: one decision, whatever comes at the same moment (transports, "Sending Messages to the Server")."""

import asyncio
import random
from dataclasses import replace

from mcpfleet import ProtocolError
from tests.answer import Answer
from tests.server.wire import DEADLINE, Node
from tests.server.world import HASTY, PATIENT, World, eventually

JSON_ONLY = "application/json"


async def test_a_call_that_says_nothing_but_its_result_is_one_json_object_and_touches_no_log(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    before = await world.keys()
    got = await session.call(node, "echo", x="hi", as_id="seven").got()
    assert (got.status, got.is_stream, got.text, got.reply["id"]) == (200, False, "hi", "seven")
    assert await world.keys() == before


async def test_a_call_becomes_a_stream_at_its_first_notification(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    got = await session.call(node, "count", n=2, token="t").got()
    assert got.is_stream
    assert got.progress[-1] == 2
    assert got.result["structuredContent"] == {"result": 2}


async def test_a_call_becomes_a_stream_when_it_takes_longer_than_it_may(world: World) -> None:
    node = await world.node(replace(PATIENT, stream_after=0.01))
    session = await node.initialize()
    flight = session.call(node, "held", name="a")
    await flight.begun()
    world.stage.release("a", "result")
    assert (await flight.got()).text == "result"


async def test_a_stream_begins_with_an_id_only_where_the_revision_has_it_so(world: World) -> None:
    node = await world.node(HASTY)
    for date, primed in (("2024-11-05", False), ("2025-03-26", False), ("2025-06-18", False), ("2025-11-25", True)):
        session = await node.initialize(date)
        flight = session.call(node, "count", n=1, token=1)
        first = await flight.event()
        assert first is not None
        assert (first.data == b"") is primed
        assert (await flight.got()).events[-1].id


async def test_each_event_has_an_id_of_its_own(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    got = await session.call(node, "count", n=20, token=1).got()
    ids = [event.id for event in got.events]
    assert None not in ids
    assert len(set(ids)) == len(ids)


async def test_a_client_that_takes_no_streams_gets_json_however_long_it_takes(world: World) -> None:
    node = await world.node(HASTY)
    session = await node.initialize()
    got = await session.call(node, "count", n=3, token=1, accept=JSON_ONLY).got()
    assert (got.is_stream, got.result["structuredContent"]) == (False, {"result": 3})
    held = session.call(node, "held", name="a", accept=JSON_ONLY)
    await world.stage.began()
    world.stage.release("a", "late")
    assert (await held.got()).text == "late"


async def test_a_client_that_takes_only_streams_gets_one_of_one_event(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    got = await session.call(node, "echo", x="hi", accept="text/event-stream").got()
    assert (got.is_stream, len(got.events), got.text) == (True, 1, "hi")


async def test_a_result_that_comes_while_the_stream_is_being_opened_is_answered_as_json(world: World) -> None:
    node = await world.node(HASTY)
    session = await node.initialize()
    for held in ("put */record", "put */alive", "open */x/*/log"):  # the three steps of opening a stream
        go = world.links[node].hold(held)
        flight = session.call(node, "held", name=held)
        await world.stage.began()
        await world.links[node].reached(held)
        world.stage.release(held, "result")
        got = await flight.got()
        go()
        assert (got.is_stream, got.text) == (False, "result")


async def test_a_notification_that_comes_while_the_stream_is_being_opened_is_on_it_once(world: World) -> None:
    node = await world.node(HASTY)
    session = await node.initialize()
    go = world.links[node].hold("put */alive")
    flight = session.call(node, "count", n=3, token=1)
    await world.links[node].reached("put */alive")
    go()
    got = await flight.got()
    assert got.progress == sorted(set(got.progress))
    assert got.progress[-1] == 3


async def test_whatever_comes_at_one_moment_a_call_is_answered_by_json_or_by_a_stream_and_never_by_both_or_none(
    world: World,
) -> None:
    node, other = await world.node(replace(HASTY, stream_after=0.002)), await world.node()
    session = await node.initialize()
    chance = random.Random(11)

    @node.engine.server.tool
    async def sometime(tag: str) -> str:
        """Return after about as long as a call may take before it becomes a stream."""
        await asyncio.sleep(chance.choice((0, chance.uniform(0, 0.01))))
        return tag

    found: list[Answer] = []
    rounds = 0
    while rounds < 20 or (rounds < 200 and {got.is_stream for got in found} != {True, False}):
        rounds += 1
        flights = [session.call(node, "sometime", tag=str(n), as_id=n % 3) for n in range(10)]
        found += [await flight.got() for flight in flights]
    assert [got.text for got in found] == [str(n) for n in range(10)] * rounds
    assert {got.is_stream for got in found} == {True, False}
    for got in found:
        if got.is_stream:  # what was streamed can be resumed: from its beginning it is the same again
            again = await session.listen(other, got.events[0].id).got()
            assert again.replies == got.replies


async def test_a_client_that_leaves_before_there_is_a_stream_costs_no_stream(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    before = await world.keys()
    flight = session.call(node, "held", name="a", token=1)
    await world.stage.began()
    await flight.cut()
    await world.stage.contexts["a"].report_progress(1)
    world.stage.release("a")
    await eventually(lambda: node.engine.calls == 0)
    assert await world.keys() == before


async def test_a_client_that_leaves_does_not_end_its_call(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flight = session.call(node, "held", name="a", token=1)
    await world.stage.began()
    await world.stage.contexts["a"].report_progress(1)
    begun = await flight.begun()
    await flight.cut()
    world.stage.release("a", "still there")
    assert (await session.listen(other, begun).got()).text == "still there"


async def test_a_client_that_leaves_while_the_stream_is_opened_harms_neither_call_nor_stream(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    go = world.links[node].hold("put */alive")
    flight = session.call(node, "held", name="a", token=1)
    await world.stage.began()
    async with asyncio.TaskGroup() as tasks:
        reporting = tasks.create_task(world.stage.contexts["a"].report_progress(1))
        await world.links[node].reached("put */alive")
        await flight.cut()
        go()
    assert reporting.done()
    await world.stage.contexts["a"].report_progress(2)
    world.stage.release("a")
    await eventually(lambda: node.engine.calls == 0)
    assert world.stage.cancelled.empty()


async def test_a_stream_whose_opening_was_in_doubt_is_opened_under_another_name(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    flight = session.call(node, "held", name="a", token=1)
    await world.stage.began()
    world.links[node].lossy = "* */alive"  # the lease is taken, but nobody is told
    await world.stage.contexts["a"].report_progress(1)
    world.links[node].lossy = None
    await world.stage.contexts["a"].report_progress(2)
    world.stage.release("a", "result")
    got = await flight.got()
    assert (got.progress, got.text) == ([2], "result")


async def test_while_the_store_is_away_a_call_goes_on_and_answers_as_json(world: World) -> None:
    node = await world.node(replace(HASTY, stream_after=0.01))
    session = await node.initialize()
    flight = session.call(node, "held", name="a", token=1)
    await world.stage.began()
    world.links[node].away = True
    await world.stage.contexts["a"].report_progress(1)
    world.stage.release("a", "result")
    got = await flight.got()
    assert (got.is_stream, got.text) == (False, "result")


async def test_a_call_becomes_a_stream_after_all_once_the_store_is_back(world: World) -> None:
    node = await world.node(replace(HASTY, stream_after=0.01))
    session = await node.initialize()
    flight = session.call(node, "held", name="a")
    await world.stage.began()
    world.links[node].away = True
    await eventually(lambda: _tried_to_open(world, node))
    world.links[node].away = False
    await flight.begun()
    world.stage.release("a", "result")
    assert (await flight.got()).text == "result"


def _tried_to_open(world: World, node: Node) -> bool:
    return any(verb.endswith("/record") for verb in world.links[node].verbs)


async def test_a_call_in_flight_keeps_its_result_through_an_outage_and_delivers_it_afterwards(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    flight = session.call(node, "held", name="a", token=1)
    await world.stage.began()
    await world.stage.contexts["a"].report_progress(1)
    await flight.message()
    world.links[node].away = True
    await world.stage.contexts["a"].report_progress(2)
    world.stage.release("a", "kept")
    await eventually(lambda: "a" in world.stage.ended)
    world.links[node].away = False
    got = await flight.got()
    assert (got.progress, got.text) == ([1, 2], "kept")


async def test_a_call_whose_stream_was_lost_still_answers_who_is_there(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    flight = session.call(node, "held", name="a", token=1)
    await world.stage.began()
    await world.stage.contexts["a"].report_progress(1)
    await flight.message()
    for name in await _logs_of_calls(world):
        await world.store.delete(name)
    got = await flight.got()
    assert got.reason == "not_replayable"
    assert got.reply["id"] == 1


async def test_a_result_whose_stream_was_lost_is_sent_to_who_is_there(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    flight = session.call(node, "held", name="a", token=1)
    await world.stage.began()
    await world.stage.contexts["a"].report_progress(1)
    await flight.message()
    go = world.links[node].hold("read */x/*/log")
    for name in await _logs_of_calls(world):
        await world.store.delete(name)
    await world.links[node].reached("read */x/*/log")
    world.stage.release("a", "due at that very moment")
    await eventually(lambda: node.engine.calls == 0)
    go()
    assert (await flight.got()).text == "due at that very moment"


async def _logs_of_calls(world: World) -> set[str]:
    """The logs of calls, by their names in the backplane."""
    verbs = [verb for link in world.links.values() for verb in link.verbs]
    return {verb.partition(" ")[2] for verb in verbs if verb.startswith("append ") and "/x/" in verb}


async def test_a_result_too_large_for_a_stream_becomes_an_error(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    flight = session.call(node, "held", name="a", token=1)
    await world.stage.began()
    await world.stage.contexts["a"].report_progress(1)
    world.stage.release("a", "x" * (33 * 1024 * 1024))
    got = await flight.got()
    assert got.reason == "result_too_large"


async def test_a_protocol_error_is_answered_like_any_other_outcome(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    for streamed in (False, True):
        flight = session.call(node, "held", name=str(streamed), token=1)
        await world.stage.began()
        if streamed:
            await world.stage.contexts[str(streamed)].report_progress(1)
        world.stage.fail(str(streamed), ProtocolError(42, "look there", {"url": "https://example.org"}))
        got = await flight.got()
        assert (got.status, got.is_stream) == (200, streamed)
        assert got.error == {"code": 42, "message": "look there", "data": {"url": "https://example.org"}}


async def test_two_calls_with_one_id_each_get_their_own_answer(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    flights = [session.call(where, "held", name=name, as_id=1) for where, name in ((node, "a"), (other, "b"))]
    await world.stage.began()
    await world.stage.began()
    text_id = session.call(other, "echo", x="c", as_id="1")
    world.stage.release("b", "b")
    world.stage.release("a", "a")
    assert [(got.text, got.reply["id"]) for got in [await flight.got() for flight in [*flights, text_id]]] == [
        ("a", 1),
        ("b", 1),
        ("c", "1"),
    ]


async def test_an_id_of_any_size_is_answered_and_its_stream_can_be_resumed(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    for as_id in (10**40, "x" * 2000, "ä\u2028", ""):
        got = await session.call(node, "count", n=1, token=1, as_id=as_id).got()
        assert got.reply["id"] == as_id
        again = await session.listen(other, got.events[0].id).got()
        assert again.reply == got.reply


async def test_a_process_that_stops_ends_its_calls_with_an_error_at_once(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    plain = session.call(node, "held", name="plain", as_id=1)
    streamed = session.call(node, "stubborn", name="streamed", as_id=2, token=1)
    assert {await world.stage.began(), await world.stage.began()} == {"plain", "streamed"}
    await world.stage.contexts["streamed"].report_progress(1)
    await streamed.begun()
    node.engine.drain()
    for flight, as_id in ((plain, 1), (streamed, 2)):
        got = await flight.got()
        assert (got.reason, got.reply["id"]) == ("server_stopped", as_id)
    assert await world.stage.was_cancelled()
    assert "streamed" not in world.stage.ended, "its end did not wait for a handler that takes no notice"
    world.stage.release("streamed", "too late")
    again = await session.listen(other, streamed.last_event_id).got()
    assert (again.status, again.messages) == (200, [])


async def test_a_process_that_stopped_takes_no_more_calls(world: World) -> None:
    node = await world.node(replace(PATIENT, drain=0.0))
    session = await node.initialize()
    node.engine.drain()

    async def refused() -> bool:
        got = await session.call(node, "echo", x="hi").got()
        return got.status == 503 and got.headers["Retry-After"] == "1" and got.reply["id"] == 1

    await eventually(refused)


async def test_until_the_time_to_drain_is_over_calls_go_on_whether_or_not_anybody_listens(world: World) -> None:
    node, other = await world.node(replace(PATIENT, drain=DEADLINE)), await world.node()
    session = await node.initialize()
    flight = session.call(node, "held", name="a", token=1)
    await world.stage.began()
    await world.stage.contexts["a"].report_progress(1)
    await flight.message()
    await flight.cut()
    async with asyncio.TaskGroup() as tasks:
        stopping = tasks.create_task(world.stop(node))
        await eventually(lambda: node.engine.draining)
        assert not stopping.done()
        world.stage.release("a", "in time")
    assert (await session.listen(other, flight.last_event_id).got()).text == "in time"
