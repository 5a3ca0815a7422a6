import asyncio

import pytest

from mcpfleet.backplane.base import Backplane
from mcpfleet.backplane.faults import Doubtful, Fate, shuffles
from mcpfleet.backplane.leases import BURST, Keeper, Lease
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.errors import InDoubt, LogGone, Unavailable
from tests.backplane.conftest import Pair
from tests.clock import Clock
from tests.redis_server import SharedRedis

KEY = "calls/one/alive"


class Fleet:
    """Two processes' keepers over one store, in which time passes when the test says so."""

    def __init__(self, pair: Pair) -> None:
        self.clock = Clock()
        self.store = pair.store
        self.mine, self.other = (Keeper(view, clock=self.clock) for view in (pair.here, pair.there))

    async def sleep(self, seconds: float) -> None:
        """Let time pass in which nobody does anything."""
        await self.store.age(seconds)
        self.clock.pass_by(seconds)

    async def pass_by(self, seconds: float, *awake: Keeper) -> None:
        """Let time pass; the keepers that are awake make their rounds."""
        until = self.clock() + seconds
        while self.clock() < until:
            for keeper in awake:
                await keeper.round()
            await self.sleep(min(2.5, until - self.clock()))
        for keeper in awake:
            await keeper.round()


@pytest.fixture
async def fleet(pair: Pair) -> Fleet:
    return Fleet(pair)


async def test_a_lease_is_held_by_one(fleet: Fleet) -> None:
    assert await fleet.mine.hold(KEY)
    assert await fleet.other.hold(KEY) is None


async def test_a_released_lease_is_free_at_once(fleet: Fleet) -> None:
    lease = await fleet.mine.hold(KEY)
    assert lease
    await lease.release()
    assert await fleet.other.hold(KEY)


async def test_the_release_of_a_lease_that_another_took_leaves_it_to_the_other(fleet: Fleet) -> None:
    lease = await fleet.mine.hold(KEY)
    assert lease
    await fleet.pass_by(8)
    assert await fleet.other.hold(KEY)
    await lease.release()
    assert await fleet.mine.hold(KEY) is None


async def test_a_lease_lasts_while_its_keeper_makes_its_rounds(fleet: Fleet) -> None:
    await fleet.mine.hold(KEY)
    await fleet.pass_by(60, fleet.mine)
    assert await fleet.other.hold(KEY) is None


async def test_a_lease_outlives_its_process_by_the_lease_time_at_most(fleet: Fleet) -> None:
    await fleet.mine.hold(KEY)
    await fleet.pass_by(60, fleet.mine)
    await fleet.sleep(7.0)
    assert await fleet.other.hold(KEY) is None
    await fleet.sleep(0.6)
    assert await fleet.other.hold(KEY)


async def test_a_dropped_lease_runs_out(fleet: Fleet) -> None:
    lease = await fleet.mine.hold(KEY)
    assert lease
    lease.drop()
    await fleet.pass_by(8, fleet.mine)
    assert await fleet.other.hold(KEY)


async def test_a_lease_that_vanished_is_re_taken_in_the_next_round_and_its_holder_is_told(fleet: Fleet) -> None:
    lapses: list[str] = []
    lease = await fleet.mine.hold(KEY)
    assert lease
    lease.on_lapse = lambda: lapses.append("lapsed")
    await fleet.pass_by(5, fleet.mine)
    assert lapses == []
    await fleet.mine.backplane.delete(KEY)
    await fleet.mine.round()
    assert lapses == ["lapsed"]
    assert not lease.lost.is_set()
    assert await fleet.other.hold(KEY) is None


async def test_a_lease_that_another_took_is_lost_and_renewed_no_more(fleet: Fleet) -> None:
    lapses: list[str] = []
    lease = await fleet.mine.hold(KEY)
    assert lease
    lease.on_lapse = lambda: lapses.append("lapsed")
    await fleet.sleep(8)
    taken = await fleet.other.hold(KEY)
    assert taken
    await fleet.mine.round()
    assert lease.lost.is_set()
    assert lapses == ["lapsed"]
    await taken.release()
    await fleet.mine.round()
    assert await fleet.other.hold(KEY)


async def test_a_block_that_ends_releases_its_lease(fleet: Fleet) -> None:
    lease = await fleet.mine.hold(KEY)
    assert lease
    async with lease:
        assert await fleet.other.hold(KEY) is None
    assert await fleet.other.hold(KEY)


async def test_the_holder_of_a_lease_is_not_dead(fleet: Fleet) -> None:
    await fleet.mine.hold(KEY)
    await fleet.pass_by(30, fleet.mine, fleet.other)
    assert not await fleet.other.dead(KEY)
    assert not await fleet.mine.dead(KEY)


async def test_a_holder_is_dead_once_its_lease_is_gone(fleet: Fleet) -> None:
    await fleet.mine.hold(KEY)
    await fleet.pass_by(30, fleet.mine, fleet.other)
    await fleet.pass_by(7.0, fleet.other)
    assert not await fleet.other.dead(KEY)
    await fleet.pass_by(0.6, fleet.other)
    assert await fleet.other.dead(KEY)


