import asyncio
from collections.abc import Sequence

import pytest

from mcpfleet.backplane.base import ANYTHING, EMPTY, READ_BYTES, REMEMBERED, Entry, Position, mint
from mcpfleet.backplane.faults import Doubtful, Fate, interleavings
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.errors import InDoubt, LogGap, LogGone, LogMoved
from tests.backplane.conftest import Pair, all_rung, rang

LOG = "s/l"


def data(entries: Sequence[Entry]) -> list[bytes]:
    """What the entries carry."""
    return [entry.data for entry in entries]


async def test_what_is_appended_here_is_read_there_in_order(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    first = await pair.here.append(LOG, b"one", ttl=60, keep=9)
    second = await pair.there.append(LOG, b"\x00\xff", ttl=60, keep=9)
    assert await pair.there.read(LOG, after=start) == [Entry(first, b"one"), Entry(second, b"\x00\xff")]
    assert await pair.here.read(LOG, after=first) == [Entry(second, b"\x00\xff")]
    assert await pair.here.read(LOG, after=second) == []
    assert await pair.there.open(LOG, ttl=60) == second


async def test_a_page_has_at_most_the_limit_and_the_next_goes_on(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    for number in range(5):
        await pair.here.append(LOG, b"%d" % number, ttl=60, keep=9)
    page = await pair.there.read(LOG, after=start, limit=3)
    assert data(page) == [b"0", b"1", b"2"]
    assert data(await pair.there.read(LOG, after=page[-1].position, limit=3)) == [b"3", b"4"]


async def test_a_page_ends_with_the_entry_that_reaches_the_byte_budget(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    quarter = bytes(READ_BYTES // 4)
    for _ in range(6):
        await pair.here.append(LOG, quarter, ttl=60, keep=9)
    page = await pair.there.read(LOG, after=start)
    assert len(page) == 4
    assert len(await pair.there.read(LOG, after=page[-1].position)) == 2


async def test_one_entry_larger_than_the_budget_is_read_alone(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    for size in (1, 2 * READ_BYTES, 2 * READ_BYTES, 1):
        await pair.here.append(LOG, bytes(size), ttl=60, keep=9)
    sizes = []
    while page := await pair.there.read(LOG, after=start):
        sizes.append([len(entry.data) for entry in page])
        start = page[-1].position
    assert sizes == [[1, 2 * READ_BYTES], [2 * READ_BYTES], [1]]


async def test_a_log_opened_twice_is_one_log(pair: Pair) -> None:
    assert await pair.here.open(LOG, ttl=60) == await pair.there.open(LOG, ttl=60)
    assert (await pair.here.open(LOG, ttl=60)).offset == 0


async def test_two_logs_are_born_with_different_marks(pair: Pair) -> None:
    assert await pair.here.open("s/a", ttl=60) != await pair.here.open("s/b", ttl=60)


async def test_an_append_to_an_absent_log_is_refused_and_creates_nothing(pair: Pair) -> None:
    with pytest.raises(LogGone):
        await pair.here.append(LOG, b"x", ttl=60, keep=9)
    with pytest.raises(LogGone):
        await pair.here.append(LOG, b"x", ttl=60, keep=9, expect=EMPTY)
    assert await pair.store.names() == []


async def test_opening_without_creating_and_reading_create_nothing(pair: Pair) -> None:
    with pytest.raises(LogGone):
        await pair.here.open(LOG, ttl=60, create=False)
    with pytest.raises(LogGap):
        await pair.here.read(LOG, after=Position(0, mint()), ttl=60)
    assert await pair.store.names() == []


async def test_an_append_to_an_expired_log_is_refused_and_creates_nothing(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=10)
    await pair.here.append(LOG, b"x", ttl=10, keep=9)
    await pair.store.age(10)
    with pytest.raises(LogGone):
        await pair.there.append(LOG, b"y", ttl=60, keep=9)
    with pytest.raises(LogGone):
        await pair.there.open(LOG, ttl=60, create=False)
    with pytest.raises(LogGap):
        await pair.there.read(LOG, after=start, ttl=60)
    assert await pair.store.names() == []


async def test_an_append_to_a_deleted_log_is_refused_and_creates_nothing(pair: Pair) -> None:
    await pair.here.open(LOG, ttl=60)
    end = await pair.here.append(LOG, b"x", ttl=60, keep=9)
    assert await pair.there.delete(LOG)
    assert not await pair.there.delete(LOG)
    for expect in (ANYTHING, EMPTY, end):
        with pytest.raises(LogGone):
            await pair.here.append(LOG, b"y", ttl=60, keep=9, expect=expect)
    with pytest.raises(LogGone):
        await pair.here.open(LOG, ttl=60, create=False)
    assert await pair.store.names() == []


async def test_a_log_deleted_and_reopened_is_another_history(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    end = await pair.here.append(LOG, b"x", ttl=60, keep=9)
    await pair.here.delete(LOG)
    await pair.there.open(LOG, ttl=60)
    await pair.there.append(LOG, b"y", ttl=60, keep=9)
    for position in (start, end):
        with pytest.raises(LogGap):
            await pair.here.read(LOG, after=position)
    with pytest.raises(LogMoved):
        await pair.here.append(LOG, b"z", ttl=60, keep=9, expect=end)


async def test_of_two_appends_that_expect_one_position_one_is_refused_and_told_the_end(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    end = await pair.here.append(LOG, b"x", ttl=60, keep=9, expect=start)
    with pytest.raises(LogMoved) as moved:
        await pair.there.append(LOG, b"y", ttl=60, keep=9, expect=start)
    assert moved.value.end == str(end)
    assert data(await pair.here.read(LOG, after=start)) == [b"x"]


async def test_an_append_that_expects_emptiness_wins_once(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    await pair.here.append(LOG, b"x", ttl=60, keep=9, expect=EMPTY)
    with pytest.raises(LogMoved):
        await pair.there.append(LOG, b"y", ttl=60, keep=9, expect=EMPTY)
    assert data(await pair.there.read(LOG, after=start)) == [b"x"]


async def test_of_three_racing_writers_one_wins_in_every_order() -> None:
    for steps in interleavings():
        store = MemoryStore()
        start = await MemoryBackplane(store).open(LOG, ttl=60)
        views = [steps.view(MemoryBackplane(store)) for _ in range(3)]
        outcomes = await steps.run(
            *(view.append(LOG, b"%d" % n, ttl=60, keep=9, expect=start) for n, view in enumerate(views))
        )
        won = [outcome for outcome in outcomes if isinstance(outcome, Position)]
        lost = [outcome for outcome in outcomes if isinstance(outcome, LogMoved)]
        assert len(won) == 1, steps
        assert [moved.end for moved in lost] == [str(won[0])] * 2, steps
        assert len(await MemoryBackplane(store).read(LOG, after=start)) == 1, steps


async def test_of_two_racing_writers_one_wins_in_every_order(pair: Pair) -> None:
    for number, steps in enumerate(interleavings()):
        log = f"s/l{number}"
        start = await pair.here.open(log, ttl=60)
        outcomes = await steps.run(
            steps.view(pair.here).append(log, b"a", ttl=60, keep=9, expect=start),
            steps.view(pair.there).append(log, b"b", ttl=60, keep=9, expect=start),
        )
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["LogMoved", "Position"], steps
        assert len(await pair.here.read(log, after=start)) == 1, steps


async def test_a_refused_append_leaves_no_trace(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=10)
    end = await pair.here.append(LOG, b"x", ttl=10, keep=9)
    async with pair.there.watch(LOG, poll=60) as bell:
        await all_rung(pair.there)
        await rang(bell)
        for expect in (EMPTY, start, Position(1, mint()), Position(2, end.mark)):
            with pytest.raises(LogMoved):
                await pair.here.append(LOG, b"y", ttl=1000, keep=1, expect=expect)
        await all_rung(pair.there)
        assert not await rang(bell)
    assert data(await pair.there.read(LOG, after=start)) == [b"x"]
    await pair.store.age(10)
    assert not [name for name in await pair.store.names() if "fence" not in name]


async def test_the_same_append_again_is_the_same_entry(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    mark = mint()
    end = await pair.here.append(LOG, b"x", ttl=60, keep=9, expect=start, mark=mark)
    assert end == Position(1, mark)
    assert await pair.there.append(LOG, b"x", ttl=60, keep=9, expect=start, mark=mark) == end
    again = [pair.here.append(LOG, b"x", ttl=60, keep=9, expect=start, mark=mark) for _ in range(5)]
    assert await asyncio.gather(*again) == [end] * 5
    assert data(await pair.there.read(LOG, after=start)) == [b"x"]


async def test_five_copies_of_an_append_at_once_are_one_entry(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    mark = mint()
    views = [pair.here, pair.there, pair.here, pair.there, pair.here]
    copies = [view.append(LOG, b"x", ttl=60, keep=9, expect=start, mark=mark) for view in views]
    assert set(await asyncio.gather(*copies)) == {Position(1, mark)}
    assert data(await pair.there.read(LOG, after=start)) == [b"x"]


async def test_the_same_append_after_anothers_is_refused(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    mark = mint()
    mine = await pair.here.append(LOG, b"x", ttl=60, keep=9, expect=start, mark=mark)
    end = await pair.there.append(LOG, b"y", ttl=60, keep=9, expect=mine)
    with pytest.raises(LogMoved) as moved:
        await pair.here.append(LOG, b"x", ttl=60, keep=9, expect=start, mark=mark)
    assert moved.value.end == str(end)
    assert (await pair.here.read(LOG, after=start))[0].position == mine  # so its writer can tell that it happened


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE])
async def test_an_append_sent_again_after_doubt_is_one_entry_even_if_the_first_comes_late(
    pair: Pair, fate: Fate
) -> None:
    doubtful = Doubtful([fate])
    view = doubtful.view(pair.here)
    start = await pair.here.open(LOG, ttl=60)
    mark = mint()
    with pytest.raises(InDoubt):
        await view.append(LOG, b"x", ttl=60, keep=9, expect=start, mark=mark)
    assert await view.append(LOG, b"x", ttl=60, keep=9, expect=start, mark=mark) == Position(1, mark)
    await doubtful.deliver()
    assert data(await pair.there.read(LOG, after=start)) == [b"x"]


async def test_a_late_original_after_anothers_append_changes_nothing(pair: Pair) -> None:
    doubtful = Doubtful([Fate.LATE])
    start = await pair.here.open(LOG, ttl=60)
    with pytest.raises(InDoubt):
        await doubtful.view(pair.here).append(LOG, b"x", ttl=60, keep=9, expect=start)
    await pair.there.append(LOG, b"y", ttl=60, keep=9, expect=start)
    await doubtful.deliver()
    assert data(await pair.there.read(LOG, after=start)) == [b"y"]


async def test_where_many_write_the_same_append_after_others_is_the_same_entry(pair: Pair) -> None:
    """Who expects nothing is refused nothing, so only the mark can tell."""
    start = await pair.here.open(LOG, ttl=60)
    mark = mint()
    first = await pair.here.append(LOG, b"x", ttl=60, keep=1, mark=mark)
    for number in range(REMEMBERED - 1):
        end = await pair.there.append(LOG, b"%d" % number, ttl=60, keep=1)
        assert await pair.here.append(LOG, b"x", ttl=60, keep=1, mark=mark) == first
    assert await pair.here.open(LOG, ttl=60) == end
    assert end.offset == start.offset + REMEMBERED
    await pair.there.append(LOG, b"one more than are remembered", ttl=60, keep=1)
    assert (await pair.here.append(LOG, b"x", ttl=60, keep=1, mark=mark)).offset == end.offset + 2


async def test_where_many_write_an_append_is_known_again_for_as_long_as_its_entry_is_kept(pair: Pair) -> None:
    keep = 10 * REMEMBERED
    mark = mint()
    start = await pair.here.open(LOG, ttl=60)
    first = await pair.here.append(LOG, b"x", ttl=60, keep=keep, mark=mark)
    for number in range(keep - 1):
        await pair.there.append(LOG, b"%d" % number, ttl=60, keep=keep)
    assert await pair.here.append(LOG, b"x", ttl=60, keep=keep, mark=mark) == first
    assert (await pair.here.open(LOG, ttl=60)).offset == start.offset + keep
    end = await pair.there.append(LOG, b"for which it is trimmed", ttl=60, keep=keep)
    assert (await pair.here.append(LOG, b"x", ttl=60, keep=keep, mark=mark)).offset == end.offset + 1


async def test_a_log_that_was_removed_knows_no_append_of_its_last_life(pair: Pair) -> None:
    mark = mint()
    await pair.here.open(LOG, ttl=60)
    await pair.here.append(LOG, b"x", ttl=60, keep=9, mark=mark)
    await pair.here.append(LOG, b"y", ttl=60, keep=9)
    await pair.there.delete(LOG)
    start = await pair.there.open(LOG, ttl=60)
    assert await pair.here.append(LOG, b"x", ttl=60, keep=9, mark=mark) == Position(1, mark)
    assert data(await pair.there.read(LOG, after=start)) == [b"x"]


async def test_appends_that_expect_a_position_make_the_store_forget_none_of_those_that_expect_nothing(
    pair: Pair,
) -> None:
    mark = mint()
    await pair.here.open(LOG, ttl=60)
    first = end = await pair.here.append(LOG, b"x", ttl=60, keep=1, mark=mark)
    for _ in range(REMEMBERED):
        end = await pair.there.append(LOG, b"y", ttl=60, keep=1, expect=end)
    assert await pair.here.append(LOG, b"x", ttl=60, keep=1, mark=mark) == first
    assert await pair.here.open(LOG, ttl=60) == end


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE])
async def test_where_many_write_an_append_in_doubt_is_one_entry_whoever_comes_between(pair: Pair, fate: Fate) -> None:
    doubtful = Doubtful([fate])
    view = doubtful.view(pair.here)
    start = await pair.here.open(LOG, ttl=60)
    mark = mint()
    with pytest.raises(InDoubt):
        await view.append(LOG, b"x", ttl=60, keep=9, mark=mark)
    await pair.there.append(LOG, b"y", ttl=60, keep=9)
    await view.append(LOG, b"x", ttl=60, keep=9, mark=mark)
    await pair.there.append(LOG, b"z", ttl=60, keep=9)
    await doubtful.deliver()
    assert sorted(data(await pair.there.read(LOG, after=start))) == [b"x", b"y", b"z"]


async def test_the_birth_mark_is_no_append_that_happened(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    end = await pair.here.append(LOG, b"x", ttl=60, keep=9, mark=start.mark)
    assert end == Position(1, start.mark)
    assert data(await pair.there.read(LOG, after=start)) == [b"x"]


async def test_a_trimmed_part_is_a_gap_and_what_is_kept_is_read(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    ends = [await pair.here.append(LOG, b"%d" % n, ttl=60, keep=3) for n in range(10)]
    for position in (start, *ends[:6]):
        with pytest.raises(LogGap):
            await pair.there.read(LOG, after=position)
    assert data(await pair.there.read(LOG, after=ends[6])) == [b"7", b"8", b"9"]
    await pair.here.append(LOG, b"last", ttl=60, keep=1)
    with pytest.raises(LogGap):
        await pair.there.read(LOG, after=ends[8])
    assert data(await pair.there.read(LOG, after=ends[9])) == [b"last"]


async def test_a_position_beyond_the_end_is_a_gap(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    end = await pair.here.append(LOG, b"x", ttl=60, keep=9)
    for position in (Position(2, end.mark), Position(1, mint()), Position(0, end.mark), Position(1, start.mark)):
        with pytest.raises(LogGap):
            await pair.there.read(LOG, after=position)


async def test_a_position_of_a_history_that_was_rolled_back_and_overtaken_is_a_gap(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    kept = [await pair.here.append(LOG, b"%d" % n, ttl=60, keep=99) for n in range(3)]
    replica = await pair.store.save()
    lost = [await pair.here.append(LOG, b"lost", ttl=60, keep=99) for _ in range(3)]
    await pair.store.restore(replica)

    for overtaking in range(5):  # shorter than what was lost, equally long, longer
        for position in lost:
            with pytest.raises(LogGap):
                await pair.here.read(LOG, after=position)
            with pytest.raises(LogMoved):
                await pair.here.append(LOG, b"x", ttl=60, keep=99, expect=position)
        for seen, position in enumerate((start, *kept)):
            assert len(await pair.there.read(LOG, after=position)) == 3 - seen + overtaking
        await pair.there.append(LOG, b"new", ttl=60, keep=99)


async def test_a_writer_whose_append_was_rolled_back_may_write_it_again_and_no_reader_sees_a_seam(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    first = await pair.here.append(LOG, b"one", ttl=60, keep=9)
    replica = await pair.store.save()
    second = await pair.here.append(LOG, b"two", ttl=60, keep=9)
    await pair.store.restore(replica)
    again = await pair.here.append(LOG, b"two", ttl=60, keep=9, expect=first, mark=second.mark)
    third = await pair.here.append(LOG, b"three", ttl=60, keep=9, expect=again)
    assert await pair.there.read(LOG, after=second) == [Entry(third, b"three")]
    assert data(await pair.there.read(LOG, after=start)) == [b"one", b"two", b"three"]


async def test_a_followed_log_outlives_its_life_and_an_unfollowed_one_does_not(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=10)
    await pair.here.append(LOG, b"x", ttl=10, keep=9)
    for _ in range(5):
        await pair.store.age(6)
        assert data(await pair.there.read(LOG, after=start, ttl=10)) == [b"x"]
    await pair.store.age(6)
    assert data(await pair.there.read(LOG, after=start)) == [b"x"]
    await pair.store.age(4)
    with pytest.raises(LogGap):
        await pair.there.read(LOG, after=start)
    assert await pair.store.names() == []


async def test_a_read_extends_no_life_of_which_half_is_left(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    await pair.here.read(LOG, after=start, ttl=90)
    await pair.store.age(60)
    with pytest.raises(LogGone):
        await pair.here.open(LOG, ttl=60, create=False)


async def test_reopening_extends_a_life_and_never_shortens_it(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=10)
    await pair.here.append(LOG, b"x", ttl=10, keep=9)
    assert (await pair.there.open(LOG, ttl=60, create=False)).offset == 1
    assert (await pair.there.open(LOG, ttl=1, create=False)).offset == 1
    assert (await pair.there.open(LOG, ttl=1)).offset == 1
    await pair.store.age(59)
    assert data(await pair.here.read(LOG, after=start)) == [b"x"]
    await pair.store.age(1)
    assert await pair.store.names() == []


async def test_an_append_sets_the_life_of_the_whole_log(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=1000)
    await pair.here.append(LOG, b"x", ttl=60, keep=9)
    await pair.store.age(59)
    assert data(await pair.here.read(LOG, after=start)) == [b"x"]
    await pair.store.age(1)
    assert await pair.store.names() == []


@pytest.mark.parametrize("bad", [0, -1])
async def test_nothing_is_kept_or_read_by_less_than_one(pair: Pair, bad: int) -> None:
    start = await pair.here.open(LOG, ttl=60)
    with pytest.raises(ValueError, match="at least 1"):
        await pair.here.append(LOG, b"x", ttl=60, keep=bad)
    with pytest.raises(ValueError, match="at least 1"):
        await pair.here.read(LOG, after=start, limit=bad)
    assert await pair.there.open(LOG, ttl=60) == start


@pytest.mark.parametrize(
    "mark", ["", "*", "empty", "0123456789abcdeF", "0123456789abcdef0", "\uff10" * 16, "' or 1 -- ''''"]
)
async def test_a_mark_that_mint_would_not_make_is_refused(pair: Pair, mark: str) -> None:
    start = await pair.here.open(LOG, ttl=60)
    with pytest.raises(ValueError, match="mark"):
        await pair.here.append(LOG, b"x", ttl=60, keep=9, mark=mark)
    assert await pair.there.open(LOG, ttl=60) == start
