import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import pytest

from mcpfleet.backplane.background import background
from mcpfleet.backplane.base import Backplane, Bell
from mcpfleet.backplane.contact import Contact
from mcpfleet.backplane.intercepted import Intercepted, Verb
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.backplane.pulse import FLEET, Beat, Pulse
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.errors import Unavailable
from tests.backplane.conftest import Pair, all_rung
from tests.backplane.proxy import proxy
from tests.clock import Clock
from tests.redis_server import SharedRedis

SOON = 20.0

_Result = TypeVar("_Result")


class Deaf(Intercepted):
    """A view of a store whose bells can fall silent, and whose appends can fail."""

    def __init__(self, inner: Backplane) -> None:
        super().__init__(inner, self)
        self.inner = inner
        self.deaf = False
        self.away = False
        self.curable = True
        self.reconnects = 0

    def reconnect(self) -> None:
        self.reconnects += 1
        self.deaf = self.deaf and not self.curable

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        if self.away and verb == "append":
            raise Unavailable
        return await act()

    def bell(self, inner: Bell, /) -> Bell:
        return _Muffled(inner, self)


class _Muffled:
    def __init__(self, bell: Bell, view: Deaf) -> None:
        self._bell = bell
        self._view = view

    async def rung(self) -> None:
        await self._bell.rung()
        while self._view.deaf:
            await self._bell.rung()


class Process:
    """One process of a fleet: its view, its keeper and its pulse."""

    def __init__(self, view: Backplane, clock: Clock, name: str, fingerprint: str) -> None:
        self.view = Deaf(view)
        self.name = name
        self.fingerprint = fingerprint
        self.keeper = Keeper(self.view, clock=clock)
        self.came = 0
        self.gone: list[str] = []
        self.refuses = False
        self.pulse = Pulse(
            self.view,
            self.keeper.contact,
            self.beat,
            lease=7.5,
            on_come=self._count,
            on_gone=self._keep,
            clock=clock,
        )

    def beat(self) -> Beat:
        return Beat(self.name, "1.0", self.fingerprint, 0.5)

    @property
    def known(self) -> set[str]:
        """The names of the processes it believes alive."""
        return {beat.process for beat in self.pulse.members}

    def _count(self) -> None:
        self.came += 1

    async def _keep(self, mark: str) -> None:
        if self.refuses:
            raise Unavailable(mark)
        self.gone.append(mark)


class Fleet:
    """Processes over one store, on one clock that the test moves."""

    def __init__(self, pair: Pair) -> None:
        self.clock = Clock()
        self.a = Process(pair.here, self.clock, "a", "lists")
        self.b = Process(pair.there, self.clock, "b", "lists")
        self.c = Process(pair.there, self.clock, "c", "new lists")

    async def live(self, *alive: Process, rounds: int = 1) -> None:
        """Let so many periods pass, with a beat and two looks of the keeper in each, of those alive."""
        for _ in range(rounds):
            for process in alive:
                await process.keeper.round()
                await process.pulse.round()
                await all_rung(process.view.inner)
            self.clock.pass_by(2.5)
            for process in alive:
                await process.keeper.round()
            self.clock.pass_by(2.5)


@pytest.fixture
async def fleet(pair: Pair) -> AsyncIterator[Fleet]:
    fleet = Fleet(pair)
    async with background(*(process.pulse.listen() for process in (fleet.a, fleet.b, fleet.c))):
        yield fleet


async def test_every_process_knows_who_is_alive(fleet: Fleet) -> None:
    await fleet.live(fleet.a, fleet.b, fleet.c, rounds=2)
    assert fleet.a.known == fleet.b.known == fleet.c.known == {"a", "b", "c"}
    assert fleet.a.beat() in fleet.b.pulse.members


async def test_a_process_that_fell_silent_is_gone_after_a_lease_time_and_a_beat(fleet: Fleet) -> None:
    await fleet.live(fleet.a, fleet.b, rounds=4)
    await fleet.live(fleet.a, rounds=2)
    assert fleet.a.known == {"a", "b"}
    await fleet.live(fleet.a, rounds=2)
    assert fleet.a.known == {"a"}


async def test_a_process_that_leaves_is_gone_at_once_and_stays_so_while_it_drains(fleet: Fleet) -> None:
    await fleet.live(fleet.a, fleet.b, rounds=2)
    await fleet.b.pulse.leave()
    await fleet.live(fleet.a, fleet.b)
    assert fleet.a.known == {"a"}
    await fleet.live(fleet.a, fleet.b, rounds=3)
    assert fleet.a.known == {"a"}
    assert fleet.b.pulse.healthy


