"""Call streams on a real Redis that is frozen, killed, restarted and emptied, and raced over."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from random import Random

import pytest

from mcpfleet.backplane.background import background
from mcpfleet.backplane.base import Position
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.errors import LogGap, Unavailable
from mcpfleet.server.exchange import Exchange, Record, Retention
from mcpfleet.server.streams import CallEnded, CallStream, read_call
from tests.clock import Clock
from tests.redis_server import RedisServer, SharedRedis

RETENTION = Retention(ttl=60, keep=1000)
COMMAND_SECONDS = 0.2
LEASE = 2.0
"""Long enough for the arithmetic of leases: half of it is less than what is left after a period and a command."""
CALLS = 100
ROUNDS = 100
SOON = 30.0


class Process:
    """One process's view of a Redis, and its keeper."""

    def __init__(self, backplane: RedisBackplane, keeper: Keeper) -> None:
        self.backplane = backplane
        self.keeper = keeper

    async def open(self, tasks: asyncio.TaskGroup, exchange: Exchange, *, hold: float = 60.0) -> CallStream:
        """Open the stream of a call that this process runs."""
        record = Record(7, "tools/call")
        return await CallStream.open(
            tasks, self.backplane, self.keeper, exchange, record, retention=RETENTION, hold=hold
        )

    async def bodies(self, exchange: Exchange, after: Position) -> list[bytes | None]:
        """All messages of a call, as this process delivers them."""
        readings = read_call(
            self.backplane, self.keeper, exchange, after, retention=RETENTION, failure=lambda _: b"unknown"
        )
        return [reading.body async for reading in readings]


@asynccontextmanager
async def processes(url: str, namespace: str, number: int, *, lease: float) -> AsyncIterator[Sequence[Process]]:
    """So many processes, each with its own connections and a running keeper."""
    async with AsyncExitStack() as stack:
        found = []
        for _ in range(number):
            connected = RedisBackplane.at(url, namespace=namespace, command_timeout=COMMAND_SECONDS)
            backplane = await stack.enter_async_context(connected)
            found.append(Process(backplane, Keeper(backplane, lease=lease)))
        await stack.enter_async_context(background(*(process.keeper.run() for process in found)))
        yield found


async def in_contact(process: Process) -> None:
    """Wait until the process may call others dead."""
    async with asyncio.timeout(SOON):
        while True:
            if process.keeper.contact.unbroken_for(LEASE):
                return
            await asyncio.sleep(process.keeper.period / 4)


async def test_no_call_is_ended_because_redis_was_frozen_for_two_leases(own_redis: RedisServer) -> None:
    exchanges = [Exchange(f"session{n % 10}", f"{n:016x}") for n in range(CALLS)]
    async with processes(own_redis.url, "test", 2, lease=LEASE) as (runner, reader), asyncio.TaskGroup() as tasks:
        streams = [await runner.open(tasks, exchange) for exchange in exchanges]
        readings = [
            tasks.create_task(reader.bodies(exchange, stream.start))
            for exchange, stream in zip(exchanges, streams, strict=True)
        ]
        await in_contact(reader)
        own_redis.freeze()
        for stream in streams:
            await stream.write(b"progress")
        ending = [tasks.create_task(stream.end(b"result")) for stream in streams[::2]]
        await asyncio.sleep(2 * LEASE)  # this long it is frozen; there is nothing to wait for
        own_redis.thaw()
        await in_contact(reader)
        assert all(await asyncio.gather(*(reader.backplane.get(exchange.alive) for exchange in exchanges[1::2])))
        for stream in streams[1::2]:
            await stream.end(b"result")
        await asyncio.gather(*ending)
    assert [reading.result() for reading in readings] == [[b"progress", b"result"]] * CALLS


