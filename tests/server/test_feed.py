"""The events log as the streams of one process read it: once, in order, and a gap is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from mcpfleet.backplane.background import background
from mcpfleet.backplane.base import Entry, Position
from mcpfleet.backplane.intercepted import Intercepted
from mcpfleet.errors import LogGap
from mcpfleet.server.events import EVENTS
from mcpfleet.server.feed import RECENT, Feed
from tests.backplane.conftest import Pair
from tests.server.wire import DEADLINE
from tests.server.world import Link, eventually

TTL = 60.0


async def publish(pair: Pair, *data: bytes) -> list[Position]:
    """Append these on the other process."""
    return [await pair.there.append(EVENTS, each, ttl=TTL, keep=1000) for each in data]


@asynccontextmanager
async def reading(pair: Pair) -> AsyncIterator[Feed]:
    """A feed that has found the end of the log."""
    feed = Feed(pair.here, ttl=TTL)
    await feed.end()
    async with background(feed.run()):
        yield feed


async def take(feed: Feed, after: Position, count: int) -> list[Entry]:
    """The next entries after a position."""
    found: list[Entry] = []
    async with asyncio.timeout(DEADLINE), aclosing(feed.after(after, doubts=feed.doubts)) as entries:
        async for entry in entries:
            found.append(entry)
            if len(found) == count:
                break
    return found


async def test_what_was_there_and_what_comes_is_read_in_order_and_once(pair: Pair) -> None:
    async with reading(pair) as feed:
        start = await feed.end()
        await publish(pair, b"1", b"2")
        async with asyncio.TaskGroup() as tasks:
            taking = tasks.create_task(take(feed, start, 4))
            await publish(pair, b"3", b"4")
        assert [entry.data for entry in taking.result()] == [b"1", b"2", b"3", b"4"]


async def test_many_readers_cost_one_reader_of_the_store(pair: Pair) -> None:
    link = Link()
    feed = Feed(Intercepted(pair.here, link), ttl=TTL)
    async with background(feed.run()):
        end = await feed.end()
        await eventually(lambda: feed.recent(end) == ())
        async with asyncio.TaskGroup() as tasks:
            taking = [tasks.create_task(take(feed, end, 3)) for _ in range(50)]
            await publish(pair, b"1", b"2", b"3")
    assert {tuple(entry.data for entry in each.result()) for each in taking} == {(b"1", b"2", b"3")}
    assert len([verb for verb in link.verbs if verb.startswith("read")]) < 10


async def test_whoever_is_further_back_than_memory_reads_the_log_itself(pair: Pair) -> None:
    async with reading(pair) as feed:
        start = await feed.end()
        positions = await publish(pair, *(str(number).encode() for number in range(RECENT + 50)))
        await eventually(lambda: feed.recent(positions[-1]) == ())
        assert feed.recent(start) is None
        found = await take(feed, start, RECENT + 50)
    assert [entry.position for entry in found] == positions


async def test_a_position_of_another_history_is_a_gap_although_its_offset_is_in_memory(pair: Pair) -> None:
    async with reading(pair) as feed:
        positions = await publish(pair, b"1", b"2")
        await eventually(lambda: feed.recent(positions[-1]) == ())
        with pytest.raises(LogGap):
            await take(feed, Position(positions[0].offset, "0" * 16), 1)


async def test_a_log_that_is_lost_is_a_gap_for_everybody_and_is_read_on_from_its_new_beginning(pair: Pair) -> None:
    async with reading(pair) as feed:
        start = await feed.end()
        taking = asyncio.ensure_future(take(feed, start, 1))
        await pair.there.delete(EVENTS)
        with pytest.raises(LogGap):
            await taking
        again = await feed.end()
        await publish(pair, b"new")
        assert [entry.data for entry in await take(feed, again, 1)] == [b"new"]


async def test_a_loss_and_an_outage_are_told_to_whoever_keeps_other_things_in_the_store(pair: Pair) -> None:
    link, told = Link(), asyncio.Queue[None]()
    feed = Feed(Intercepted(pair.here, link), ttl=TTL, on_loss=lambda: told.put_nowait(None))
    await feed.end()
    async with asyncio.timeout(DEADLINE), background(feed.run()):
        await eventually(lambda: f"read {EVENTS}" in link.verbs)
        assert told.empty()
        await pair.there.delete(EVENTS)
        await told.get()
        end = await feed.end()
        await publish(pair, b"1")
        await take(feed, end, 1)
        link.away = True
        seen = len(link.verbs)
        await publish(pair, b"2")
        await eventually(lambda: len(link.verbs) > seen)
        link.away = False
        await told.get()


async def test_doubt_is_a_gap_for_whoever_reads_then_and_for_nobody_later(pair: Pair) -> None:
    async with reading(pair) as feed:
        start = await feed.end()
        taking = asyncio.ensure_future(take(feed, start, 1))
        await asyncio.sleep(0)  # it reads
        feed.doubt()
        with pytest.raises(LogGap):
            await taking
        await publish(pair, b"1")
        assert [entry.data for entry in await take(feed, start, 1)] == [b"1"]


async def test_doubt_between_a_position_and_its_first_reading_is_a_gap(pair: Pair) -> None:
    async with reading(pair) as feed:
        doubts = feed.doubts
        start = await feed.end()
        feed.doubt()
        async with aclosing(feed.after(start, doubts=doubts)) as entries:
            with pytest.raises(LogGap):
                await anext(entries)


async def test_an_outage_is_waited_out(pair: Pair) -> None:
    link = Link()
    link.away = True
    feed = Feed(Intercepted(pair.here, link), ttl=TTL)
    async with background(feed.run()):
        await eventually(lambda: len(link.verbs) > 1)
        link.away = False
        start = await feed.end()
        link.away = True
        taking = asyncio.ensure_future(take(feed, start, 1))
        await publish(pair, b"1")
        await eventually(lambda: link.verbs[-1].startswith("read"))
        link.away = False
        assert [entry.data for entry in await taking] == [b"1"]
