import asyncio

import pytest

from mcpfleet.backplane.faults import Doubtful, Fate
from mcpfleet.errors import InDoubt, NameRefused
from tests.backplane.conftest import Pair

POOL = "sessions/live"


async def test_a_pool_has_as_many_places_as_its_cap(pair: Pair) -> None:
    assert await pair.here.admit(POOL, "a", ttl=60, cap=2) == 0
    assert await pair.there.admit(POOL, "b", ttl=60, cap=2) == 0
    assert await pair.here.admit(POOL, "c", ttl=60, cap=2) > 0


async def test_fifty_racing_members_fill_exactly_the_cap(pair: Pair) -> None:
    views = [pair.here, pair.there]
    asked = [views[n % 2].admit(POOL, f"m{n}", ttl=60, cap=20) for n in range(50)]
    assert sum(wait == 0 for wait in await asyncio.gather(*asked)) == 20


async def test_the_same_member_again_is_renewed_and_not_counted_twice(pair: Pair) -> None:
    for _ in range(3):
        assert await pair.here.admit(POOL, "a", ttl=60, cap=2) == 0
    assert await pair.there.admit(POOL, "b", ttl=10, cap=2) == 0
    await pair.store.age(9)
    assert await pair.there.admit(POOL, "b", ttl=60, cap=2) == 0
    await pair.store.age(9)
    assert await pair.here.admit(POOL, "c", ttl=60, cap=2) > 0


async def test_a_member_that_is_in_stays_in_under_a_lower_cap(pair: Pair) -> None:
    assert await pair.here.admit(POOL, "a", ttl=60, cap=2) == 0
    assert await pair.here.admit(POOL, "b", ttl=60, cap=2) == 0
    assert await pair.there.admit(POOL, "a", ttl=60, cap=1) == 0
    assert await pair.there.admit(POOL, "c", ttl=60, cap=1) > 0


async def test_the_place_of_one_who_died_is_free_after_its_ttl(pair: Pair) -> None:
    assert await pair.here.admit(POOL, "a", ttl=10, cap=1) == 0
    await pair.store.age(9)
    wait = await pair.there.admit(POOL, "b", ttl=60, cap=1)
    assert 0 < wait <= 1
    await pair.store.age(wait)
    assert await pair.there.admit(POOL, "b", ttl=60, cap=1) == 0


async def test_an_expired_place_is_free_while_others_are_held(pair: Pair) -> None:
    assert await pair.here.admit(POOL, "long", ttl=60, cap=2) == 0
    assert await pair.here.admit(POOL, "short", ttl=10, cap=2) == 0
    await pair.store.age(10)
    assert await pair.there.admit(POOL, "b", ttl=60, cap=2) == 0
    assert await pair.there.admit(POOL, "c", ttl=60, cap=2) > 0


async def test_the_wait_is_until_the_first_place_may_be_free(pair: Pair) -> None:
    assert await pair.here.admit(POOL, "long", ttl=60, cap=2) == 0
    assert await pair.here.admit(POOL, "short", ttl=20, cap=2) == 0
    assert 19 < await pair.there.admit(POOL, "b", ttl=60, cap=2) <= 20


async def test_a_place_given_back_is_free_at_once(pair: Pair) -> None:
    assert await pair.here.admit(POOL, "a", ttl=60, cap=1) == 0
    assert await pair.here.admit(POOL, "a", ttl=0, cap=1) == 0
    assert await pair.there.admit(POOL, "b", ttl=60, cap=1) == 0


async def test_giving_back_what_one_does_not_have_is_harmless_and_creates_nothing(pair: Pair) -> None:
    assert await pair.here.admit(POOL, "a", ttl=0, cap=1) == 0
    assert await pair.store.names() == []


async def test_a_pool_of_no_places_admits_nobody_and_names_a_wait(pair: Pair) -> None:
    assert await pair.here.admit(POOL, "a", ttl=60, cap=0) == 60
    assert await pair.store.names() == []


async def test_a_pool_ends_with_its_last_member(pair: Pair) -> None:
    await pair.here.admit(POOL, "long", ttl=60, cap=9)
    await pair.here.admit(POOL, "short", ttl=10, cap=9)
    await pair.store.age(59)
    assert len(await pair.store.names()) == 1
    await pair.store.age(1)
    assert await pair.store.names() == []


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE])
async def test_admission_repeated_after_doubt_takes_one_place(pair: Pair, fate: Fate) -> None:
    doubtful = Doubtful([fate])
    view = doubtful.view(pair.here)
    with pytest.raises(InDoubt):
        await view.admit(POOL, "a", ttl=60, cap=2)
    assert await view.admit(POOL, "a", ttl=60, cap=2) == 0
    await doubtful.deliver()
    assert await pair.there.admit(POOL, "b", ttl=60, cap=2) == 0
    assert await pair.there.admit(POOL, "c", ttl=60, cap=2) > 0


@pytest.mark.parametrize("member", ["", "m" * 513, "a\nb", "\ud800"])
async def test_a_member_without_a_proper_name_is_refused(pair: Pair, member: str) -> None:
    with pytest.raises(NameRefused):
        await pair.here.admit(POOL, member, ttl=60, cap=1)
    assert await pair.store.names() == []
