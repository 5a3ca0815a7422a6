"""Cancels land anywhere and hit the call they mean, or none (utilities/cancellation)."""

import asyncio
import random
from dataclasses import replace

import pytest

from mcpfleet.errors import NotAnswered
from mcpfleet.server.call import REGISTER_AFTER
from mcpfleet.server.exchange import Retention
from tests.server.wire import DEADLINE, Flight, Node, Session
from tests.server.world import PATIENT, World, eventually

LISTENING = replace(PATIENT, stream_after=0.05)
"""A call hears of cancels soon."""


async def begin(
    world: World, node: Node, session: Session, name: str, as_id: int | str = 1, *, tool: str = "held"
) -> Flight:
    """A call that has begun, and is known under its id."""
    before = _registrations(world, node)
    flight = session.call(node, tool, name=name, as_id=as_id)
    assert await world.stage.began() == name
    await eventually(lambda: _registrations(world, node) > before)
    return flight


def _registrations(world: World, node: Node) -> int:
    return sum(verb.startswith("put ") and "/id/" in verb for verb in world.links[node].verbs)


async def test_a_cancel_on_any_process_ends_the_call_without_a_response_and_its_tool_sees_it(world: World) -> None:
    node, other = await world.node(LISTENING), await world.node()
    session = await node.initialize()
    flight = await begin(world, node, session, "a")
    assert (await session.cancel(other, 1)).status == 202
    got = await flight.got()
    assert (got.status, got.replies) == (200, [])
    assert await world.stage.was_cancelled() == "a"
    assert world.stage.contexts["a"].cancelled


async def test_a_cancelled_stream_ends_and_is_resumed_to_its_end(world: World) -> None:
    node, other = await world.node(LISTENING), await world.node()
    session = await node.initialize()
    flight = await begin(world, node, session, "a")
    begun = await flight.begun()
    await session.cancel(other, 1)
    assert (await flight.got()).messages == []
    again = await session.listen(other, begun).got()
    assert (again.status, again.messages) == (200, [])


async def test_a_cancel_that_comes_before_the_call_does_not_hit_it(world: World) -> None:
    node = await world.node(LISTENING)
    session = await node.initialize()
    await session.cancel(node, 1)
    flight = await begin(world, node, session, "a")
    await flight.begun()
    world.stage.release("a", "not cancelled")
    assert (await flight.got()).text == "not cancelled"


async def test_a_cancel_that_comes_right_after_the_call_is_not_missed(world: World) -> None:
    node, other = await world.node(LISTENING), await world.node()
    session = await node.initialize()
    flight = session.call(node, "held", name="a")
    await world.stage.began()
    await session.cancel(other, 1)
    assert (await flight.got()).replies == []


async def test_a_cancel_means_an_id_in_its_kind(world: World) -> None:
    node = await world.node(LISTENING)
    session = await node.initialize()
    number = await begin(world, node, session, "number", 1)
    text = await begin(world, node, session, "text", "1")
    await session.cancel(node, 1)  # which is not the newer of the two
    assert (await number.got()).replies == []
    assert await world.stage.was_cancelled() == "number"
    world.stage.release("text", "goes on")
    assert (await text.got()).text == "goes on"


async def test_of_several_calls_with_one_id_a_cancel_hits_the_newest(world: World) -> None:
    node, other = await world.node(LISTENING), await world.node(LISTENING)
    session = await node.initialize()
    older = await begin(world, node, session, "older")
    newer = await begin(world, other, session, "newer")
    await session.cancel(node, 1)
    assert (await newer.got()).replies == []
    world.stage.release("older", "goes on")
    assert (await older.got()).text == "goes on"


async def test_when_the_newest_call_with_an_id_has_ended_a_cancel_hits_the_one_that_still_runs(world: World) -> None:
    node = await world.node(LISTENING)
    session = await node.initialize()
    older = await begin(world, node, session, "older")
    newer = await begin(world, node, session, "newer")
    world.stage.release("newer", "done")
    assert (await newer.got()).text == "done"
    await eventually(lambda: node.engine.calls == 1)
    await session.cancel(node, 1)  # nothing is registered now: the one that still runs is meant
    assert (await older.got()).replies == []


@pytest.mark.parametrize("request_id", [99, "", 10**40, "x" * 3000])
async def test_a_cancel_of_an_unknown_id_is_accepted_and_changes_nothing(world: World, request_id: int | str) -> None:
    node = await world.node(LISTENING)
    session = await node.initialize()
    flight = await begin(world, node, session, "a")
    assert (await session.cancel(node, request_id)).status == 202
    await session.cancel(node, request_id)
    world.stage.release("a", "goes on")
    assert (await flight.got()).text == "goes on"


@pytest.mark.parametrize(
    "params", [{}, {"requestId": None}, {"requestId": True}, {"requestId": 1.5}, {"requestId": []}]
)
async def test_a_malformed_cancel_is_accepted_and_asks_nothing_of_anybody(
    memory: World, params: dict[str, object]
) -> None:
    node = await memory.node()
    session = await node.initialize()
    before = await memory.keys()
    assert (await session.notify(node, "notifications/cancelled", params).got()).status == 202
    assert await memory.keys() == before


