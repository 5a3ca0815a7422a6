"""The pub/sub connection, against a real Redis that kills it."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from typing import NoReturn

import pytest

from mcpfleet.backplane.background import background
from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import Bell
from mcpfleet.backplane.redis import RedisBackplane
from tests.backplane.conftest import all_rung, only_node, rang
from tests.redis_server import SharedRedis

KILLS = 300
PATIENCE = 30.0


@pytest.fixture
async def backplane(redis_server: SharedRedis, namespace: str) -> AsyncIterator[RedisBackplane]:
    async with RedisBackplane.at(redis_server.url, namespace=namespace) as backplane:
        yield backplane


@pytest.fixture
async def other(redis_server: SharedRedis, namespace: str) -> AsyncIterator[RedisBackplane]:
    async with RedisBackplane.at(redis_server.url, namespace=namespace) as other:
        yield other


async def heard(bell: Bell) -> None:
    """Wait for the bell."""
    async with asyncio.timeout(PATIENCE):
        await bell.rung()


async def kill_the_listener(backplane: RedisBackplane, namespace: str) -> None:
    """End the pub/sub connections of a namespace, from the server's side."""
    listing = await only_node(backplane).link.submit(b"CLIENT", b"LIST", b"TYPE", b"pubsub")
    assert isinstance(listing, bytes)
    for line in listing.decode().splitlines():
        facts = dict(fact.split("=", 1) for fact in line.split())
        if facts["name"] == f"{namespace}:bells":
            await only_node(backplane).link.submit(b"CLIENT", b"KILL", b"ID", int(facts["id"]))


async def test_all_watchers_of_a_process_share_one_connection(backplane: RedisBackplane, namespace: str) -> None:
    async with AsyncExitStack() as stack:
        for number in range(1000):
            await stack.enter_async_context(backplane.watch(f"s/{number}", poll=60))
        await all_rung(backplane)
        listing = await only_node(backplane).link.submit(b"CLIENT", b"LIST")
        assert isinstance(listing, bytes)
        assert listing.decode().count(f"name={namespace}:") == 2
        assert only_node(backplane).switchboard.connections == 1


async def test_what_nobody_watches_is_not_subscribed(backplane: RedisBackplane, namespace: str) -> None:
    pattern = f"{namespace}*#bell".encode()
    async with AsyncExitStack() as stack:
        for number in range(600):
            await stack.enter_async_context(backplane.watch(f"s/{number}", poll=60))
        await all_rung(backplane)
    async with asyncio.timeout(PATIENCE):
        while await only_node(backplane).link.submit(b"PUBSUB", b"SHARDCHANNELS", pattern) != []:
            await all_rung(backplane)


async def test_after_the_connection_was_lost_every_bell_rings(
    backplane: RedisBackplane, other: RedisBackplane, namespace: str
) -> None:
    async with AsyncExitStack() as stack:
        bells = [await stack.enter_async_context(backplane.watch(f"s/{n}", poll=600)) for n in range(600)]
        for bell in bells:
            await heard(bell)  # its subscription's confirmation
        assert not any([await rang(bell) for bell in bells])
        await kill_the_listener(other, namespace)
        for bell in bells:
            await heard(bell)


async def test_a_forced_reconnect_rings_every_bell(backplane: RedisBackplane) -> None:
    async with backplane.watch("s/a", poll=600) as bell:
        await heard(bell)
        backplane.reconnect()
        await heard(bell)
        assert only_node(backplane).switchboard.connections == 2
        assert only_node(backplane).link.connections == 1


async def test_nobody_goes_deaf_while_the_connection_is_killed_again_and_again(
    redis_server: SharedRedis, other: RedisBackplane, namespace: str
) -> None:
    chance = random.Random(13)
    logs = [f"s/{number}" for number in range(20)]
    for log in logs:
        await other.open(log, ttl=600)
    watched = 0

    async def watcher(backplane: RedisBackplane) -> NoReturn:
        nonlocal watched
        while True:
            log = chance.choice(logs)
            async with backplane.watch(log, poll=600) as bell:
                mine = await other.append(log, b"x", ttl=600, keep=5)
                await heard(bell)
                while (await backplane.open(log, ttl=600)).offset < mine.offset:
                    await heard(bell)
                watched += 1

    at_once = partial(Backoff, first=0)
    async with RedisBackplane.at(redis_server.url, namespace=namespace, backoff=at_once) as backplane:
        async with background(*(watcher(backplane) for _ in range(10))):
            for _ in range(KILLS):
                await all_rung(backplane)
                for _ in range(chance.randrange(20)):
                    await asyncio.sleep(0)
                await kill_the_listener(other, namespace)
        assert backplane.alive
        assert only_node(backplane).switchboard.connections >= KILLS
        assert only_node(backplane).link.connections == 1
    assert watched > KILLS


async def test_leaving_and_entering_in_every_phase_of_the_subscription_misses_nothing(
    backplane: RedisBackplane, other: RedisBackplane
) -> None:
    await other.open("s/l", ttl=600)
    for turns in range(60):
        async with backplane.watch("s/l", poll=600):
            for _ in range(turns % 8):
                await asyncio.sleep(0)
        for _ in range(turns % 7):
            await asyncio.sleep(0)
        async with backplane.watch("s/l", poll=600) as bell:
            await other.append("s/l", b"x", ttl=600, keep=5)
            await heard(bell)