async def test_nobody_is_forgotten_in_an_outage_nor_right_after_it(fleet: Fleet) -> None:
    await fleet.live(fleet.b, fleet.a, rounds=4)  # in this order, so that A has read the last beat of B
    fleet.a.view.away = fleet.b.view.away = True
    await fleet.live(fleet.a, fleet.b, rounds=20)
    assert fleet.a.known == {"a", "b"}
    fleet.a.view.away = fleet.b.view.away = False
    await fleet.live(fleet.a)
    assert fleet.a.known == {"a", "b"}
    await fleet.live(fleet.a, rounds=5)
    assert fleet.a.known == {"a"}


async def test_a_process_that_sleeps_forgets_nobody_when_it_wakes(fleet: Fleet) -> None:
    await fleet.live(fleet.a, fleet.b, rounds=4)
    fleet.clock.pass_by(100)
    await fleet.live(fleet.a)
    assert fleet.a.known == {"a", "b"}


async def test_a_change_of_the_lists_in_the_fleet_is_told_as_it_comes_and_as_the_last_old_process_goes(
    fleet: Fleet,
) -> None:
    await fleet.live(fleet.a, fleet.b, rounds=2)
    assert fleet.a.came == fleet.b.came == 0
    await fleet.live(fleet.a, fleet.b, fleet.c, rounds=2)
    assert fleet.a.pulse.fingerprints == {"lists", "new lists"}
    assert fleet.a.came == fleet.b.came == fleet.c.came == 1
    await fleet.a.pulse.leave()
    await fleet.live(fleet.b, fleet.c, rounds=2)
    assert fleet.a.gone == fleet.b.gone == fleet.c.gone == []
    await fleet.live(fleet.c, rounds=5)  # b was killed
    assert fleet.c.pulse.fingerprints == {"new lists"}
    assert (fleet.c.came, len(fleet.c.gone)) == (1, 1)


async def test_lists_that_come_and_go_between_two_looks_are_told_too(fleet: Fleet) -> None:
    await fleet.live(fleet.a, fleet.b, rounds=2)
    await fleet.c.pulse.round()
    await fleet.c.pulse.leave()
    await fleet.live(fleet.a, fleet.b)
    assert fleet.a.pulse.fingerprints == {"lists"}
    assert fleet.a.came == fleet.b.came == 1
    assert fleet.a.gone == fleet.b.gone == fleet.c.gone
    assert len(fleet.a.gone) == 1


async def test_whoever_misses_a_process_that_was_the_last_with_its_lists_tells_of_it_by_the_same_mark(
    fleet: Fleet,
) -> None:
    await fleet.live(fleet.a, fleet.b, fleet.c, rounds=4)
    await fleet.live(fleet.a, fleet.b, rounds=5)
    assert fleet.a.gone == fleet.b.gone
    assert len(fleet.a.gone) == 1


async def test_lists_that_their_last_process_replaced_are_gone(fleet: Fleet) -> None:
    await fleet.live(fleet.a, fleet.b, fleet.c, rounds=2)
    fleet.c.fingerprint = "lists"
    await fleet.live(fleet.c, fleet.a, fleet.b)
    assert fleet.a.pulse.fingerprints == {"lists"}
    assert fleet.a.gone == fleet.b.gone == fleet.c.gone
    assert len(fleet.a.gone) == 1


async def test_what_could_not_be_told_of_is_told_in_the_next_round(fleet: Fleet) -> None:
    await fleet.live(fleet.a, fleet.c, rounds=2)
    await fleet.c.pulse.leave()
    fleet.a.refuses = True
    await fleet.live(fleet.a)
    assert fleet.a.gone == []
    fleet.a.refuses = False
    await fleet.live(fleet.a, rounds=2)
    assert fleet.a.gone == fleet.c.gone


async def test_a_process_that_hears_itself_is_healthy_and_never_reconnects(fleet: Fleet) -> None:
    await fleet.live(fleet.a, rounds=20)
    assert fleet.a.pulse.healthy
    assert fleet.a.view.reconnects == 0


async def test_a_deaf_process_replaces_its_connection_after_two_beats(fleet: Fleet) -> None:
    await fleet.live(fleet.a, rounds=3)
    fleet.a.view.deaf = True
    await fleet.live(fleet.a, rounds=2)
    assert fleet.a.view.reconnects == 0
    await fleet.live(fleet.a)
    assert fleet.a.view.reconnects == 1
    await fleet.live(fleet.a, rounds=10)
    assert fleet.a.view.reconnects == 1
    assert fleet.a.pulse.healthy


async def test_a_process_that_stays_deaf_is_unhealthy_until_it_hears_again(fleet: Fleet) -> None:
    fleet.a.view.deaf, fleet.a.view.curable = True, False
    await fleet.live(fleet.a, rounds=4)
    assert fleet.a.pulse.healthy
    await fleet.live(fleet.a)
    assert not fleet.a.pulse.healthy
    fleet.a.view.deaf = False
    await fleet.live(fleet.a, rounds=2)
    assert fleet.a.pulse.healthy