async def test_a_cancel_of_a_finished_call_changes_nothing(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    assert (await session.call(node, "echo", x="a").got()).text == "a"
    assert (await session.cancel(node, 1)).status == 202
    assert (await session.call(node, "echo", x="b").got()).text == "b"


async def test_a_cancel_of_another_session_hits_nothing(world: World) -> None:
    node = await world.node(LISTENING)
    session, stranger = await node.initialize(), await node.initialize()
    flight = await begin(world, node, session, "a")
    await stranger.cancel(node, 1)
    await session.cancel(node, 99)  # behind it in the order of things
    world.stage.release("a", "goes on")
    assert (await flight.got()).text == "goes on"


async def test_the_response_of_a_cancelled_call_ends_although_its_tool_takes_no_notice(world: World) -> None:
    node = await world.node(LISTENING)
    session = await node.initialize()
    flight = await begin(world, node, session, "a", tool="stubborn")
    await session.cancel(node, 1)
    assert (await flight.got()).replies == []
    world.stage.release("a", "nobody hears")
    await eventually(lambda: node.engine.calls == 0)


async def test_what_a_cancelled_tool_still_says_is_heard_by_nobody(world: World) -> None:
    node, other = await world.node(LISTENING), await world.node()
    session = await node.initialize()
    flight = session.call(node, "stubborn", name="a", token=1)
    await world.stage.began()
    await world.stage.contexts["a"].report_progress(1)
    await flight.message()
    await session.cancel(node, 1)
    got = await flight.got()
    await world.stage.contexts["a"].report_progress(2)
    world.stage.release("a", "nobody hears")
    with pytest.raises(NotAnswered, match="has ended"):
        await world.stage.contexts["a"].ping()
    await eventually(lambda: node.engine.calls == 0)
    again = await session.listen(other, got.events[0].id).got()
    assert (again.progress, again.replies) == ([1], [])


async def test_a_deleted_session_cancels_its_calls_on_every_process(world: World) -> None:
    node, other = await world.node(LISTENING), await world.node()
    session = await node.initialize()
    flight = await begin(world, node, session, "a")
    assert (await session.end(other)).status == 204
    got = await flight.got()
    assert (got.status, got.replies) == (200, [])
    assert await world.stage.was_cancelled() == "a"


async def test_a_call_whose_session_was_deleted_is_cancelled_although_it_cannot_hear_so(world: World) -> None:
    """Every bell and every word of the session's log is lost to its process, which looks for the session by itself."""
    node, other = await world.node(replace(LISTENING, session_idle=0.5)), await world.node()
    session = await node.initialize()
    deaf = f"read {session.id}/log"
    world.links[node].hold(deaf)
    flight = await begin(world, node, session, "a")
    await world.links[node].reached(deaf)
    assert (await session.end(other)).status == 204
    got = await flight.got()
    assert (got.status, got.replies) == (200, [])
    assert await world.stage.was_cancelled() == "a"


async def test_a_call_that_runs_through_an_outage_can_be_cancelled_after_it(world: World) -> None:
    node, other = await world.node(LISTENING), await world.node()
    session = await node.initialize()
    flight = await begin(world, node, session, "a")
    await flight.begun()
    world.links[node].away = True
    await session.cancel(other, 1)
    world.links[node].away = False
    assert (await flight.got()).replies == []


async def test_a_call_that_could_not_be_registered_is_found_by_its_id(world: World) -> None:
    node, other = await world.node(LISTENING), await world.node()
    session = await node.initialize()
    flight = session.call(node, "held", name="a")
    await world.stage.began()
    world.links[node].away = True
    await eventually(lambda: any("/record" in verb for verb in world.links[node].verbs))
    world.links[node].away = False
    await session.cancel(other, 1)
    assert (await flight.got()).replies == []


async def test_a_call_that_missed_a_part_of_its_sessions_log_goes_on_and_hears_what_comes_then(world: World) -> None:
    policy = replace(LISTENING, retention=Retention(keep=2))
    node, other = await world.node(policy), await world.node(policy)
    session = await node.initialize()
    flight = await begin(world, node, session, "a")
    await flight.begun()
    go = world.links[node].hold(f"read {session.id}/log")
    for _ in range(5):
        await session.cancel(other, "unknown")
    await world.links[node].reached(f"read {session.id}/log")
    verbs = world.links[node].verbs
    verbs.clear()
    go()
    await eventually(lambda: f"open {session.id}/log" in verbs and verbs[-1] == f"read {session.id}/log")
    await session.cancel(other, 1)
    assert (await flight.got()).replies == []
    assert await world.stage.was_cancelled() == "a"


async def test_a_cancel_that_cannot_be_sent_is_refused_for_now(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    world.links[node].away = True
    got = await session.cancel(node, 1)
    assert (got.status, got.headers["Retry-After"], got.reason) == (503, "1", "store_unavailable")


async def test_initialize_is_never_cancelled(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    assert (await session.cancel(node, 0)).status == 202
    assert (await session.call(node, "echo", x="still there").got()).text == "still there"


async def test_cancels_at_any_moment_give_at_most_one_response_and_harm_nothing_else(world: World) -> None:
    node, other = await world.node(replace(PATIENT, stream_after=0.01)), await world.node()
    session = await node.initialize()
    chance = random.Random(23)

    @node.engine.server.tool
    async def soon(tag: str) -> str:
        """Return after a moment; every fifth one only if it is not cancelled."""
        await asyncio.sleep(chance.uniform(0, 2 * REGISTER_AFTER) if int(tag) % 5 else DEADLINE)
        return tag

    async def race(number: int) -> bool:
        flight = session.call(node, "soon", tag=str(number), as_id=number)
        await asyncio.sleep(chance.uniform(0, 2 * REGISTER_AFTER))
        assert (await session.cancel(other, number)).status == 202
        got = await flight.got()
        assert got.status == 200
        assert [reply["result"]["content"][0]["text"] for reply in got.replies] in ([], [str(number)])
        return bool(got.replies)

    for _ in range(10):
        async with asyncio.TaskGroup() as tasks:
            racing = [tasks.create_task(race(number)) for number in range(10)]
        assert [each.result() for each in racing[::5]] == [False, False]
    assert (await session.call(other, "echo", x="the session lives").got()).text == "the session lives"
