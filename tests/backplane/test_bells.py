import asyncio

from mcpfleet.backplane.base import Bell
from tests.backplane.conftest import Pair, all_rung, rang

LOG = "s/l"


async def heard(bell: Bell) -> None:
    """Wait for the bell, at most five seconds."""
    async with asyncio.timeout(5):
        await bell.rung()


async def test_an_append_here_rings_a_bell_there(pair: Pair) -> None:
    await pair.here.open(LOG, ttl=60)
    async with pair.there.watch(LOG, poll=60) as bell:
        await all_rung(pair.there)
        await rang(bell)
        await pair.here.append(LOG, b"x", ttl=60, keep=9)
        await heard(bell)


async def test_a_ring_before_anybody_waits_is_kept(pair: Pair) -> None:
    await pair.here.open(LOG, ttl=60)
    async with pair.there.watch(LOG, poll=60) as bell:
        await all_rung(pair.there)
        await rang(bell)
        await pair.here.append(LOG, b"x", ttl=60, keep=9)
        await all_rung(pair.there)
        assert await rang(bell)
        assert not await rang(bell)


async def test_many_rings_are_one(pair: Pair) -> None:
    await pair.here.open(LOG, ttl=60)
    async with pair.there.watch(LOG, poll=60) as bell:
        for _ in range(20):
            await pair.here.append(LOG, b"x", ttl=60, keep=9)
        await all_rung(pair.there)
        assert await rang(bell)
        assert not await rang(bell)


async def test_every_bell_of_a_log_rings_in_both_processes(pair: Pair) -> None:
    await pair.here.open(LOG, ttl=60)
    async with (
        pair.here.watch(LOG, poll=60) as first,
        pair.here.watch(LOG, poll=60) as second,
        pair.there.watch(LOG, poll=60) as third,
    ):
        await all_rung(pair.here)
        await all_rung(pair.there)
        for bell in (first, second, third):
            await rang(bell)
        await pair.here.append(LOG, b"x", ttl=60, keep=9)
        for bell in (first, second, third):
            await heard(bell)


async def test_a_bell_of_another_log_is_silent(pair: Pair) -> None:
    await pair.here.open(LOG, ttl=60)
    async with pair.there.watch("s/other", poll=60) as bell:
        await all_rung(pair.there)
        await rang(bell)
        await pair.here.append(LOG, b"x", ttl=60, keep=9)
        await all_rung(pair.there)
        assert not await rang(bell)


async def test_deleting_a_log_rings_and_deleting_a_cell_does_not(pair: Pair) -> None:
    await pair.here.open(LOG, ttl=60)
    await pair.here.put("s/cell", b"x", ttl=60)
    async with pair.there.watch(LOG, poll=60) as log, pair.there.watch("s/cell", poll=60) as cell:
        await all_rung(pair.there)
        for bell in (log, cell):
            await rang(bell)
        await pair.here.delete("s/cell")
        await pair.here.delete(LOG)
        await all_rung(pair.there)
        assert await rang(log)
        assert not await rang(cell)


async def test_a_bell_rings_by_itself_after_poll_seconds(pair: Pair) -> None:
    async with pair.here.watch(LOG, poll=60) as slow, pair.here.watch(LOG, poll=0.01) as bell:
        await all_rung(pair.here)
        await rang(slow)
        await heard(bell)
        await heard(bell)
        assert not await rang(slow)


async def test_a_log_may_be_watched_before_it_is_opened(pair: Pair) -> None:
    async with pair.there.watch(LOG, poll=60) as bell:
        await all_rung(pair.there)
        await rang(bell)
        await pair.here.open(LOG, ttl=60)
        await pair.here.append(LOG, b"x", ttl=60, keep=9)
        await heard(bell)


async def test_watching_again_at_once_misses_nothing(pair: Pair) -> None:
    await pair.here.open(LOG, ttl=60)
    for _ in range(100):
        async with pair.there.watch(LOG, poll=60):
            pass
        async with pair.there.watch(LOG, poll=60) as bell:
            await pair.here.append(LOG, b"x", ttl=60, keep=9)
            await heard(bell)


async def test_the_store_returned_to_an_earlier_state_rings_every_bell(pair: Pair) -> None:
    await pair.here.open(LOG, ttl=60)
    state = await pair.store.save()
    async with pair.here.watch(LOG, poll=60) as here, pair.there.watch(LOG, poll=60) as there:
        for view, bell in ((pair.here, here), (pair.there, there)):
            await all_rung(view)
            await rang(bell)
        await pair.store.restore(state)
        await heard(here)
        await heard(there)
