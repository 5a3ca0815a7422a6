"""How many tasks a process works at, while some only wait."""

import asyncio

import pytest

from mcpfleet.server.tasks.slots import Slot, Slots


async def free(slots: Slots) -> bool:
    """Whether somebody would get a place at once."""
    try:
        async with asyncio.timeout(0.01):
            (await slots.take()).leave()
    except TimeoutError:
        return False
    return True


class Part:
    """A part of a run that waits until it is told to go on."""

    def __init__(self, slot: Slot) -> None:
        self._go = asyncio.Event()
        self._waits = asyncio.Event()
        self.task = asyncio.ensure_future(self._wait(slot))

    async def waits(self) -> None:
        await self._waits.wait()

    async def goes_on(self) -> None:
        self._go.set()
        await self.task

    async def _wait(self, slot: Slot) -> None:
        async with slot.parking():
            self._waits.set()
            await self._go.wait()


async def waiting(slot: Slot) -> Part:
    """One that waits by now."""
    part = Part(slot)
    await part.waits()
    return part


async def test_a_place_is_taken_by_one_until_he_leaves_however_often(slots: Slots) -> None:
    slot = await slots.take()
    assert not await free(slots)
    slot.leave()
    slot.leave()
    (await slots.take()).leave()
    only = await slots.take()
    assert not await free(slots), "leaving twice made a second place"
    only.leave()


async def test_whoever_waits_leaves_his_place_to_others_and_comes_back_to_one(slots: Slots) -> None:
    slot = await slots.take()
    part = await waiting(slot)
    assert slot.parked
    other = await slots.take()
    back = asyncio.ensure_future(part.goes_on())
    assert not await free(slots)
    assert not back.done(), "there is only one place"
    other.leave()
    await back
    assert not slot.parked
    assert not await free(slots)
    slot.leave()
    assert await free(slots)


async def test_of_a_run_that_waits_for_several_things_the_last_one_comes_back(slots: Slots) -> None:
    slot = await slots.take()
    first, second = await waiting(slot), await waiting(slot)
    await first.goes_on()
    assert slot.parked
    assert await free(slots)
    await second.goes_on()
    assert not await free(slots)
    slot.leave()
    assert await free(slots)


async def test_a_run_whose_parts_come_back_one_after_the_other_takes_one_place(slots: Slots) -> None:
    """One part comes back while another, which came back before, still waits for the place."""
    slot = await slots.take()
    first = await waiting(slot)
    other = await slots.take()
    back = asyncio.ensure_future(first.goes_on())
    await asyncio.sleep(0)
    second = await waiting(slot)
    again = asyncio.ensure_future(second.goes_on())
    await asyncio.sleep(0)
    other.leave()
    async with asyncio.timeout(5):
        await asyncio.gather(back, again)
    slot.leave()
    assert await free(slots)


async def test_a_place_that_comes_when_another_part_waits_again_is_left_to_others(slots: Slots) -> None:
    slot = await slots.take()
    first = await waiting(slot)
    other = await slots.take()
    back = asyncio.ensure_future(first.goes_on())
    await asyncio.sleep(0)
    second = await waiting(slot)
    other.leave()
    await back
    assert await free(slots)
    await second.goes_on()
    assert not await free(slots)


@pytest.mark.parametrize("parked", [True, False])
async def test_what_a_run_has_left_behind_takes_no_place_once_it_has_ended(slots: Slots, parked: bool) -> None:
    slot = await slots.take()
    part = await waiting(slot)
    if not parked:
        other = await slots.take()
        back = asyncio.ensure_future(part.goes_on())
        await asyncio.sleep(0)
        slot.leave()
        other.leave()
        await back
    else:
        slot.leave()
        await part.goes_on()
    assert await free(slots)


async def test_who_waited_in_vain_comes_back_and_who_is_cancelled_does_not(slots: Slots) -> None:
    slot = await slots.take()
    with pytest.raises(TimeoutError):
        async with slot.parking():
            raise TimeoutError
    assert not await free(slots)
    part = await waiting(slot)
    part.task.cancel()
    await asyncio.wait([part.task])
    assert not slot.parked
    assert await free(slots)


@pytest.fixture
def slots() -> Slots:
    """One place."""
    return Slots(1)
