"""Several writes in one step: all of them, or none."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from mcpfleet.backplane.base import (
    ABSENT,
    MAX_ENTRY_BYTES,
    MAX_WRITES,
    CommitExpectation,
    Plan,
    Put,
    Remove,
    Taken,
    Unplan,
    Write,
)
from mcpfleet.backplane.faults import Doubtful, Fate
from mcpfleet.errors import InDoubt, NameRefused, TooLarge
from tests.backplane.conftest import Pair, all_rung, rang

RECORD, OTHER, QUEUE = "s/record", "s/other", "s/queue"


async def test_all_writes_are_made_if_every_cell_holds_what_is_expected(pair: Pair) -> None:
    await pair.here.put(RECORD, b"1", ttl=60)
    await pair.here.put(OTHER, b"old", ttl=60)
    writes = Put(RECORD, b"2", 60), Remove(OTHER), Plan(QUEUE, "a", 0, 60)
    assert await pair.there.commit(*writes, expect={RECORD: b"1", OTHER: b"old", "s/third": ABSENT})
    assert await pair.here.get(RECORD) == b"2"
    assert await pair.here.get(OTHER) is None
    assert await pair.here.take(QUEUE, hold=60) == Taken(("a",), None)


@pytest.mark.parametrize(
    "expect", [{RECORD: b"0"}, {RECORD: ABSENT}, {OTHER: b""}, {RECORD: b"1", OTHER: b"x"}, {RECORD: b""}], ids=str
)
async def test_nothing_is_written_and_no_bell_rings_if_one_does_not(pair: Pair, expect: CommitExpectation) -> None:
    await pair.here.put(RECORD, b"1", ttl=60)
    await pair.here.commit(Plan(QUEUE, "kept", 0, 60), expect={})
    writes = Put(RECORD, b"2", 60), Put(OTHER, b"new", 60), Plan(QUEUE, "a", 0, 60), Unplan(QUEUE, "kept")
    async with pair.here.watch(RECORD, poll=600) as bell:
        await all_rung(pair.here)
        await rang(bell)
        assert not await pair.there.commit(*writes, expect=expect, ring=(RECORD,))
        await all_rung(pair.here)
        assert not await rang(bell)
    assert await pair.here.get(RECORD) == b"1"
    assert await pair.here.get(OTHER) is None
    assert await pair.here.take(QUEUE, hold=60, limit=9) == Taken(("kept",), None)


async def test_a_cell_that_holds_nothing_is_not_absent(pair: Pair) -> None:
    await pair.here.put(RECORD, b"", ttl=60)
    assert not await pair.here.commit(Put(RECORD, b"2", 60), expect={RECORD: ABSENT})
    assert await pair.here.commit(Put(RECORD, b"2", 60), expect={RECORD: b""})


async def test_of_many_at_once_that_expect_the_same_one_is_made(pair: Pair) -> None:
    await pair.here.put(RECORD, b"0", ttl=60)
    views = [pair.here, pair.there]
    writes = [(Put(RECORD, b"%d" % n, 60), Plan(QUEUE, f"m{n}", 0, 60)) for n in range(1, 21)]
    made = await asyncio.gather(*(views[n % 2].commit(*each, expect={RECORD: b"0"}) for n, each in enumerate(writes)))
    assert sum(made) == 1
    winner = made.index(True) + 1
    assert await pair.here.get(RECORD) == b"%d" % winner
    assert await pair.here.take(QUEUE, hold=60, limit=99) == Taken((f"m{winner}",), None)


async def test_the_bells_of_what_is_named_ring_be_it_a_cell_or_nothing(pair: Pair) -> None:
    async with pair.there.watch(RECORD, poll=600) as record, pair.there.watch("s/wake", poll=600) as wake:
        await all_rung(pair.there)
        await rang(record)
        await rang(wake)
        writes = Put(RECORD, b"1", 60), Plan(QUEUE, "a", 0, 60)
        assert await pair.here.commit(*writes, expect={RECORD: ABSENT, OTHER: ABSENT}, ring=(RECORD, "s/wake"))
        async with asyncio.timeout(10):
            await record.rung()
            await wake.rung()
        assert await pair.there.get(RECORD) == b"1"
        assert await pair.there.take(QUEUE, hold=60) == Taken(("a",), None)


async def test_a_commit_in_doubt_that_is_sent_again_is_made_once(pair: Pair) -> None:
    await pair.here.put(RECORD, b"1", ttl=60)
    view = Doubtful([Fate.UNANSWERED]).view(pair.here)
    writes = Put(RECORD, b"2", 60), Plan(QUEUE, "a", 0, 60)
    with pytest.raises(InDoubt):
        await view.commit(*writes, expect={RECORD: b"1"})
    assert await pair.there.take(QUEUE, hold=60) == Taken(("a",), None)
    assert not await view.commit(*writes, expect={RECORD: b"1"})
    assert (await pair.there.take(QUEUE, hold=60)).members == ()


async def test_what_a_commit_writes_lives_as_long_as_it_says(pair: Pair) -> None:
    writes = Put(RECORD, b"1", 60), Put(OTHER, b"1", 10), Plan(QUEUE, "a", 0, 60)
    assert await pair.here.commit(*writes, expect={})
    await pair.store.age(11)
    assert await pair.here.get(RECORD) == b"1"
    assert await pair.here.get(OTHER) is None
    await pair.store.age(50)
    assert await pair.store.names() == []


_MANY = [Put(f"s/{n}", b"", 1) for n in range(MAX_WRITES + 1)]


@pytest.mark.parametrize(
    ("writes", "expect", "ring", "error"),
    [
        ((), {}, (), ValueError),
        (_MANY, {}, (), ValueError),
        (_MANY[:1], {f"s/{n}": b"" for n in range(MAX_WRITES + 1)}, (), ValueError),
        (_MANY[:1], {}, [f"s/{n}" for n in range(MAX_WRITES + 1)], ValueError),
        ([Put(RECORD, b"", 1), Remove(RECORD)], {}, (), ValueError),
        ([Plan(QUEUE, "a", 0, 1), Unplan(QUEUE, "a")], {}, (), ValueError),
        ([Put(RECORD, b"", 0)], {}, (), ValueError),
        ([Plan(QUEUE, "a", -1, 1)], {}, (), ValueError),
        ([Plan(QUEUE, "a", float("nan"), 1)], {}, (), ValueError),
        ([Plan(QUEUE, "a", 0, 0)], {}, (), ValueError),
        ([Plan(QUEUE, "", 0, 1)], {}, (), NameRefused),
        ([Unplan(QUEUE, "a\n")], {}, (), NameRefused),
        ([Put("s", b"", 1)], {}, (), NameRefused),
        ([Put(RECORD, b"", 1), Put("t/record", b"", 1)], {}, (), NameRefused),
        ([Put(RECORD, b"", 1)], {"t/record": ABSENT}, (), NameRefused),
        ([Put(RECORD, b"", 1)], {}, ("t/bell",), NameRefused),
        ([Put(RECORD, bytes(MAX_ENTRY_BYTES + 1), 1)], {}, (), TooLarge),
    ],
    ids=lambda value: f"{str(value)[:30]}-{len(str(value))}",
)
async def test_what_no_store_can_write_in_one_step_is_refused_and_nothing_of_it_written(
    pair: Pair, writes: Sequence[Write], expect: CommitExpectation, ring: Sequence[str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await pair.here.commit(*writes, expect=expect, ring=ring)
    assert await pair.store.names() == []


async def test_as_many_writes_as_may_be_are_made(pair: Pair) -> None:
    assert await pair.here.commit(*_MANY[:MAX_WRITES], expect={})
    kept: Any = await asyncio.gather(*(pair.there.get(f"s/{n}") for n in range(MAX_WRITES)))
    assert kept == [b""] * MAX_WRITES