async def test_nobody_is_dead_for_a_process_that_has_just_begun(fleet: Fleet) -> None:
    await fleet.other.round()
    assert not await fleet.other.dead(KEY)
    await fleet.pass_by(7.0, fleet.other)
    assert not await fleet.other.dead(KEY)
    await fleet.pass_by(0.6, fleet.other)
    assert await fleet.other.dead(KEY)


async def test_nobody_is_dead_for_a_process_that_has_just_woken(fleet: Fleet) -> None:
    await fleet.pass_by(30, fleet.other)
    await fleet.sleep(600)
    assert not await fleet.other.dead(KEY)
    await fleet.pass_by(5, fleet.other)
    assert not await fleet.other.dead(KEY)
    await fleet.pass_by(5, fleet.other)
    assert await fleet.other.dead(KEY)


@pytest.mark.parametrize("noticed", ["by a look", "by a round"])
async def test_nobody_is_dead_because_the_clock_of_the_store_was_set_forward(fleet: Fleet, noticed: str) -> None:
    assert await fleet.mine.hold(KEY)
    await fleet.pass_by(20, fleet.mine, fleet.other)
    await fleet.store.age(60)
    if noticed == "by a round":
        await fleet.other.round()
    assert not await fleet.other.dead(KEY)
    await fleet.pass_by(20, fleet.mine, fleet.other)
    assert not await fleet.other.dead(KEY)
    await fleet.pass_by(10, fleet.other)
    assert await fleet.other.dead(KEY)


async def test_a_touch_is_renewed_when_it_is_due_and_not_before(fleet: Fleet) -> None:
    renewed: list[float] = []

    async def renew() -> bool:
        renewed.append(fleet.clock())
        return True

    began = fleet.clock()
    with fleet.mine.touching(renew, every=20, on_gone=pytest.fail):
        await fleet.pass_by(80, fleet.mine)
    assert [round(at - began) for at in renewed] == [20, 40, 60, 80]
    await fleet.pass_by(80, fleet.mine)
    assert len(renewed) == 4


@pytest.mark.parametrize("ending", ["false", "log gone"])
async def test_what_is_gone_is_reported_once_and_touched_no_more(fleet: Fleet, ending: str) -> None:
    calls: list[str] = []

    async def renew() -> bool:
        calls.append("renew")
        if ending == "log gone":
            raise LogGone("s/log")
        return False

    with fleet.mine.touching(renew, every=5, on_gone=lambda: calls.append("gone")):
        await fleet.pass_by(30, fleet.mine)
    assert calls == ["renew", "gone"]


async def test_a_touch_that_fails_is_tried_again_in_the_next_round_and_breaks_contact(fleet: Fleet) -> None:
    tried: list[float] = []

    async def renew() -> bool:
        tried.append(fleet.clock())
        if len(tried) == 1:
            raise Unavailable
        return True

    with fleet.mine.touching(renew, every=10, on_gone=pytest.fail):
        await fleet.pass_by(10, fleet.mine)
        assert not fleet.mine.contact.unbroken_for(0)
        await fleet.pass_by(2.5, fleet.mine)
    assert len(tried) == 2
    assert fleet.mine.contact.unbroken_for(0)


async def test_ones_own_lease_is_not_dead_even_if_the_store_has_lost_it(fleet: Fleet) -> None:
    await fleet.mine.hold(KEY)
    await fleet.pass_by(30, fleet.mine)
    await fleet.mine.backplane.delete(KEY)
    assert not await fleet.mine.dead(KEY)


@pytest.mark.parametrize("vanished", [False, True])
async def test_a_released_lease_is_gone_whatever_its_keeper_was_doing(pair: Pair, *, vanished: bool) -> None:
    for steps in shuffles(5, 100):
        view = steps.view(pair.here)
        keeper = Keeper(view)
        (lease,) = await steps.run(keeper.hold(KEY))
        if vanished:
            await pair.there.delete(KEY)
        await steps.run(keeper.round(), _release_some_time(lease, view))
        assert await pair.there.get(KEY) is None, steps


async def _release_some_time(lease: Lease, view: Backplane) -> None:
    await view.get("any/cell")  # a step that may come at any time
    await lease.release()


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE])
async def test_a_lease_whose_first_attempt_is_in_doubt_is_held_for_certain(pair: Pair, fate: Fate) -> None:
    doubtful = Doubtful([fate])
    lease = await Keeper(doubtful.view(pair.here)).hold(KEY)
    assert lease
    await doubtful.deliver()
    assert await pair.there.get(KEY) == lease.token


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE])
async def test_an_attempt_in_doubt_takes_nothing_from_another_holder(pair: Pair, fate: Fate) -> None:
    held = await Keeper(pair.there).hold(KEY)
    assert held
    doubtful = Doubtful([fate])
    assert await Keeper(doubtful.view(pair.here)).hold(KEY) is None
    await doubtful.deliver()
    assert await pair.there.get(KEY) == held.token


