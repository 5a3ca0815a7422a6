"""What the contract suite runs over: two processes' views of one store: in memory, in a real Redis, in a Cluster."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from mcpfleet.backplane.base import Backplane, Bell, mint
from mcpfleet.backplane.intercepted import Intercepted
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.node import Node
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.backplane.rediscontrol import RedisControl
from mcpfleet.backplane.storecontrol import MemoryControl, StoreControl
from mcpfleet.errors import Unavailable
from tests.backplane.moving import Mover, StillControl
from tests.redis_server import SharedRedis, fresh_namespace


@dataclass(frozen=True, slots=True)
class Pair:
    """Two processes that share a store, and power over the store."""

    here: Backplane
    there: Backplane
    store: StoreControl[Any]


_WHILE_SLOTS_MOVE = {"test_agendas", "test_cells", "test_commits", "test_logs", "test_pools"}
_COUNTS_RINGS = {
    "test_a_refused_append_leaves_no_trace",
    "test_the_bells_of_what_is_named_ring_be_it_a_cell_or_nothing",
    "test_nothing_is_written_and_no_bell_rings_if_one_does_not",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the contract suite on each kind of store; what counts no rings also while the slots of a Cluster move."""
    if "pair" in metafunc.fixturenames:
        kinds = ["memory", "redis", "cluster"]
        module = metafunc.module.__name__.rpartition(".")[2]
        if module in _WHILE_SLOTS_MOVE and metafunc.definition.name not in _COUNTS_RINGS:
            kinds.append("moving")
        metafunc.parametrize("pair", kinds, indirect=True)


@pytest.fixture
async def pair(request: pytest.FixtureRequest) -> AsyncIterator[Pair]:
    """Two views of one store, of one kind."""
    if request.param == "memory":
        store = MemoryStore()
        yield Pair(MemoryBackplane(store), MemoryBackplane(store), MemoryControl(store))
        return
    shared: SharedRedis = request.getfixturevalue("redis_server" if request.param == "redis" else "redis_cluster")
    with fresh_namespace(shared) as namespace:
        async with (
            RedisBackplane.at(shared.url, namespace=namespace) as here,
            RedisBackplane.at(shared.url, namespace=namespace) as there,
        ):
            control = RedisControl(here, there)
            if request.param != "moving":
                yield Pair(here, there, control)
                return
            mover = Mover(request.getfixturevalue("running_cluster"))
            yield Pair(Intercepted(here, mover), Intercepted(there, mover), StillControl(control, mover))
            mover.rest()


def only_node(backplane: RedisBackplane) -> Node:
    """The one server of a backplane that is on no Cluster."""
    (node,) = backplane.servers.nodes
    return node


async def rang(bell: Bell) -> bool:
    """Whether the bell rang since it was last heard, by what has reached this process so far."""
    try:
        async with asyncio.timeout(0):
            await bell.rung()
    except TimeoutError:
        return False
    return True


async def all_rung(view: Backplane, *, scope: str = "s") -> None:
    """Return when every ring in the scope caused before the call has reached the process of that view.

    Rings reach a process in the order of their causes, so a log of our own that is watched from now on rings last.
    """
    fence = f"{scope}/fence/{mint()}"
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
