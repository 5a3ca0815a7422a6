import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

from mcpfleet.backplane.base import MAX_ENTRY_BYTES, Backplane, Bell, Position
from mcpfleet.backplane.faults import Doubtful, Fate
from mcpfleet.backplane.intercepted import Intercepted, Verb
from mcpfleet.backplane.leases import Keeper
from mcpfleet.errors import LogGap, TooLarge, Unavailable
from mcpfleet.server.exchange import Delivery, Exchange, Record, Retention, discard, find
from mcpfleet.server.streams import MAX_QUEUED, CallEnded, CallStream, read_call
from tests.backplane.conftest import Pair
from tests.clock import Clock

_Result = TypeVar("_Result")

LEASE = 0.45
"""Looks for a dead runner come every third of it in real time; the leases themselves end by the test's clock."""
RETENTION = Retention(ttl=300, keep=100)
SOON = 20.0
OPENING = ["put record", "put lease", "open log"]
"""What opens a stream, in this order."""


class Shaky(Intercepted):
    """A view of a store whose appends the test can hold up or let fail, and that counts the looks for a runner."""

    def __init__(self, inner: Backplane) -> None:
        super().__init__(inner, self)
        self.gate = asyncio.Event()
        self.gate.set()
        self.fate = Fate.DONE
        self.appends: asyncio.Queue[str] = asyncio.Queue()
        self.looks: asyncio.Queue[str] = asyncio.Queue()

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        if verb == "append":
            self.appends.put_nowait(name)
            await self.gate.wait()
            return await Doubtful([self.fate]).verb(verb, name, act)
        if verb == "get" and name.endswith("/alive"):
            self.looks.put_nowait(name)
        return await act()

    def bell(self, inner: Bell, /) -> Bell:
        return inner


class Stage:
    """Two processes: one runs a call, the other reads it."""

    def __init__(self, pair: Pair) -> None:
        self.clock = Clock()
        self.store = pair.store
        self.here, self.there = Shaky(pair.here), Shaky(pair.there)
        self.runner, self.reader = (Keeper(one, lease=LEASE, clock=self.clock) for one in (self.here, self.there))
        self.exchange = Exchange.new("session")

    async def open(
        self, tasks: asyncio.TaskGroup, *, hold: float = 60.0, retention: Retention = RETENTION
    ) -> CallStream:
        """Open the call's stream."""
        record = Record(7, "tools/call")
        return await CallStream.open(
            tasks, self.here, self.runner, self.exchange, record, retention=retention, hold=hold
        )

    def read(self, after: Position) -> AsyncIterator[Delivery]:
        """Follow the call on the other process."""
        return read_call(
            self.there,
            self.reader,
            self.exchange,
            after,
            retention=RETENTION,
            failure=lambda id_: f"unknown {id_}".encode(),
        )

    async def bodies(self, after: Position) -> list[bytes | None]:
        """All messages up to the end, as the other process delivers them."""
        deliveries = [delivery async for delivery in self.read(after)]
        assert [delivery.last for delivery in deliveries] == [False] * (len(deliveries) - 1) + [True]
        offsets = [delivery.position.offset for delivery in deliveries]
        assert offsets == list(range(after.offset + 1, after.offset + 1 + len(offsets)))
        return [delivery.body for delivery in deliveries]

    async def let_the_runner_die(self, *, but: Keeper | None = None) -> None:
        """Let two lease times pass, in which only the other process, and who is excepted, makes its rounds."""
        for _ in range(7):
            await self.reader.round()
            if but:
                await but.round()
            await self.sleep(LEASE / 3)
        await self.reader.round()

    async def sleep(self, seconds: float) -> None:
        """Let time pass, for the store and for both processes."""
        self.clock.pass_by(seconds)
        await self.store.age(seconds)


async def for_ever() -> None:
    """What a handler does that somebody must stop."""
    await asyncio.sleep(SOON)
    pytest.fail("nobody stopped the handler")


@contextmanager
def stopped_by(kind: type[Exception]) -> Iterator[None]:
    """The block's task group must be stopped by an exception of that kind."""
    with pytest.raises(ExceptionGroup) as raised:
        yield
    assert raised.group_contains(kind)


@pytest.fixture
async def stage(pair: Pair) -> Stage:
    return Stage(pair)


