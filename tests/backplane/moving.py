"""A backplane on a Cluster whose slots move all the time, which the contract suite is not to notice."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mcpfleet.backplane.base import Bell
from mcpfleet.backplane.intercepted import Verb
from mcpfleet.backplane.storecontrol import StoreControl
from mcpfleet.errors import InDoubt, Unavailable
from tests.redis_cluster import Move, RedisCluster

_Result = TypeVar("_Result")


class Mover:
    """An interceptor: before every verb, the slot of its scope gets one step further on its way to another master.

    What did not happen is sent again, as a client who is told 503 does; never what is in doubt.
    """

    def __init__(self, cluster: RedisCluster) -> None:
        self._cluster = cluster
        self._move: Move | None = None

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        while True:
            self._step(name.partition("/")[0])
            try:
                return await act()
            except InDoubt:
                raise
            except Unavailable:
                await asyncio.sleep(0)

    def bell(self, inner: Bell, /) -> Bell:
        return inner

    def rest(self) -> None:
        """End the move that has begun, if one has."""
        if self._move is not None:
            self._move.carry()
            self._move.finish()
            self._move = None

    def _step(self, scope: str) -> None:
        if self._move is None:
            self._move = self._cluster.begin(scope)
        elif not self._move.carry(1):
            self.rest()


class StillControl:
    """A `StoreControl` that works between two moves, since no walk over all keys sees those on their way."""

    def __init__(self, control: StoreControl[Any], mover: Mover) -> None:
        self._control = control
        self._mover = mover

    async def save(self) -> Any:
        self._mover.rest()
        return await self._control.save()

    async def restore(self, state: Any) -> None:
        self._mover.rest()
        await self._control.restore(state)

    async def age(self, seconds: float) -> None:
        self._mover.rest()
        await self._control.age(seconds)

    async def names(self) -> list[str]:
        self._mover.rest()
        return await self._control.names()
