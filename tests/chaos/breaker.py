"""Whoever breaks things when their time has come: Redis, and the processes through their supervisor."""

import asyncio
import time
from collections.abc import Sequence

from tests.chaos.faults import OF_REDIS, Fault, Kind
from tests.chaos.ledger import Breakage, Ledger
from tests.chaos.supervisor import Supervisor
from tests.redis_server import RedisServer


class Breaker:
    """Breaks what a schedule says."""

    def __init__(self, ledger: Ledger, supervisor: Supervisor, redis: RedisServer) -> None:
        self._ledger = ledger
        self._supervisor = supervisor
        self._redis = redis

    async def run(self, faults: Sequence[Fault]) -> None:
        """Break everything at its time: what is of Redis one after the other, the rest whenever it is due."""
        began = time.monotonic()

        async def in_turn(some: Sequence[Fault]) -> None:
            for fault in some:
                await asyncio.sleep(max(0.0, began + fault.at - time.monotonic()))
                await (self._break_redis(fault) if fault.kind in OF_REDIS else self._supervisor.break_(fault))

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(in_turn([fault for fault in faults if fault.kind in OF_REDIS]))
            for fault in faults:
                if fault.kind not in OF_REDIS:
                    tasks.create_task(in_turn([fault]))

    async def _break_redis(self, fault: Fault) -> None:
        broken, by_hand = Breakage(fault.kind, -1, time.monotonic()), self._supervisor.by_hand
        self._ledger.breakages.append(broken)
        match fault.kind:
            case Kind.REDIS_FREEZE:
                self._redis.freeze()
                await asyncio.sleep(fault.lasting)
                self._redis.thaw()
            case Kind.REDIS_EMPTY:
                await by_hand(self._redis.stop)
                self._redis.wipe()
                await asyncio.sleep(fault.lasting)
                await by_hand(self._redis.start)
            case _:
                await by_hand(self._redis.kill)
                await asyncio.sleep(fault.lasting)
                await by_hand(self._redis.start)
        broken.ended = time.monotonic()
