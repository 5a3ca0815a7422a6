"""The ring of keys: every process opens what another sealed, across rotations, failovers and cuts."""

import asyncio
import logging

import pytest

from mcpfleet.backplane import keyring
from mcpfleet.backplane.background import background
from mcpfleet.backplane.base import Backplane
from mcpfleet.backplane.keyring import (
    ANNOUNCE_SECONDS,
    IDS,
    KEY_SECONDS,
    ROTATE_SECONDS,
    TURN,
    UNKNOWN_SECONDS,
    Keyring,
)
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.errors import KeyRefused, Unavailable
from tests.backplane.conftest import Pair
from tests.clock import Clock
from tests.server.world import eventually


class Away:
    """A store that can be cut off from its process."""

    def __init__(self, inner: Backplane) -> None:
        self._inner = inner
        self.away = False

    def __getattr__(self, verb: str) -> object:
        if self.away:
            raise Unavailable(verb)
        return getattr(self._inner, verb)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def ring(view: Backplane, clock: Clock, wrapping: bytes | None = None) -> Keyring:
    return Keyring(view, wrapping=wrapping, clock=clock)


async def test_what_one_process_seals_with_every_process_finds(pair: Pair, clock: Clock) -> None:
    here, there = ring(pair.here, clock), ring(pair.there, clock)
    key = await here.sealing()
    assert len(key.secret) == 32
    assert await there.find(key.id) == key
    assert await there.sealing() == key


async def test_nothing_is_stored_before_the_first_use(pair: Pair, clock: Clock) -> None:
    ring(pair.here, clock)
    assert await pair.here.get(IDS) is None


async def test_a_new_key_is_found_by_all_at_once_but_sealed_with_only_once_it_was_announced(
    pair: Pair, clock: Clock
) -> None:
    here, there = ring(pair.here, clock), ring(pair.there, clock)
    old = await here.sealing()
    await there.sealing()
    new_id = await here.rotate()
    assert (await here.sealing(), await there.sealing()) == (old, old)
    assert await there.find(new_id) is not None
    await pair.store.age(ANNOUNCE_SECONDS - 10)
    for each in (here, there):
        await each.read()
        assert await each.sealing() == old
    await pair.store.age(10)
    for each in (here, there):
        await each.read()
        assert (await each.sealing()).id == new_id
        assert await each.find(old.id) == old, "what was sealed with it can still be opened"


async def test_a_process_that_has_just_come_seals_with_what_the_others_seal_with(pair: Pair, clock: Clock) -> None:
    here = ring(pair.here, clock)
    old = await here.sealing()
    new_id = await here.rotate()
    assert await ring(pair.there, clock).sealing() == old
    await pair.store.age(ANNOUNCE_SECONDS)
    assert (await ring(pair.there, clock).sealing()).id == new_id


async def test_an_unknown_key_is_asked_for_once(pair: Pair, clock: Clock) -> None:
    store = Away(pair.here)
    here = ring(store, clock)  # type: ignore[arg-type] # it passes everything on
    await here.sealing()
    assert await here.find("0" * 16) is None
    store.away = True
    assert await here.find("0" * 16) is None
    with pytest.raises(Unavailable):
        await here.find("1" * 16)
    store.away = False
    assert await here.find("1" * 16) is None
    store.away = True
    here.suspect()
    with pytest.raises(Unavailable):
        await here.find("1" * 16)


async def test_no_more_than_some_unknown_keys_are_remembered(
    pair: Pair, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "MAX_UNKNOWN", 2)
    store = Away(pair.here)
    here = ring(store, clock)  # type: ignore[arg-type] # it passes everything on
    for digit in "012":
        assert await here.find(digit * 16) is None
    store.away = True
    with pytest.raises(Unavailable):
        await here.find("0" * 16)
    assert await here.find("2" * 16) is None


async def test_who_has_not_read_the_ring_for_long_seals_nothing_and_opens_what_it_knows(
    pair: Pair, clock: Clock
) -> None:
    store = Away(pair.here)
    here = ring(store, clock)  # type: ignore[arg-type] # it passes everything on
    key = await here.sealing()
    store.away = True
    clock.pass_by(ANNOUNCE_SECONDS)
    assert await here.sealing() == key
    clock.pass_by(1)
    with pytest.raises(Unavailable):
        await here.sealing()
    assert await here.find(key.id) == key
    store.away = False
    assert await here.sealing() == key


async def test_a_key_that_the_store_lost_is_put_back_by_whoever_sealed_with_it(pair: Pair, clock: Clock) -> None:
    empty = await pair.store.save()
    here = ring(pair.here, clock)
    key = await here.sealing()
    await pair.store.restore(empty)
    await here.read()
    assert await ring(pair.there, clock).find(key.id) == key
    assert await ring(pair.there, clock).sealing() == key


async def test_who_hears_of_a_loss_puts_its_key_back_before_it_seals_again(pair: Pair, clock: Clock) -> None:
    empty = await pair.store.save()
    here = ring(pair.here, clock)
    key = await here.sealing()
    await pair.store.restore(empty)
    here.suspect()
    assert await here.sealing() == key
    assert await ring(pair.there, clock).find(key.id) == key


