"""Whoever keeps the processes of a chaos run alive, and whoever breaks them, and their Redis, on purpose."""

import asyncio
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx2

from tests.balancer import Balancer
from tests.chaos.faults import OF_REDIS, Fault, Kind
from tests.chaos.ledger import Breakage, Ledger
from tests.processes import Serving, python
from tests.redis_server import RedisServer

COMMAND: Final = python("-m", "tests.chaos.server")
LOOK_SECONDS: Final = 0.05
START_SECONDS: Final = 40.0
DRAIN_DELAY: Final = 2.0
DRAIN_SECONDS: Final = 6.0
LEAVE_SECONDS: Final = 30.0
"""Within which a process that was told to stop must have ended, on a busy machine too."""

_Result = TypeVar("_Result")


class Supervisor:
    """Starts the processes and replaces each that ends; the balancer learns of a death by itself."""

    def __init__(self, ledger: Ledger, directory: Path, slots: int, environ: Mapping[str, str]) -> None:
        self.balancer: Balancer
        self._ledger = ledger
        self._directory = directory
        self._environ = environ
        self._processes: list[Serving | None] = [None] * slots
        self._breakage: list[Breakage | None] = [None] * slots
        self._started = 0
        # Processes end with the thread that started them, so one thread starts them all.
        self._hands = ThreadPoolExecutor(1, "hands")

    async def start(self) -> str:
        """Start all processes, and the balancer before them; return its URL."""
        fresh = [await self._begin() for _ in self._processes]
        for slot, process in enumerate(fresh):
            await asyncio.to_thread(process.await_greeting, START_SECONDS)
            self._processes[slot] = process
        self.balancer = Balancer([process.url for process in fresh])
        await asyncio.to_thread(self.balancer.__enter__)
        return self.balancer.url

    async def by_hand(self, act: Callable[..., _Result], *arguments: Any) -> _Result:
        """Do what starts or ends a process."""
        return await asyncio.get_running_loop().run_in_executor(self._hands, act, *arguments)

    async def run(self) -> None:
        """Replace whatever ends, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for slot in range(len(self._processes)):
                tasks.create_task(self._keep(slot))

    async def break_(self, fault: Fault) -> None:
        """Break the process of the fault's slot; if that is broken already, the next one that is not."""
        slots = [(fault.slot + step) % len(self._processes) for step in range(len(self._processes))]
        slot = next((each for each in slots if self._processes[each] and not self._breakage[each]), None)
        process = None if slot is None else self._processes[slot]
        if slot is None or process is None:
            await asyncio.sleep(LOOK_SECONDS)
            return await self.break_(fault)
        breakage = self._breakage[slot] = Breakage(fault.kind, slot, time.monotonic())
        self._ledger.breakages.append(breakage)
        match fault.kind:
            case Kind.KILL:
                process.kill()
                breakage.ended = time.monotonic()
            case Kind.STOP:
                process.terminate()
                await self._take_out(slot, process)
            case _:
                process.freeze()
                await asyncio.sleep(fault.lasting)
                process.thaw()
                breakage.ended = time.monotonic()
                self._breakage[slot] = None
        return None

    async def whole(self) -> None:
        """Return once every process is there, and nothing is being broken."""
        while not all(self._processes) or any(self._breakage):  # noqa: ASYNC110 - processes set no events
            await asyncio.sleep(LOOK_SECONDS)

    async def stop(self) -> None:
        """End everything in order."""
        running = [process for process in self._processes if process is not None]
        for process in running:
            process.thaw()
            process.terminate()
        for slot, process in enumerate(running):
            self._judge(slot, Kind.STOP, await asyncio.to_thread(_ended, process))

    def close(self) -> None:
        """End everything at once."""
        for process in self._processes:
            if process is not None and process.exit_code is None:
                process.kill()
        if hasattr(self, "balancer"):
            self.balancer.__exit__()
        self._hands.shutdown()

    async def _begin(self) -> Serving:
        self._started += 1
        log = self._directory / f"process-{self._started}.log"
        return await self.by_hand(Serving, COMMAND, self._environ, log)

    async def _keep(self, slot: int) -> None:
        while True:
            process = self._processes[slot]
            assert process is not None
            while process.exit_code is None:
                self.balancer_knows(slot, process)
                await asyncio.sleep(LOOK_SECONDS)
            self._processes[slot] = None
            breakage = self._breakage[slot]
            self._judge(slot, None if breakage is None else breakage.kind, process.exit_code)
            fresh = await self._begin()
            await asyncio.to_thread(fresh.await_greeting, START_SECONDS)
            self.balancer.replace(slot, fresh.url)
            self._processes[slot], self._breakage[slot] = fresh, None
            if breakage is not None and breakage.ended is None:
                breakage.ended = time.monotonic()

    def balancer_knows(self, slot: int, process: Serving) -> None:
        """Tell the balancer that a process lives: it may have taken a slow one for dead."""
        breakage = self._breakage[slot]
        if slot in self.balancer.dead and (breakage is None or breakage.kind is Kind.FREEZE):
            self.balancer.replace(slot, process.url)

    async def _take_out(self, slot: int, process: Serving) -> None:
        """Send no more requests to a process that says that it is unready, as any balancer does."""
        url = process.url.removesuffix("/mcp") + "/readyz"
        async with httpx2.AsyncClient(timeout=1, trust_env=False) as http:
            while process.exit_code is None:
                try:
                    if (await http.get(url)).status_code != httpx2.codes.OK:
                        break
                except httpx2.HTTPError:
                    break
                await asyncio.sleep(LOOK_SECONDS)
        if self._processes[slot] is process:
            self.balancer.dead.add(slot)
        began = time.monotonic()
        while process.exit_code is None:
            if time.monotonic() - began > LEAVE_SECONDS:
                self._ledger.overdue.append(f"SIGTERM to process {slot}")
                process.kill()
            await asyncio.sleep(LOOK_SECONDS)

    def _judge(self, slot: int, expected: Kind | None, code: int | None) -> None:
        wanted = {Kind.KILL: -signal.SIGKILL, Kind.STOP: 0}.get(expected) if expected else None
        if code != wanted:
            told = "by itself" if expected is None else f"after its {expected.value}"
            self._ledger.deaths.append(f"process {slot} ended {told}, with code {code}")