async def test_an_attempt_that_stays_in_doubt_is_an_error_and_renews_nothing(pair: Pair) -> None:
    keeper = Keeper(Doubtful([Fate.DONE, Fate.UNANSWERED, Fate.LOST]).view(pair.here))
    await keeper.round()
    assert keeper.contact.unbroken_for(0)
    with pytest.raises(InDoubt):
        await keeper.hold(KEY)
    assert not keeper.contact.unbroken_for(0)
    await pair.store.age(8)
    await keeper.round()
    assert await pair.there.get(KEY) is None


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED])
async def test_a_release_in_doubt_is_sent_again(pair: Pair, fate: Fate) -> None:
    lease = await Keeper(Doubtful([Fate.DONE, fate]).view(pair.here)).hold(KEY)
    assert lease
    await lease.release()
    assert await pair.there.get(KEY) is None


async def test_a_release_while_the_store_is_away_is_no_error_and_the_lease_runs_out(pair: Pair) -> None:
    keeper = Keeper(Doubtful([Fate.DONE, Fate.UNSENT]).view(pair.here))
    lease = await keeper.hold(KEY)
    assert lease
    await lease.release()
    await pair.store.age(8)
    await keeper.round()
    assert await pair.there.get(KEY) is None


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.UNSENT])
async def test_a_renewal_that_fails_breaks_contact_and_loses_nothing(pair: Pair, fate: Fate) -> None:
    keeper = Keeper(Doubtful([Fate.DONE, Fate.DONE, fate]).view(pair.here))
    lease = await keeper.hold(KEY)
    assert lease
    await keeper.round()
    assert not keeper.contact.unbroken_for(0)
    await keeper.round()
    assert keeper.contact.unbroken_for(0)
    assert not lease.lost.is_set()
    assert await pair.there.get(KEY) == lease.token


async def test_after_an_outage_that_ended_it_a_lease_is_re_taken_before_anybody_may_call_its_holder_dead(
    fleet: Fleet,
) -> None:
    lease = await fleet.mine.hold(KEY)
    assert lease
    await fleet.pass_by(30, fleet.mine, fleet.other)
    await fleet.sleep(20)  # the store does not answer, and neither process can make its rounds
    fleet.mine.contact.lost()
    fleet.other.contact.lost()
    await fleet.other.round()
    assert not await fleet.other.dead(KEY)
    await fleet.pass_by(2.5, fleet.other)
    assert not await fleet.other.dead(KEY)
    await fleet.pass_by(30, fleet.mine, fleet.other)
    assert not await fleet.other.dead(KEY)
    assert not lease.lost.is_set()


async def test_a_look_that_fails_makes_nobody_dead_and_breaks_contact(pair: Pair) -> None:
    clock = Clock()
    fates = [Fate.DONE] * 8 + [Fate.UNSENT]
    keeper = Keeper(Doubtful(fates).view(pair.here), clock=clock)
    for _ in range(8):
        clock.pass_by(2.5)
        await keeper.round()
    assert not await keeper.dead(KEY)
    assert not keeper.contact.unbroken_for(0)


async def test_more_leases_than_commands_that_may_be_under_way_are_renewed_in_one_round(
    redis_server: SharedRedis, namespace: str
) -> None:
    number = 2 * BURST
    async with RedisBackplane.at(redis_server.url, namespace=namespace, max_commands=BURST + 1) as view:
        keeper = Keeper(view, lease=60)
        for n in range(number):
            assert await keeper.hold(f"calls/{n}/alive")
        await keeper.round()
        assert keeper.contact.unbroken_for(0)


async def test_a_running_keeper_renews_by_itself() -> None:
    store = MemoryStore()
    keeper = Keeper(MemoryBackplane(store), lease=0.06)
    renewed = asyncio.Event()

    async def renew() -> bool:
        renewed.set()
        return True

    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(keeper.run())
        with keeper.touching(renew, every=0.1, on_gone=pytest.fail):
            await renewed.wait()
        running.cancel()


async def test_what_is_due_more_often_than_a_lease_is_renewed_as_often_from_now_on() -> None:
    """Whatever the lease time is: what is touched may live for a shorter time than a round takes to come."""
    keeper = Keeper(MemoryBackplane(MemoryStore()), lease=3600)
    renewals = asyncio.Semaphore(0)

    async def renew() -> bool:
        renewals.release()
        return True

    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(keeper.run())
        for _ in range(100):
            await asyncio.sleep(0)
        assert keeper.contact.unbroken_for(0), "the first round is over, and the next far off"
        for _ in range(2):
            with keeper.touching(renew, every=0.02, on_gone=pytest.fail):
                for _ in range(3):
                    await renewals.acquire()
        running.cancel()
