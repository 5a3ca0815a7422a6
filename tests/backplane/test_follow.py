import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from mcpfleet.backplane.base import READ_BYTES, Backplane, Entry, Position
from mcpfleet.backplane.faults import Doubtful, Fate, interleavings, shuffles
from mcpfleet.backplane.follow import PAGE, follow
from mcpfleet.backplane.intercepted import Intercepted
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.errors import LogGap, Unavailable
from tests.backplane.conftest import Pair
from tests.server.world import Link, eventually

LOG = "s/l"


async def take(count: int, view: Backplane, after: Position) -> list[bytes]:
    """The next entries after a position, followed for at most ten seconds."""
    taken: list[bytes] = []
    async with asyncio.timeout(10), aclosing(follow(view, LOG, after, ttl=60, poll=60)) as entries:
        async for entry in entries:
            taken.append(entry.data)
            if len(taken) == count:
                break
    return taken


async def write(view: Backplane, *numbers: int, keep: int = 1000) -> None:
    """Append numbers."""
    for number in numbers:
        await view.append(LOG, b"%d" % number, ttl=60, keep=keep)


async def test_what_was_there_comes_first_and_then_what_comes(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    await write(pair.here, 0, 1)
    async with asyncio.TaskGroup() as group:
        taking = group.create_task(take(5, pair.there, start))
        await write(pair.here, 2, 3, 4)
    assert taking.result() == [b"0", b"1", b"2", b"3", b"4"]


async def test_a_follower_goes_on_from_any_position(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    await write(pair.here, *range(5))
    ends = [entry.position for entry in await pair.here.read(LOG, after=start)]
    for seen, position in enumerate((start, *ends[:4])):
        assert await take(5 - seen, pair.there, position) == [b"%d" % n for n in range(seen, 5)]


async def test_a_backlog_of_many_pages_comes_whole(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    await write(pair.here, *range(2 * PAGE + 7))
    assert await take(2 * PAGE + 7, pair.there, start) == [b"%d" % n for n in range(2 * PAGE + 7)]


async def test_a_backlog_of_large_entries_comes_whole(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    for number in range(6):
        await pair.here.append(LOG, b"%d" % number * (READ_BYTES // 2), ttl=60, keep=9)
    assert [data[:1] for data in await take(6, pair.there, start)] == [b"0", b"1", b"2", b"3", b"4", b"5"]


async def test_every_order_of_follower_and_writer_delivers_everything_once() -> None:
    for steps in interleavings():
        store = MemoryStore()
        start = await MemoryBackplane(store).open(LOG, ttl=60)
        _, taken = await steps.run(
            write(steps.view(MemoryBackplane(store)), 0, 1),
            take(2, steps.view(MemoryBackplane(store)), start),
        )
        assert taken == [b"0", b"1"], steps


async def test_many_orders_of_two_writers_and_two_followers_deliver_everything_once(pair: Pair) -> None:
    for number, steps in enumerate(shuffles(seed=20240517, times=20)):
        await pair.here.delete(LOG)
        start = await pair.here.open(LOG, ttl=60)
        views = [steps.view(each) for each in (pair.here, pair.there, pair.here, pair.there)]
        _, _, first, second = await steps.run(
            write(views[0], 0, 1, 2), write(views[1], 10, 11, 12), take(6, views[2], start), take(6, views[3], start)
        )
        assert first == second, (number, steps)
        assert sorted(first) == [b"0", b"1", b"10", b"11", b"12", b"2"], (number, steps)


async def test_a_follower_bears_every_doubt(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    await write(pair.here, 0, 1)
    fates = [Fate.UNSENT, Fate.LOST, Fate.UNANSWERED, Fate.DONE, Fate.UNSENT, Fate.LATE]
    async with asyncio.TaskGroup() as group:
        taking = group.create_task(take(3, Doubtful(fates).view(pair.there), start))
        await write(pair.here, 2)
    assert taking.result() == [b"0", b"1", b"2"]


async def test_a_slow_follower_of_a_trimmed_log_is_told_of_the_gap(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    await write(pair.here, 0)
    async with aclosing(follow(pair.there, LOG, start, ttl=60, poll=60)) as entries:
        assert (await anext(entries)).data == b"0"
        await write(pair.here, *range(1, 6), keep=3)
        await told_of_a_gap(entries)


async def test_deleting_the_log_ends_its_followers_at_once(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    await write(pair.here, 0)
    first, second = (follow(view, LOG, start, ttl=60, poll=60) for view in (pair.here, pair.there))
    async with aclosing(first), aclosing(second):
        assert [(await in_time(each)).data for each in (first, second)] == [b"0", b"0"]
        async with asyncio.TaskGroup() as group:
            for each in (first, second):
                group.create_task(told_of_a_gap(each))
            await pair.here.delete(LOG)


async def test_following_an_expired_log_is_a_gap(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=10)
    await pair.store.age(10)
    async with aclosing(follow(pair.there, LOG, start, ttl=60, poll=60)) as entries:
        await told_of_a_gap(entries)


async def test_an_outage_is_told_with_each_command_and_its_end_once(pair: Pair) -> None:
    link, returned, failed = Link(), asyncio.Event(), list[int]()
    start = await pair.here.open(LOG, ttl=60)
    link.away = True
    view = Intercepted(pair.here, link)
    following = follow(view, LOG, start, ttl=60, poll=60, on_outage=lambda: failed.append(1), on_return=returned.set)
    async with aclosing(following) as entries:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(in_time(entries))
            await eventually(lambda: len(link.verbs) > 1)
            assert not returned.is_set()
            link.away = False
            await write(pair.there, 0)
        assert first.result().data == b"0"
        assert returned.is_set()
        assert len(failed) >= 2
        failed.clear()
        returned.clear()
        await write(pair.there, 1)
        await in_time(entries)
        assert not returned.is_set()
        assert not failed


async def test_silence_is_told_with_where_it_began_and_may_be_ended_at_once(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    await write(pair.here, 0)
    silent: list[Position] = []

    async def break_silence(after: Position) -> bool:
        silent.append(after)
        if len(silent) == 2:
            await pair.there.append(LOG, b"1", ttl=60, keep=9, expect=after)
        return len(silent) == 2

    following = follow(pair.here, LOG, start, ttl=60, poll=0.01, on_silence=break_silence)
    async with aclosing(following) as entries:
        first = await in_time(entries)
        assert silent == []
        assert (await in_time(entries)).data == b"1"
    assert silent == [first.position] * 2


async def test_what_fails_in_a_silence_is_an_outage_too(pair: Pair) -> None:
    start = await pair.here.open(LOG, ttl=60)
    tried, told = list[int](), list[int]()

    async def fail_once(_after: Position) -> bool:
        tried.append(1)
        if len(tried) == 1:
            raise Unavailable("away")
        await write(pair.there, 0)
        return True

    following = follow(
        pair.here, LOG, start, ttl=60, poll=0.01, on_silence=fail_once, on_return=lambda: told.append(len(tried))
    )
    async with aclosing(following) as entries:
        assert (await in_time(entries)).data == b"0"
    assert told == [2]


async def in_time(entries: AsyncIterator[Entry]) -> Entry:
    """The next entry, within five seconds."""
    async with asyncio.timeout(5):
        return await anext(entries)


async def told_of_a_gap(entries: AsyncIterator[Entry]) -> None:
    """Demand that the follower does not go on."""
    with pytest.raises(LogGap):
        await in_time(entries)