async def test_a_process_is_not_deaf_because_the_store_is_away(fleet: Fleet) -> None:
    await fleet.live(fleet.a, rounds=2)
    fleet.a.view.away = True
    await fleet.live(fleet.a, rounds=20)
    assert fleet.a.pulse.healthy
    assert fleet.a.view.reconnects == 0


async def test_an_outage_proves_nothing_about_hearing(fleet: Fleet) -> None:
    fleet.a.view.deaf = True
    await fleet.live(fleet.a)
    fleet.a.view.away = True
    await fleet.live(fleet.a, rounds=20)  # one beat went unheard, and no other could be sent
    assert fleet.a.pulse.healthy
    assert fleet.a.view.reconnects == 0


async def test_a_deaf_process_without_a_connection_to_replace_is_only_unhealthy(fleet: Fleet) -> None:
    pulse = Pulse(MemoryBackplane(), fleet.a.keeper.contact, fleet.a.beat, lease=7.5, clock=fleet.clock)
    for _ in range(5):  # nobody runs its `listen`
        await pulse.round()
        fleet.clock.pass_by(5)
    assert not pulse.healthy


async def test_a_process_that_slept_is_not_fresh_before_it_has_heard_the_fleet_again(fleet: Fleet) -> None:
    await fleet.live(fleet.a, rounds=2)
    assert fleet.a.pulse.fresh
    fleet.clock.pass_by(60)
    assert not fleet.a.pulse.fresh
    await fleet.live(fleet.a)
    assert fleet.a.pulse.fresh


async def test_a_lost_fleet_log_is_begun_again_and_makes_nobody_dead(fleet: Fleet) -> None:
    await fleet.live(fleet.a, fleet.b, rounds=4)
    assert fleet.a.keeper.contact.unbroken_for(7.5)
    await fleet.b.view.delete(FLEET)
    await fleet.a.pulse.round()
    assert not fleet.a.keeper.contact.unbroken_for(0)
    await fleet.live(fleet.a, fleet.b, rounds=4)
    assert fleet.a.known == fleet.b.known == {"a", "b"}


async def test_a_beat_of_a_newer_version_stops_nobody(fleet: Fleet) -> None:
    await fleet.live(fleet.a, rounds=2)
    await fleet.b.view.append(FLEET, b"\xff", ttl=60, keep=10)
    await fleet.live(fleet.a, fleet.b, rounds=2)
    assert fleet.a.known == {"a", "b"}


async def test_a_running_pulse_beats_and_listens_by_itself(fleet: Fleet) -> None:
    pulse = Pulse(fleet.a.view, fleet.a.keeper.contact, fleet.a.beat, lease=7.5, period=0.01, clock=fleet.clock)
    async with asyncio.timeout(10), background(pulse.run()), fleet.b.view.watch(FLEET) as bell:
        for _ in range(3):
            await bell.rung()
    assert pulse.members == [fleet.a.beat()]


async def test_bells_that_vanish_on_an_open_connection_are_missed_and_heard_again(
    redis_server: SharedRedis, namespace: str
) -> None:
    async with proxy(redis_server.url) as wire, RedisBackplane.at(wire.url, namespace=namespace) as view:
        pulse = _quick_pulse(view)
        async with asyncio.timeout(SOON), background(pulse.run()), view.watch("any/log", poll=60) as bell:
            await bell.rung()  # by the first subscription
            wire.deafen()
            await bell.rung()  # by the next one
            await _until(lambda: pulse.fresh)
            assert pulse.healthy


async def test_a_process_that_no_reconnect_cures_is_unhealthy_until_it_hears(
    redis_server: SharedRedis, namespace: str
) -> None:
    async with proxy(redis_server.url) as wire, RedisBackplane.at(wire.url, namespace=namespace) as view:
        pulse = _quick_pulse(view)
        async with asyncio.timeout(SOON), background(pulse.run()):
            await _until(lambda: pulse.fresh)
            wire.deafen()
            wire.deafens_every_subscriber = True
            await _until(lambda: not pulse.healthy)
            wire.deafens_every_subscriber = False
            await _until(lambda: pulse.healthy)


def _quick_pulse(view: Backplane) -> Pulse:
    contact = Contact(patience=60)
    return Pulse(view, contact, lambda: Beat("a", "1.0", "lists", 0.5), lease=0.3, period=0.2)


async def _until(condition: Callable[[], bool]) -> None:
    while True:
        if condition():
            return
        await asyncio.sleep(0.01)
