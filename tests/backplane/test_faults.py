"""The faults themselves: a test that they do not hand out proves nothing."""

import asyncio

import pytest

from mcpfleet.backplane.base import ABSENT, Backplane, Plan, Position, Put, Taken
from mcpfleet.backplane.faults import (
    Died,
    Doubtful,
    Fate,
    Rollback,
    Stepped,
    Stuck,
    interleavings,
    shuffles,
)
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.errors import InDoubt, LogGone, Unavailable
from tests.backplane.conftest import Pair

KEY = "s/count"


async def increment_blindly(view: Backplane) -> None:
    """A read and a write, as nobody should do it."""
    count = int(await view.get(KEY) or b"0")
    await view.put(KEY, b"%d" % (count + 1), ttl=60)


async def increment(view: Backplane) -> None:
    """A conditional write, until it holds."""
    while True:
        value = await view.get(KEY)
        if await view.put(KEY, b"%d" % (int(value or b"0") + 1), ttl=60, expect=ABSENT if value is None else value):
            return


async def test_every_order_is_tried_once() -> None:
    seen = []
    for steps in interleavings():
        store = MemoryStore()
        await steps.run(*(steps.view(MemoryBackplane(store)).get(KEY) for _ in range(2)))
        seen.append(str(steps))
    assert len(seen) == len(set(seen)) == 6  # (2 + 2)! / (2! * 2!)


async def test_a_lost_update_is_found_and_a_conditional_write_has_none() -> None:
    counts: dict[str, set[bytes | None]] = {}
    for actor in (increment_blindly, increment):
        for steps in interleavings():
            store = MemoryStore()
            await steps.run(*(actor(steps.view(MemoryBackplane(store))) for _ in range(2)))
            counts.setdefault(actor.__name__, set()).add(await MemoryBackplane(store).get(KEY))
    assert counts == {"increment_blindly": {b"1", b"2"}, "increment": {b"2"}}


async def test_a_mortal_process_dies_at_each_of_its_steps() -> None:
    outcomes = set()
    for steps in interleavings():
        store = MemoryStore()
        (outcome,) = await steps.run(increment(steps.view(MemoryBackplane(store), mortal=True)))
        outcomes.add((type(outcome), await MemoryBackplane(store).get(KEY)))
    assert outcomes == {(Died, None), (Died, b"1"), (type(None), b"1")}


async def test_the_dead_do_nothing_more_not_even_in_finally() -> None:
    async def stubborn(view: Backplane) -> None:
        try:
            await view.put("s/a", b"x", ttl=60)
        finally:
            await view.put("s/b", b"x", ttl=60)

    left = set()
    for steps in interleavings():
        store = MemoryStore()
        await steps.run(stubborn(steps.view(MemoryBackplane(store), mortal=True)))
        left.add(tuple(store.names()))
    assert left == {("s/a",), ("s/a", "s/b")}


async def test_by_hand_a_test_chooses_who_goes_on(pair: Pair) -> None:
    steps = Stepped()
    first, second = steps.view(pair.here), steps.view(pair.there)
    async with asyncio.TaskGroup() as group:
        putting = group.create_task(first.put(KEY, b"first", ttl=60, expect=ABSENT))
        other = group.create_task(second.put(KEY, b"second", ttl=60, expect=ABSENT))
        stops = await steps.held()
        assert [str(stop) for stop in stops] == [f"before put({KEY}) of view 1", f"before put({KEY}) of view 2"]
        stops[1].go()
        (_, after) = await steps.held()
        assert (after.moment, await pair.here.get(KEY)) == ("after", b"second")
        for stop in await steps.held():
            stop.go()
        for stop in await steps.held():
            stop.go()
    assert (putting.result(), other.result()) == (False, True)


async def test_a_bell_may_ring_as_soon_as_a_commit_has_acted_and_before_its_caller_knows() -> None:
    async def wait(view: Backplane) -> None:
        async with view.watch(KEY) as bell:
            while await view.get(KEY) is None:
                await bell.rung()

    rang = set()
    for steps in interleavings():
        store = MemoryStore()
        views = [steps.view(MemoryBackplane(store)) for _ in range(2)]
        await steps.run(wait(views[0]), views[1].commit(Put(KEY, b"x", 60), expect={}, ring=(KEY,)))
        if (ring := "go before a bell of view 1") in steps.trace:
            rang.add(steps.trace.index(ring) < steps.trace.index(f"go after commit({KEY}) of view 2"))
    assert rang == {True, False}