async def test_a_result_that_is_due_while_redis_restarts_is_delivered(own_redis: RedisServer) -> None:
    exchange = Exchange.new("session")
    async with processes(own_redis.url, "test", 2, lease=LEASE) as (runner, reader), asyncio.TaskGroup() as tasks:
        stream = await runner.open(tasks, exchange)
        reading = tasks.create_task(reader.bodies(exchange, stream.start))
        own_redis.kill()
        ending = tasks.create_task(stream.end(b"result"))
        await _unavailable(runner)
        own_redis.start()
        await ending
    assert reading.result() == [b"result"]


async def test_a_result_that_could_not_be_held_long_enough_becomes_an_error(own_redis: RedisServer) -> None:
    exchange = Exchange.new("session")
    async with processes(own_redis.url, "test", 2, lease=LEASE) as (runner, reader), asyncio.TaskGroup() as tasks:
        stream = await runner.open(tasks, exchange, hold=0.5)
        reading = tasks.create_task(reader.bodies(exchange, stream.start))
        own_redis.kill()
        with pytest.raises(Unavailable):
            await stream.end(b"result")
        own_redis.start()
        async with asyncio.timeout(SOON):
            assert await reading == [b"unknown"]


async def test_a_result_whose_stream_was_lost_with_all_of_redis_is_refused_and_its_readers_are_told(
    own_redis: RedisServer,
) -> None:
    exchange = Exchange.new("session")
    async with processes(own_redis.url, "test", 2, lease=LEASE) as (runner, reader), asyncio.TaskGroup() as tasks:
        stream = await runner.open(tasks, exchange)
        reading = tasks.create_task(_gap(reader, exchange, stream.start))
        own_redis.kill()
        ending = tasks.create_task(_refused(stream, b"result"))
        own_redis.wipe()
        own_redis.start()
        assert await ending
        assert await reading


async def _unavailable(process: Process) -> None:
    """Wait until the process has found that its store is away."""
    async with asyncio.timeout(SOON):
        with suppress(Unavailable):
            while True:
                await process.backplane.get("any/cell")
                await asyncio.sleep(0.01)


async def _gap(process: Process, exchange: Exchange, after: Position) -> bool:
    with pytest.raises(LogGap):
        await process.bodies(exchange, after)
    return True


async def _refused(stream: CallStream, body: bytes) -> bool:
    try:
        await stream.end(body)
    except CallEnded:
        return True
    return False


async def test_of_a_runner_and_three_who_believe_it_dead_exactly_one_ends_the_call(
    redis_server: SharedRedis, namespace: str
) -> None:
    random, ends = Random(20), set()
    lease = 0.006
    async with AsyncExitStack() as stack:
        views = [
            await stack.enter_async_context(RedisBackplane.at(redis_server.url, namespace=namespace)) for _ in range(4)
        ]
        clock = Clock()  # stands still after this, so that contact is never broken
        runner, *enders = (Process(view, Keeper(view, lease=lease, clock=clock)) for view in views)
        for _ in range(5):
            clock.pass_by(lease / 3)
            for ender in enders:
                ender.keeper.contact.answered(clock())
        for number in range(ROUNDS):
            ends.add(await _race(runner, enders, random, late=number % 10 * lease / 2))
    assert ends == {b"result", b"unknown"}


async def _race(runner: Process, enders: Sequence[Process], random: Random, *, late: float) -> bytes | None:
    """One call, whose lease nobody renews: the body of its only end."""
    exchange = Exchange.new("session")
    async with asyncio.TaskGroup() as tasks:
        stream = await runner.open(tasks, exchange)
        readings = [tasks.create_task(ender.bodies(exchange, stream.start)) for ender in enders]
        await asyncio.sleep(late * random.random())
        accepted = not await _refused(stream, b"result")
    assert len(await runner.backplane.read(exchange.log, after=stream.start)) == 1
    bodies = await runner.bodies(exchange, stream.start)
    assert [reading.result() for reading in readings] == [bodies] * 3
    assert bodies == ([b"result"] if accepted else [b"unknown"])
    return bodies[-1]
