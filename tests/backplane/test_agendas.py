"""Agendas: what is due by the store's clock, handed to one of many, and back again if it is not heard of."""

import asyncio

import pytest

from mcpfleet.backplane.base import Plan, Taken, Unplan
from mcpfleet.backplane.faults import Doubtful, Fate
from mcpfleet.errors import InDoubt, NameRefused
from tests.backplane.conftest import Pair

QUEUE = "s/queue"


async def plan(pair: Pair, *members: str, within: float = 0.0, ttl: float = 600.0) -> None:
    assert await pair.here.commit(*(Plan(QUEUE, member, within, ttl) for member in members), expect={})


async def test_what_is_due_is_taken_the_earliest_first(pair: Pair) -> None:
    await plan(pair, "late", within=30)
    await plan(pair, "early", within=10)
    await plan(pair, "later", within=60)
    await pair.store.age(40)
    assert (await pair.there.take(QUEUE, hold=600, limit=1)).members == ("early",)
    assert (await pair.there.take(QUEUE, hold=600, limit=9)).members == ("late",)
    assert (await pair.there.take(QUEUE, hold=600, limit=9)).members == ()


async def test_nothing_is_due_before_its_time(pair: Pair) -> None:
    await plan(pair, "a", within=30)
    await pair.store.age(19)
    taken = await pair.here.take(QUEUE, hold=60)
    assert taken.members == ()
    assert taken.wait == pytest.approx(11, abs=2)


async def test_what_was_taken_is_due_again_after_the_hold_and_not_before(pair: Pair) -> None:
    await plan(pair, "a")
    assert (await pair.here.take(QUEUE, hold=30)).members == ("a",)
    taken = await pair.there.take(QUEUE, hold=30)
    assert taken.members == ()
    assert taken.wait == pytest.approx(30, abs=2)
    await pair.store.age(31)
    assert (await pair.there.take(QUEUE, hold=30)).members == ("a",)


async def test_twenty_takers_at_once_get_each_member_once(pair: Pair) -> None:
    await plan(pair, *(f"m{n}" for n in range(15)))
    views = [pair.here, pair.there]
    taken = await asyncio.gather(*(views[n % 2].take(QUEUE, hold=60) for n in range(20)))
    assert sorted(member for each in taken for member in each.members) == sorted(f"m{n}" for n in range(15))


async def test_a_new_plan_takes_the_place_of_the_old(pair: Pair) -> None:
    await plan(pair, "a", within=60)
    await plan(pair, "a")
    assert await pair.there.take(QUEUE, hold=60) == Taken(("a",), None)
    await plan(pair, "a")
    assert await pair.there.take(QUEUE, hold=60) == Taken(("a",), None)


async def test_what_is_taken_off_is_never_due(pair: Pair) -> None:
    await plan(pair, "a", "b")
    assert await pair.there.commit(Unplan(QUEUE, "a"), Unplan(QUEUE, "unknown"), expect={})
    assert await pair.here.take(QUEUE, hold=60, limit=9) == Taken(("b",), None)
    assert await pair.there.commit(Unplan(QUEUE, "b"), expect={})
    assert await pair.here.take(QUEUE, hold=60, limit=9) == Taken((), None)
    assert await pair.store.names() == []


async def test_the_wait_is_until_the_next_member_that_was_not_taken(pair: Pair) -> None:
    await plan(pair, "a", "b")
    await plan(pair, "c", within=100)
    await pair.store.age(5)
    assert (await pair.here.take(QUEUE, hold=10)).wait == 0
    assert (await pair.here.take(QUEUE, hold=10)).wait == pytest.approx(10, abs=2)
    await pair.store.age(20)
    taken = await pair.here.take(QUEUE, hold=600, limit=2)
    assert taken.members == ("a", "b")
    assert taken.wait == pytest.approx(75, abs=2)


async def test_what_was_taken_is_no_reason_to_wake_although_it_is_due_again_first(pair: Pair) -> None:
    await plan(pair, "a", "b")
    await plan(pair, "c", within=100)
    taken = await pair.here.take(QUEUE, hold=10, limit=2)
    assert taken.wait == pytest.approx(100, abs=2)


async def test_a_lost_reply_costs_the_hold_and_loses_nothing(pair: Pair) -> None:
    await plan(pair, "a")
    with pytest.raises(InDoubt):
        await Doubtful([Fate.UNANSWERED]).view(pair.here).take(QUEUE, hold=30)
    assert (await pair.there.take(QUEUE, hold=30)).members == ()
    await pair.store.age(31)
    assert (await pair.there.take(QUEUE, hold=30)).members == ("a",)


async def test_an_agenda_lives_as_long_as_the_longest_plan_said(pair: Pair) -> None:
    await plan(pair, "long", ttl=60)
    await plan(pair, "short", ttl=10)
    await pair.store.age(50)
    assert len((await pair.there.take(QUEUE, hold=1, limit=9)).members) == 2
    await pair.store.age(11)
    assert await pair.there.take(QUEUE, hold=1, limit=9) == Taken((), None)
    assert await pair.store.names() == []


async def test_to_take_from_what_is_not_there_creates_nothing(pair: Pair) -> None:
    assert await pair.here.take(QUEUE, hold=1) == Taken((), None)
    assert await pair.store.names() == []


@pytest.mark.parametrize(("hold", "limit"), [(0, 1), (-1, 1), (float("nan"), 1), (1, 0)])
async def test_a_hold_or_limit_that_makes_no_sense_is_refused(pair: Pair, hold: float, limit: int) -> None:
    await plan(pair, "a")
    with pytest.raises(ValueError, match=r"life|limit"):
        await pair.here.take(QUEUE, hold=hold, limit=limit)
    assert (await pair.here.take(QUEUE, hold=1)).members == ("a",)


async def test_a_name_that_breaks_the_rules_is_refused(pair: Pair) -> None:
    with pytest.raises(NameRefused):
        await pair.here.take("queue", hold=1)