def _ended(process: Serving) -> int | None:
    try:
        return process.await_exit(LEAVE_SECONDS)
    except AssertionError:
        return None


class RedisBreaker:
    """Breaks a Redis, one fault after the other."""

    def __init__(self, ledger: Ledger, supervisor: Supervisor, redis: RedisServer) -> None:
        self._ledger = ledger
        self._supervisor = supervisor
        self._redis = redis

    async def break_(self, fault: Fault) -> None:
        """Break it, for as long as the fault lasts."""
        breakage = Breakage(fault.kind, -1, time.monotonic())
        self._ledger.breakages.append(breakage)
        match fault.kind:
            case Kind.REDIS_FREEZE:
                self._redis.freeze()
                await asyncio.sleep(fault.lasting)
                self._redis.thaw()
            case Kind.REDIS_EMPTY:
                await self._supervisor.by_hand(self._redis.stop)
                self._redis.wipe()
                await asyncio.sleep(fault.lasting)
                await self._supervisor.by_hand(self._redis.start)
            case _:
                await self._supervisor.by_hand(self._redis.kill)
                await asyncio.sleep(fault.lasting)
                await self._supervisor.by_hand(self._redis.start)
        breakage.ended = time.monotonic()


async def break_all(faults: Sequence[Fault], supervisor: Supervisor, redis: RedisBreaker) -> None:
    """Break everything at its time: what is of Redis one after the other, and the rest whenever it is due."""
    began = time.monotonic()

    async def at_its_time(fault: Fault) -> None:
        await asyncio.sleep(max(0.0, began + fault.at - time.monotonic()))
        await (redis if fault.kind in OF_REDIS else supervisor).break_(fault)

    async def in_turn(some: Sequence[Fault]) -> None:
        for fault in some:
            await at_its_time(fault)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(in_turn([fault for fault in faults if fault.kind in OF_REDIS]))
        for fault in faults:
            if fault.kind not in OF_REDIS:
                tasks.create_task(at_its_time(fault))
