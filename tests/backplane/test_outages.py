"""Followers and writers while Redis is killed, restarted, frozen, and while they are too slow."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing

import pytest

from mcpfleet.backplane.base import Backplane, Position, mint
from mcpfleet.backplane.follow import follow
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.errors import LogGap, Unavailable
from tests.backplane.conftest import only_node
from tests.redis_server import RedisServer, SharedRedis

LOG = "s/l"
PATIENCE = 60.0


async def take(view: Backplane, after: Position, count: int) -> list[bytes]:
    """The next entries, waited for through every outage."""
    taken: list[bytes] = []
    async with asyncio.timeout(PATIENCE), aclosing(follow(view, LOG, after, ttl=600)) as entries:
        async for entry in entries:
            taken.append(entry.data)
            if len(taken) == count:
                break
    return taken


async def write(view: Backplane, at: Position, numbers: range, done: asyncio.Semaphore) -> None:
    """Append each number once, whatever happens: the same append again until its fate is known."""
    for number in numbers:
        mark = mint()
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    at = await view.append(LOG, b"%d" % number, ttl=600, keep=9999, expect=at, mark=mark)
                except Unavailable:
                    await asyncio.sleep(0.001)
                else:
                    break
        done.release()


async def arrive(done: asyncio.Semaphore, count: int) -> None:
    """Wait until so many more appends have happened."""
    async with asyncio.timeout(PATIENCE):
        for _ in range(count):
            await done.acquire()


@pytest.mark.parametrize(
    "blow", [RedisServer.restart, pytest.param(lambda s: (s.freeze(), s.kill(), s.start()), id="frozen")]
)
async def test_everything_appended_is_followed_once_across_restarts(
    own_redis: RedisServer, blow: Callable[[RedisServer], object]
) -> None:
    async with (
        RedisBackplane.at(own_redis.url, namespace="test") as here,
        RedisBackplane.at(own_redis.url, namespace="test") as there,
    ):
        start, done, total = await here.open(LOG, ttl=600), asyncio.Semaphore(0), 200
        async with asyncio.TaskGroup() as group:
            taking = [group.create_task(take(view, start, total)) for view in (here, there)]
            group.create_task(write(here, start, range(total), done))
            for _ in range(3):
                await arrive(done, 30)
                blow(own_redis)
        assert [task.result() for task in taking] == [[b"%d" % number for number in range(total)]] * 2
        assert here.alive
        assert there.alive


async def test_followers_wait_while_redis_is_frozen_and_go_on_where_they_were(own_redis: RedisServer) -> None:
    async with RedisBackplane.at(
        own_redis.url, namespace="test", command_timeout=0.2, connect_timeout=0.2
    ) as backplane:
        start, done = await backplane.open(LOG, ttl=600), asyncio.Semaphore(0)
        async with asyncio.TaskGroup() as group:
            taking = group.create_task(take(backplane, start, 100))
            group.create_task(write(backplane, start, range(100), done))
            await arrive(done, 20)
            own_redis.freeze()
            async with asyncio.timeout(PATIENCE):
                for _ in range(5):  # five refused commands: the outage is known
                    with pytest.raises(Unavailable):
                        await backplane.get("s/a")
            assert not taking.done()
            own_redis.thaw()
        assert taking.result() == [b"%d" % number for number in range(100)]


async def test_followers_of_a_wiped_redis_are_told_of_the_gap(own_redis: RedisServer) -> None:
    async with RedisBackplane.at(own_redis.url, namespace="test") as backplane:
        start = await backplane.open(LOG, ttl=600)
        async with aclosing(follow(backplane, LOG, start, ttl=600)) as entries:
            await backplane.append(LOG, b"x", ttl=600, keep=9)
            await anext(entries)
            own_redis.stop()
            own_redis.wipe()
            own_redis.start()
            async with asyncio.timeout(PATIENCE):
                with pytest.raises(LogGap):
                    await anext(entries)


async def test_a_thousand_followers_of_one_connection_hear_everything_and_the_slow_one_hears_of_its_gap(
    redis_server: SharedRedis, namespace: str
) -> None:
    async with AsyncExitStack() as stack:
        here, there = [
            await stack.enter_async_context(RedisBackplane.at(redis_server.url, namespace=namespace)) for _ in range(2)
        ]
        start = await there.open(LOG, ttl=600)
        slow = await stack.enter_async_context(aclosing(follow(here, LOG, start, ttl=600)))
        async with asyncio.TaskGroup() as group:
            taking = [group.create_task(take(here, start, 30)) for _ in range(1000)]
            at = await there.append(LOG, b"0", ttl=600, keep=20)
            assert (await anext(slow)).data == b"0"
            for number in range(1, 30):
                at = await there.append(LOG, b"%d" % number, ttl=600, keep=99, expect=at)
        assert {tuple(task.result()) for task in taking} == {tuple(b"%d" % number for number in range(30))}
        await there.append(LOG, b"last", ttl=600, keep=3, expect=at)
        with pytest.raises(LogGap):
            await anext(slow)
        assert only_node(here).switchboard.connections == only_node(here).link.connections == 1