async def test_the_messages_of_a_call_reach_another_process_in_order_up_to_the_end(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        reading = tasks.create_task(stage.bodies(stream.start))
        for n in range(100):
            await stream.write(b"%d" % n)
        await stream.end(b"result")
    assert reading.result() == [b"%d" % n for n in range(100)] + [b"result"]


async def test_a_call_may_end_without_a_response(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        await stream.end(None)
    assert await stage.bodies(stream.start) == [None]


async def test_a_reader_resumes_where_another_stopped(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        for n in range(5):
            await stream.write(b"%d" % n)
        async for delivery in stage.read(stream.start):
            if delivery.body == b"2":
                break
        await stream.end(b"result")
    assert await stage.bodies(delivery.position) == [b"3", b"4", b"result"]


async def test_an_ended_call_leaves_its_record_and_its_log_and_no_lease(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        assert await stage.there.get(stage.exchange.alive)
        await stream.end(b"result")
    assert await stage.there.get(stage.exchange.alive) is None
    assert await find(stage.there, stage.exchange) == Record(7, "tools/call")
    await stage.sleep(RETENTION.ttl - 1)
    assert await stage.bodies(stream.start) == [b"result"]


async def test_what_is_queued_while_an_append_is_under_way_is_replaced_by_newer_progress(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        stage.here.gate.clear()
        for n in range(1000):
            await stream.write(b"progress %d" % n, coalesce="progress")
            await asyncio.sleep(0)
        await stream.write(b"log")
        stage.here.gate.set()
        await stream.end(b"result")
    assert await stage.bodies(stream.start) == [b"progress 0", b"progress 999", b"log", b"result"]


async def test_a_writer_waits_while_the_queue_is_full(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        stage.here.gate.clear()
        writing = tasks.create_task(_write_many(stream, MAX_QUEUED + 10))
        await stage.here.appends.get()
        for _ in range(10):
            await asyncio.sleep(0)
        assert not writing.done()
        stage.here.gate.set()
        await writing
        await stream.end(b"result")
    assert len(await stage.bodies(stream.start)) == MAX_QUEUED + 11


async def _write_many(stream: CallStream, number: int) -> None:
    for n in range(number):
        await stream.write(b"%d" % n)


async def test_a_message_too_large_for_the_store_is_refused_and_nothing_else_is_lost(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        with pytest.raises(TooLarge):
            await stream.write(bytes(MAX_ENTRY_BYTES))
        with pytest.raises(TooLarge):
            await stream.end(bytes(MAX_ENTRY_BYTES))
        await stream.end(b"too large")
    assert await stage.bodies(stream.start) == [b"too large"]


async def test_nothing_follows_the_end(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        await stream.end(b"result")
        with pytest.raises(CallEnded):
            await stream.write(b"more")
        with pytest.raises(CallEnded):
            await stream.end(b"another")
    assert await stage.bodies(stream.start) == [b"result"]


async def test_a_dead_runners_call_is_ended_by_whoever_follows_it(stage: Stage) -> None:
    with stopped_by(CallEnded):
        async with asyncio.TaskGroup() as tasks:
            stream = await stage.open(tasks)
            await stream.write(b"progress")
            reading = [asyncio.ensure_future(stage.bodies(stream.start)) for _ in range(3)]
            await stage.let_the_runner_die()
            assert await asyncio.gather(*reading) == [[b"progress", b"unknown 7"]] * 3
            await stream.write(b"late progress")
            await for_ever()
    assert await stage.bodies(stream.start) == [b"progress", b"unknown 7"]


async def test_a_late_result_of_a_runner_that_was_given_up_is_refused(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        reading = tasks.create_task(stage.bodies(stream.start))
        await stage.let_the_runner_die()
        assert await reading == [b"unknown 7"]
        with pytest.raises(CallEnded):
            await stream.end(b"late result")
    assert await stage.bodies(stream.start) == [b"unknown 7"]


async def test_a_silent_runner_that_wakes_learns_from_its_lost_lease_that_its_call_was_ended(stage: Stage) -> None:
    with stopped_by(CallEnded):
        async with asyncio.TaskGroup() as tasks:
            stream = await stage.open(tasks)
            reading = tasks.create_task(stage.bodies(stream.start))
            await stage.let_the_runner_die()
            await reading
            await stage.runner.round()
            await for_ever()


async def test_a_runner_whose_lease_vanished_goes_on_if_nobody_ended_the_call(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        await stream.write(b"progress")
        await stage.there.delete(stage.exchange.alive)
        await stage.runner.round()
        await stream.write(b"more")
        await stream.end(b"result")
    assert await stage.bodies(stream.start) == [b"progress", b"more", b"result"]


async def test_a_stream_that_is_discarded_stops_its_runner_and_its_readers(stage: Stage) -> None:
    with stopped_by(CallEnded):
        async with asyncio.TaskGroup() as tasks:
            stream = await stage.open(tasks, retention=Retention(ttl=4 * LEASE, keep=100))
            reading = asyncio.ensure_future(stage.bodies(stream.start))
            await asyncio.sleep(0)
            await discard(stage.there, stage.exchange)
            with pytest.raises(LogGap):
                await reading
            await stage.let_the_runner_die(but=stage.runner)  # it lives, and comes to touch its log
            await for_ever()
    assert not [name for name in await stage.store.names() if stage.exchange.id in name]


async def test_the_log_and_the_record_of_a_silent_call_are_kept_while_its_runner_lives(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        for _ in range(50):
            await stage.sleep(RETENTION.ttl / 5)
            await stage.runner.round()
        await stream.end(b"result")
    assert await find(stage.there, stage.exchange)
    assert await stage.bodies(stream.start) == [b"result"]


@pytest.mark.parametrize("fate", [Fate.UNSENT, Fate.LOST, Fate.UNANSWERED])
async def test_a_result_is_held_while_the_store_is_away_and_delivered_once(stage: Stage, fate: Fate) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        stage.here.fate = fate
        await stream.write(b"progress")
        ending = tasks.create_task(stream.end(b"result"))
        for _ in range(3):
            await stage.here.appends.get()
        assert not ending.done()
        stage.here.fate = Fate.DONE
    assert await stage.bodies(stream.start) == [b"progress", b"result"]


async def test_an_outage_longer_than_a_result_is_held_is_said_to_whoever_ends_the_call(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks, hold=0.05)
        stage.here.fate = Fate.UNSENT
        with pytest.raises(Unavailable):
            await stream.end(b"result")


async def test_an_outage_longer_than_messages_are_held_stops_the_handler(stage: Stage) -> None:
    with stopped_by(Unavailable):
        async with asyncio.TaskGroup() as tasks:
            stream = await stage.open(tasks, hold=0.05)
            stage.here.fate = Fate.UNSENT
            await stream.write(b"progress")
            await for_ever()


async def test_who_waits_for_room_in_a_stream_that_fails_is_told(stage: Stage) -> None:
    with stopped_by(Unavailable):
        async with asyncio.TaskGroup() as tasks:
            stream = await stage.open(tasks, hold=0.05)
            stage.here.fate = Fate.UNSENT
            writing = asyncio.ensure_future(_write_many(stream, MAX_QUEUED + 10))
            await for_ever()
    with pytest.raises(Unavailable):
        await writing


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE])
@pytest.mark.parametrize("command", OPENING)
async def test_a_stream_whose_opening_was_in_doubt_is_open(pair: Pair, command: str, fate: Fate) -> None:
    doubtful = Doubtful([*[Fate.DONE] * OPENING.index(command), fate])
    view, exchange = doubtful.view(pair.here), Exchange.new("session")
    async with asyncio.TaskGroup() as tasks:
        stream = await CallStream.open(
            tasks, view, Keeper(view, lease=LEASE), exchange, Record(7, "tools/call"), retention=RETENTION
        )
        await doubtful.deliver()
        await stream.end(b"result")
    assert len(await pair.there.read(exchange.log, after=stream.start)) == 1


@pytest.mark.parametrize("fate", [Fate.UNSENT, Fate.LOST, Fate.UNANSWERED])
@pytest.mark.parametrize("command", OPENING)
async def test_a_stream_that_cannot_be_opened_leaves_nothing_that_its_keeper_keeps(
    pair: Pair, command: str, fate: Fate
) -> None:
    view = Doubtful([*[Fate.DONE] * OPENING.index(command), fate, fate]).view(pair.here)
    keeper, exchange = Keeper(view, lease=LEASE), Exchange.new("session")
    async with asyncio.TaskGroup() as tasks:
        with pytest.raises(Unavailable):
            await CallStream.open(tasks, view, keeper, exchange, Record(7, "tools/call"), retention=RETENTION)
    await pair.store.age(LEASE)
    await keeper.round()
    assert await pair.there.get(exchange.alive) is None


async def test_after_an_outage_that_ended_every_lease_nobody_is_dead_before_a_lease_time_has_passed(
    stage: Stage,
) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        await stage.let_the_runner_die()
        stage.reader.contact.lost()  # in truth the store was away, and no lease could be renewed
        await stage.reader.round()
        reading = tasks.create_task(stage.bodies(stream.start))
        for _ in range(5):
            await stage.there.looks.get()
        await stage.runner.round()
        await stage.let_the_runner_die(but=stage.runner)
        await stream.end(b"result")
    assert reading.result() == [b"result"]


async def test_what_was_trimmed_before_it_was_read_is_a_gap(stage: Stage) -> None:
    async with asyncio.TaskGroup() as tasks:
        stream = await stage.open(tasks)
        for n in range(RETENTION.keep + 1):
            await stream.write(b"%d" % n)
        await stream.end(b"result")
    with pytest.raises(LogGap):
        await stage.bodies(stream.start)


async def test_the_writer_of_a_cancelled_runner_says_that_it_was_stopped(stage: Stage) -> None:
    opened: asyncio.Future[CallStream] = asyncio.get_running_loop().create_future()

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            opened.set_result(await stage.open(tasks))
            await for_ever()

    running = asyncio.ensure_future(run())
    stream = await opened
    running.cancel()
    await asyncio.wait([running])
    with pytest.raises(CallEnded, match="stopped"):
        await stream.end(b"result")
    assert await stage.there.get(stage.exchange.alive) is None
