"""What the contract suite runs over: two processes' views of one store, in memory and in a real Redis."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from mcpfleet.backplane.base import Backplane
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.backplane.rediscontrol import RedisControl
from mcpfleet.backplane.storecontrol import MemoryControl, StoreControl
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
