import asyncio

import pytest

from mcpfleet.backplane.limits import MAX_CALLERS, Quota, Seats
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.errors import InDoubt, Unavailable
from tests.clock import Clock


class Shaky(MemoryBackplane):
    """A view of a store that can be away, or lose one reply of a command that was carried out."""

    away = False
    replies_to_lose = 0

    async def admit(self, pool: str, member: str, *, ttl: float, cap: int) -> float:
        if self.away:
            raise Unavailable
        wait = await super().admit(pool, member, ttl=ttl, cap=cap)
        if self.replies_to_lose:
            self.replies_to_lose -= 1
            raise InDoubt
        return wait


class Fleet:
    """Some processes with one quota, on one clock."""

    def __init__(self, *, limit: int, processes: int) -> None:
        self.clock = Clock()
        self.store = MemoryStore(self.clock)
        self.views = [Shaky(self.store) for _ in range(processes)]
        self.quotas = [
            Quota(view, "calls", limit=limit, window=60, processes=lambda: processes, clock=self.clock)
            for view in self.views
        ]

    async def spend(self, times: int, caller: str = "alice") -> int:
        """How many of so many events on each process were allowed."""
        waits = await asyncio.gather(*(quota.spend(caller) for quota in self.quotas for _ in range(times)))
        return waits.count(0.0)

    def cut_off(self) -> None:
        """Take the store away from all."""
        for view in self.views:
            view.away = True


async def test_seats_are_given_up_to_the_cap_and_again_when_one_is_free() -> None:
    clock = Clock()
    seats = Seats(MemoryBackplane(MemoryStore(clock)), "sessions/live", cap=2)
    assert await seats.take("a", ttl=30) == 0
    clock.pass_by(10)
    assert await seats.take("b", ttl=30) == 0
    assert await seats.take("c", ttl=30) == pytest.approx(20)
    await seats.leave("b")
    assert await seats.take("c", ttl=30) == 0


async def test_a_seat_that_is_taken_again_is_kept_and_counted_once() -> None:
    clock = Clock()
    seats = Seats(MemoryBackplane(MemoryStore(clock)), "sessions/live", cap=1)
    for _ in range(10):
        assert await seats.take("a", ttl=30) == 0
        clock.pass_by(20)
    assert await seats.take("b", ttl=30) > 0
    clock.pass_by(10)
    assert await seats.take("b", ttl=30) == 0


async def test_a_lost_reply_costs_no_second_seat() -> None:
    view = Shaky(MemoryStore())
    seats = Seats(view, "sessions/live", cap=2)
    view.replies_to_lose = 1
    assert await seats.take("a", ttl=30) == 0
    assert await seats.take("b", ttl=30) == 0


async def test_a_quota_is_exact_over_all_processes() -> None:
    fleet = Fleet(limit=100, processes=4)
    assert await fleet.spend(50) == 100


async def test_a_quota_is_counted_for_each_caller_whatever_the_name() -> None:
    fleet = Fleet(limit=3, processes=1)
    for caller in ("alice", "bob", "no name/for a {key}\n", ""):
        assert await fleet.spend(5, caller) == 3


async def test_a_quota_says_when_to_come_back_and_is_right() -> None:
    fleet = Fleet(limit=2, processes=1)
    await fleet.quotas[0].spend("alice")
    fleet.clock.pass_by(45)
    await fleet.quotas[0].spend("alice")
    wait = await fleet.quotas[0].spend("alice")
    assert wait == pytest.approx(15)
    fleet.clock.pass_by(wait)
    assert await fleet.quotas[0].spend("alice") == 0
    assert await fleet.quotas[0].spend("alice") == pytest.approx(45)


async def test_an_event_whose_reply_was_lost_is_counted_once() -> None:
    fleet = Fleet(limit=10, processes=1)
    for _ in range(10):
        fleet.views[0].replies_to_lose = 1
        assert await fleet.quotas[0].spend("alice") == 0
    assert await fleet.quotas[0].spend("alice") > 0


async def test_while_the_store_is_away_the_fleet_as_a_whole_keeps_to_the_limit() -> None:
    fleet = Fleet(limit=10, processes=4)
    fleet.cut_off()
    assert await fleet.spend(10) == 8  # two each: a share is rounded down
    fleet.clock.pass_by(30)
    assert await fleet.spend(10) == 0
    fleet.clock.pass_by(30)
    assert await fleet.spend(10) == 8


async def test_a_share_of_less_than_one_event_is_one_event_in_a_longer_window() -> None:
    fleet = Fleet(limit=1, processes=4)
    fleet.cut_off()
    assert await fleet.quotas[0].spend("alice") == 0
    assert await fleet.quotas[0].spend("alice") == pytest.approx(240)
    fleet.clock.pass_by(239)
    assert await fleet.quotas[0].spend("alice") == pytest.approx(1)
    fleet.clock.pass_by(1)
    assert await fleet.quotas[0].spend("alice") == 0


async def test_a_limit_of_nothing_allows_nothing() -> None:
    fleet = Fleet(limit=0, processes=2)
    assert await fleet.spend(3) == 0
    fleet.cut_off()
    assert await fleet.spend(3) == 0


async def test_no_number_of_callers_makes_a_process_remember_more_than_its_bound() -> None:
    fleet = Fleet(limit=5, processes=1)
    fleet.cut_off()
    quota = fleet.quotas[0]
    for n in range(MAX_CALLERS):
        assert await quota.spend(f"caller {n}") == 0
    assert await quota.spend("one more") > 0
    assert await quota.spend("caller 7") == 0
    fleet.clock.pass_by(60)
    assert await quota.spend("one more") == 0


async def test_a_seat_cannot_be_had_while_the_store_is_away() -> None:
    view = Shaky(MemoryStore())
    view.away = True
    with pytest.raises(Unavailable):
        await Seats(view, "sessions/live", cap=2).take("a", ttl=30)