async def test_actors_that_wait_for_nobody_are_stuck() -> None:
    steps = Stepped()
    view = steps.view(MemoryBackplane())

    async def poll_for_ever() -> None:
        while await view.get(KEY) is None:
            continue

    with pytest.raises(ExceptionGroup) as stuck:
        await steps.run(poll_for_ever())
    assert stuck.group_contains(Stuck)


async def test_more_orders_than_allowed_are_an_error() -> None:
    async def run_all() -> None:
        for steps in interleavings(most=5):
            store = MemoryStore()
            await steps.run(*(steps.view(MemoryBackplane(store)).get(KEY) for _ in range(2)))

    with pytest.raises(AssertionError, match="more than 5"):
        await run_all()


async def test_shuffles_repeat_for_the_same_seed_and_differ_among_themselves() -> None:
    async def traces(seed: int) -> list[str]:
        found = []
        for steps in shuffles(seed, times=10):
            store = MemoryStore()
            await steps.run(*(increment(steps.view(MemoryBackplane(store))) for _ in range(3)))
            found.append(str(steps))
        return found

    assert await traces(1) == await traces(1)
    assert await traces(1) != await traces(2)
    assert len(set(await traces(1))) > 5


async def test_each_fate_is_what_its_name_says(pair: Pair) -> None:
    for fate, error, now, later in (
        (Fate.DONE, None, b"x", b"x"),
        (Fate.UNSENT, Unavailable, None, None),
        (Fate.LOST, InDoubt, None, None),
        (Fate.UNANSWERED, InDoubt, b"x", b"x"),
        (Fate.LATE, InDoubt, None, b"x"),
    ):
        doubtful = Doubtful([fate])
        (outcome,) = await asyncio.gather(doubtful.view(pair.here).put(KEY, b"x", ttl=60), return_exceptions=True)
        assert type(outcome) is (error or bool), fate
        assert await pair.there.get(KEY) == now, fate
        await doubtful.deliver()
        assert await pair.there.get(KEY) == later, fate
        await pair.there.delete(KEY)


async def test_a_refusal_is_a_reply_that_can_be_lost_too(pair: Pair) -> None:
    with pytest.raises(InDoubt):
        await Doubtful([Fate.UNANSWERED]).view(pair.here).open("s/l", ttl=60, create=False)


async def test_what_comes_late_may_be_refused(pair: Pair) -> None:
    doubtful = Doubtful([Fate.LATE])
    await pair.here.open("s/l", ttl=60)
    with pytest.raises(InDoubt):
        await doubtful.view(pair.here).append("s/l", b"x", ttl=60, keep=9)
    await pair.there.delete("s/l")
    await doubtful.deliver()
    with pytest.raises(LogGone):
        await pair.there.open("s/l", ttl=60, create=False)


async def test_a_rollback_returns_to_the_moment_before_each_write(pair: Pair) -> None:
    history = Rollback(pair.store)
    view = history.view(pair.here)
    await view.put("s/a", b"1", ttl=60)
    start = await view.open("s/l", ttl=60)
    end = await view.append("s/l", b"x", ttl=60, keep=9)
    await view.admit("s/p", "m", ttl=60, cap=1)
    await view.put("s/a", b"2", ttl=60)
    await view.commit(Plan("s/q", "m", 0, 60), expect={})
    await view.take("s/q", hold=60)
    assert history.moments == [
        "put(s/a)", "open(s/l)", "append(s/l)", "admit(s/p)", "put(s/a)", "commit(s/q)", "take(s/q)"
    ]  # fmt: skip

    await history.back(6)
    assert await pair.there.take("s/q", hold=60) == Taken(("m",), None)
    await history.back(5)
    assert await pair.there.take("s/q", hold=60) == Taken((), None)
    await history.back(4)
    assert await pair.there.get("s/a") == b"1"
    assert await pair.there.admit("s/p", "other", ttl=60, cap=1) > 0
    await history.back(3)
    assert await pair.there.open("s/l", ttl=60, create=False) == end
    assert await pair.there.admit("s/p", "other", ttl=60, cap=1) == 0
    await history.back(2)
    assert await pair.there.open("s/l", ttl=60, create=False) == start == Position(0, start.mark)
    await history.back(1)
    with pytest.raises(LogGone):
        await pair.there.open("s/l", ttl=60, create=False)
    await history.back(0)
    assert await pair.store.names() == []


async def test_a_rollback_keeps_the_lives_that_things_had(pair: Pair) -> None:
    await pair.here.put("s/a", b"x", ttl=10)
    state = await pair.store.save()
    await pair.here.delete("s/a")
    await pair.store.restore(state)
    await pair.store.age(9)
    assert await pair.there.get("s/a") == b"x"
    await pair.store.age(1)
    assert await pair.there.get("s/a") is None
