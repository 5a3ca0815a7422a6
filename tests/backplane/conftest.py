"""What the contract suite runs over: two processes' views of one store, in memory and in a real Redis."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from mcpfleet.backplane.base import Backplane, Bell, mint
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.backplane.rediscontrol import RedisControl
from mcpfleet.backplane.storecontrol import MemoryControl, StoreControl
from mcpfleet.errors import Unavailable
from tests.redis_server import SharedRedis


@dataclass(frozen=True, slots=True)
class Pair:
    """Two processes that share a store, and power over the store."""

    here: Backplane
    there: Backplane
    store: StoreControl[Any]


@pytest.fixture(params=["memory", "redis"])
async def pair(request: pytest.FixtureRequest) -> AsyncIterator[Pair]:
    """Two views of one store, once for each backend."""
    if request.param == "memory":
        store = MemoryStore()
        yield Pair(MemoryBackplane(store), MemoryBackplane(store), MemoryControl(store))
        return
    server: SharedRedis = request.getfixturevalue("redis_server")
    namespace: str = request.getfixturevalue("namespace")
    async with (
        RedisBackplane.at(server.url, namespace=namespace) as here,
        RedisBackplane.at(server.url, namespace=namespace) as there,
    ):
        yield Pair(here, there, RedisControl(here, there))


async def rang(bell: Bell) -> bool:
    """Whether the bell rang since it was last heard, by what has reached this process so far."""
    try:
        async with asyncio.timeout(0):
            await bell.rung()
    except TimeoutError:
        return False
    return True


async def all_rung(view: Backplane) -> None:
    """Return when every ring caused before the call has reached the process of that view.

    Rings reach a process in the order of their causes, so a log of our own that is watched from now on rings last.
    """
    fence = f"fence/{mint()}"
    await view.open(fence, ttl=5)
    async with asyncio.timeout(5), view.watch(fence, poll=60) as bell:
        await view.append(fence, b"", ttl=5, keep=1)
        await bell.rung()


async def answered(view: Backplane) -> None:
    """Return when the store answers again, at the latest after twenty seconds."""
    async with asyncio.timeout(20):
        while True:
            try:
                await view.get("fence/answer")
            except Unavailable:
                await asyncio.sleep(0.01)
            else:
                return