async def test_who_hears_of_a_loss_puts_its_key_back_without_being_asked_for_one(pair: Pair, clock: Clock) -> None:
    empty = await pair.store.save()
    here, there = ring(pair.here, clock), ring(pair.there, clock)
    key = await here.sealing()
    async with background(here.run()):
        await pair.store.restore(empty)
        assert await there.find(key.id) is None
        here.suspect()
        async with asyncio.timeout(10):
            while await there.find(key.id) is None:
                clock.pass_by(UNKNOWN_SECONDS)


async def test_a_key_that_was_lost_before_its_first_use_is_put_back_before_it(pair: Pair, clock: Clock) -> None:
    here = ring(pair.here, clock)
    await here.sealing()
    new_id = await here.rotate()
    await pair.store.age(ANNOUNCE_SECONDS)
    await here.read()
    await pair.here.delete(f"keyring/key/{new_id}")
    assert (await here.sealing()).id == new_id
    assert await ring(pair.there, clock).find(new_id) is not None


async def test_a_process_that_never_sealed_with_a_retired_key_does_not_prolong_its_life(
    pair: Pair, clock: Clock
) -> None:
    async def pass_by(seconds: float) -> None:
        clock.pass_by(seconds)
        await pair.store.age(seconds)

    here, late = ring(pair.here, clock), ring(pair.there, clock)
    old = await here.sealing()
    await here.rotate()
    await pass_by(ANNOUNCE_SECONDS)
    await here.read()
    new = await here.sealing()
    assert new != old
    for _ in range(4):
        await pass_by(KEY_SECONDS / 4 - 1)
        for each in (late, here):
            await each.read()
            await each.sealing()
    await pass_by(ANNOUNCE_SECONDS + 10)
    await late.read()
    assert await ring(pair.here, clock).find(old.id) is None
    assert await ring(pair.here, clock).find(new.id) == new


async def test_a_ring_whose_keys_have_all_expired_gets_a_new_one(pair: Pair, clock: Clock) -> None:
    old = await ring(pair.here, clock).sealing()
    await pair.store.age(KEY_SECONDS + 1)
    here, there = ring(pair.here, clock), ring(pair.there, clock)
    new = await here.sealing()
    assert new != old
    assert await there.sealing() == new


async def test_one_process_rotates_when_it_is_due(pair: Pair, clock: Clock) -> None:
    here, there = ring(pair.here, clock), ring(pair.there, clock)
    await here.sealing()
    await there.sealing()
    await here._rotate_if_due()
    assert len(await here.listed()) == 1
    await pair.here.delete(TURN)
    await here._rotate_if_due()
    await there._rotate_if_due()
    assert [readable for _, readable in await there.listed()] == [True, True]


async def test_keys_are_stored_wrapped_and_opened_only_by_who_has_the_wrapping_key(pair: Pair, clock: Clock) -> None:
    here = ring(pair.here, clock, wrapping=b"w" * 32)
    key = await here.sealing()
    stored = await pair.here.get(f"keyring/key/{key.id}")
    assert stored is not None
    assert key.secret not in stored
    assert await ring(pair.there, clock, wrapping=b"w" * 32).find(key.id) == key
    for other in (ring(pair.there, clock, wrapping=b"v" * 32), ring(pair.there, clock)):
        with pytest.raises(KeyRefused, match="MCPFLEET_KEY_ENCRYPTION_KEY"):
            await other.find(key.id)


async def test_a_fleet_may_begin_to_wrap_its_keys_while_it_runs(pair: Pair, clock: Clock) -> None:
    key = await ring(pair.here, clock).sealing()
    assert await ring(pair.there, clock, wrapping=b"w" * 32).sealing() == key


async def test_a_key_that_cannot_be_unwrapped_does_not_keep_the_others_from_being_used(
    pair: Pair, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    foreign = await ring(pair.here, clock, wrapping=b"v" * 32).sealing()
    with caplog.at_level(logging.ERROR, "mcpfleet.keyring"):
        key = await ring(pair.there, clock, wrapping=b"w" * 32).sealing()
    assert key != foreign
    assert foreign.id in caplog.text


async def test_who_stores_keys_in_the_open_is_told_so_once(
    pair: Pair, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    in_memory = isinstance(pair.here, MemoryBackplane)
    with caplog.at_level(logging.WARNING, "mcpfleet.keyring"):
        here = ring(pair.here, clock)
        await here.sealing()
        await here.rotate()
    assert caplog.text.count("MCPFLEET_KEY_ENCRYPTION_KEY") == (0 if in_memory else 1)


def test_a_key_outlives_everything_that_was_sealed_with_it() -> None:
    assert KEY_SECONDS > keyring.MAX_SEALED_SECONDS
    assert ROTATE_SECONDS > 2 * ANNOUNCE_SECONDS


async def test_a_ring_that_another_version_wrote_does_not_end_the_process(
    pair: Pair, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    here = Keyring(pair.here, announce=0.03, clock=clock)
    key = await here.sealing()
    await pair.there.put(IDS, b"\xff", ttl=60)
    running = asyncio.ensure_future(here.run())
    await eventually(lambda: "cannot be read" in caplog.text)
    assert not running.done()
    assert await here.find(key.id) == key
    running.cancel()
    await asyncio.wait([running])
