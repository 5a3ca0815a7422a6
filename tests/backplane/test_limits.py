import asyncio
import itertools

import pytest

from mcpfleet.backplane.faults import Doubtful, Fate
from mcpfleet.backplane.limits import MAX_CALLERS, Quota, Seats
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.errors import Unavailable
from tests.backplane.conftest import Pair
from tests.clock import Clock

POOL = "sessions/live"


class Fleet:
    """Some processes with one quota over the two views of a store, or cut off from it."""

    def __init__(self, pair: Pair, *, limit: int, processes: int, away: bool = False) -> None:
        self.clock = Clock()
        views = itertools.islice(itertools.cycle((pair.here, pair.there)), processes)
        fate = Fate.UNSENT if away else Fate.DONE
        self.quotas = [
            Quota(
                Doubtful(itertools.repeat(fate)).view(view),
                "calls",
                limit=limit,
                window=60,
                processes=lambda: processes,
                clock=self.clock,
            )
            for view in views
        ]

    async def spend(self, times: int, caller: str = "alice") -> int:
        """How many of so many events on each process were allowed."""
        waits = await asyncio.gather(*(quota.spend(caller) for quota in self.quotas for _ in range(times)))
        return waits.count(0.0)


async def test_seats_are_given_up_to_the_cap_and_again_when_one_is_free(pair: Pair) -> None:
    seats = Seats(pair.here, POOL, cap=2)
    assert await seats.take("a", ttl=30) == 0
    await pair.store.age(10)
    assert await seats.take("b", ttl=30) == 0
    assert await seats.take("c", ttl=30) == pytest.approx(20, abs=1)
    await seats.leave("b")
    assert await Seats(pair.there, POOL, cap=2).take("c", ttl=30) == 0


async def test_a_seat_that_is_taken_again_is_kept_and_counted_once(pair: Pair) -> None:
    seats = Seats(pair.here, POOL, cap=1)
    for _ in range(10):
        assert await seats.take("a", ttl=30) == 0
        await pair.store.age(20)
    assert await seats.take("b", ttl=30) > 0
    await pair.store.age(10)
    assert await seats.take("b", ttl=30) == 0


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE])
async def test_doubt_costs_no_second_seat_and_loses_none(pair: Pair, fate: Fate) -> None:
    doubtful = Doubtful([fate])
    seats = Seats(doubtful.view(pair.here), POOL, cap=2)
    assert await seats.take("a", ttl=30) == 0
    await doubtful.deliver()
    assert await seats.take("b", ttl=30) == 0
    assert await seats.take("c", ttl=30) > 0


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED])
async def test_a_seat_is_given_back_although_a_reply_was_lost(pair: Pair, fate: Fate) -> None:
    seats = Seats(Doubtful([Fate.DONE, fate]).view(pair.here), POOL, cap=1)
    await seats.take("a", ttl=30)
    await seats.leave("a")
    assert await seats.take("b", ttl=30) == 0


async def test_a_seat_cannot_be_had_while_the_store_is_away(pair: Pair) -> None:
    with pytest.raises(Unavailable):
        await Seats(Doubtful([Fate.UNSENT]).view(pair.here), POOL, cap=2).take("a", ttl=30)


async def test_a_quota_is_exact_over_all_processes(pair: Pair) -> None:
    assert await Fleet(pair, limit=100, processes=4).spend(50) == 100


async def test_a_quota_is_counted_for_each_caller_whatever_the_name(pair: Pair) -> None:
    fleet = Fleet(pair, limit=3, processes=1)
    for caller in ("alice", "bob", "no name/for a {key}\n", ""):
        assert await fleet.spend(5, caller) == 3


async def test_a_quota_says_when_to_come_back_and_is_right(pair: Pair) -> None:
    quota = Quota(pair.here, "calls", limit=2, window=60, processes=lambda: 1)
    await quota.spend("alice")
    await pair.store.age(45)
    await quota.spend("alice")
    wait = await quota.spend("alice")
    assert wait == pytest.approx(15, abs=1)
    await pair.store.age(wait + 0.01)
    assert await quota.spend("alice") == 0
    assert await quota.spend("alice") == pytest.approx(45, abs=1)


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED])
async def test_an_event_whose_reply_was_lost_is_counted_once(pair: Pair, fate: Fate) -> None:
    shaky = Doubtful([fate, Fate.DONE] * 10).view(pair.here)
    quota = Quota(shaky, "calls", limit=10, window=60, processes=lambda: 1)
    for _ in range(10):
        assert await quota.spend("alice") == 0
    assert await quota.spend("alice") > 0


async def test_while_the_store_is_away_the_fleet_as_a_whole_keeps_to_the_limit(pair: Pair) -> None:
    fleet = Fleet(pair, limit=10, processes=4, away=True)
    assert await fleet.spend(10) == 8  # two each: a share is rounded down
    fleet.clock.pass_by(30)
    assert await fleet.spend(10) == 0
    fleet.clock.pass_by(30)
    assert await fleet.spend(10) == 8


async def test_a_share_of_less_than_one_event_is_one_event_in_a_longer_window(pair: Pair) -> None:
    fleet = Fleet(pair, limit=1, processes=4, away=True)
    assert await fleet.quotas[0].spend("alice") == 0
    assert await fleet.quotas[0].spend("alice") == pytest.approx(240)
    fleet.clock.pass_by(239)
    assert await fleet.quotas[0].spend("alice") == pytest.approx(1)
    fleet.clock.pass_by(1)
    assert await fleet.quotas[0].spend("alice") == 0


@pytest.mark.parametrize("away", [False, True])
async def test_a_limit_of_nothing_allows_nothing(pair: Pair, *, away: bool) -> None:
    assert await Fleet(pair, limit=0, processes=2, away=away).spend(3) == 0


async def test_no_number_of_callers_makes_a_process_remember_more_than_its_bound() -> None:
    clock = Clock()
    away = Doubtful(itertools.repeat(Fate.UNSENT)).view(MemoryBackplane())
    quota = Quota(away, "calls", limit=5, window=60, processes=lambda: 1, clock=clock)
    for n in range(MAX_CALLERS):
        assert await quota.spend(f"caller {n}") == 0
    assert await quota.spend("one more") > 0
    assert await quota.spend("caller 7") == 0
    clock.pass_by(60)
    assert await quota.spend("one more") == 0
