"""Whoever keeps the processes of a chaos run alive, and breaks them on purpose."""

import asyncio
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx2

from tests.balancer import Balancer
from tests.chaos.faults import Fault, Kind
from tests.chaos.ledger import Breakage, Ledger
from tests.processes import Serving, python

COMMAND: Final = python("-m", "tests.chaos.server")
LOOK_SECONDS: Final = 0.05
START_SECONDS: Final = 40.0
DRAIN_DELAY: Final = 2.0
DRAIN_SECONDS: Final = 6.0
LEAVE_SECONDS: Final = 30.0
"""Within which a process that was told to stop must have ended, on a busy machine too."""
EXPECTED: Final = {Kind.KILL: -signal.SIGKILL, Kind.STOP: 0}
"""With which code a process ends that was broken so; one that was not must not end."""

_Result = TypeVar("_Result")


class Slot:
    """A place in the fleet: the process that is there now, if there is one, and what was done to it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.process: Serving | None = None
        self.broken: Breakage | None = None


class Supervisor:
    """Starts the processes and replaces each that ends; the balancer learns of a death by itself."""

    def __init__(
        self,
        ledger: Ledger,
        directory: Path,
        slots: int,
        environ: Mapping[str, str],
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._ledger = ledger
        self._command = command
        self._directory = directory
        self._environ = environ
        self._slots = [Slot(number) for number in range(slots)]
        self._balancer = Balancer([])
        self._started = 0
        # Processes end with the thread that started them, so one thread starts them all.
        self._hands = ThreadPoolExecutor(1, "hands")

    async def start(self) -> str:
        """Start all processes, and the balancer before them; return its URL."""
        for slot in self._slots:
            slot.process = await self._begin()
        urls = [await self._serving(slot.process) for slot in self._slots if slot.process is not None]
        self._balancer = Balancer(urls)
        await asyncio.to_thread(self._balancer.__enter__)
        return self._balancer.url

    async def by_hand(self, act: Callable[..., _Result], *arguments: Any) -> _Result:
        """Do what starts a process."""
        return await asyncio.get_running_loop().run_in_executor(self._hands, act, *arguments)

    async def run(self) -> None:
        """Replace whatever ends, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for slot in self._slots:
                tasks.create_task(self._keep(slot))

    async def break_(self, fault: Fault) -> None:
        """Break the process of the fault's slot; if that is broken already, the next one that is not."""
        slot = await self._whole(fault.slot)
        process = slot.process
        assert process is not None
        broken = slot.broken = Breakage(fault.kind, slot.number, time.monotonic())
        self._ledger.breakages.append(broken)
        match fault.kind:
            case Kind.KILL:
                process.kill()
                broken.ended = time.monotonic()
            case Kind.STOP:
                process.terminate()
                await self._take_out(slot, process)
                await self._await_end(slot, process)
            case _:
                process.freeze()
                await asyncio.sleep(fault.lasting)
                process.thaw()
                broken.ended = time.monotonic()
                slot.broken = None

    async def all_whole(self) -> None:
        """Return once every process is there, and nothing is being broken."""
        for slot in self._slots:
            while slot.process is None or slot.broken is not None:  # noqa: ASYNC110 - processes set no events
                await asyncio.sleep(LOOK_SECONDS)

    async def stop(self) -> None:
        """End everything in order."""
        running = [slot for slot in self._slots if slot.process is not None]
        for slot in running:
            assert slot.process is not None
            slot.broken = Breakage(Kind.STOP, slot.number, time.monotonic())
            slot.process.terminate()
        for slot in running:
            assert slot.process is not None
            await self._await_end(slot, slot.process)
            self._judge(slot, slot.process)

    def close(self) -> None:
        """End everything at once."""
        for slot in self._slots:
            if slot.process is not None and slot.process.exit_code is None:
                slot.process.kill()
        if self._balancer.url:
            self._balancer.__exit__()
        self._hands.shutdown()

    async def _begin(self) -> Serving:
        self._started += 1
        log = self._directory / f"process-{self._started}.log"
        return await self.by_hand(Serving, self._command, self._environ, log)

    async def _serving(self, process: Serving) -> str:
        """The URL of a process, once it serves."""
        return (await asyncio.to_thread(process.await_greeting, START_SECONDS)).url

    async def _keep(self, slot: Slot) -> None:
        while (process := slot.process) is not None:
            while process.exit_code is None:
                self._revive(slot, process)
                await asyncio.sleep(LOOK_SECONDS)
            slot.process = None
            self._judge(slot, process)
            fresh = await self._begin()
            self._balancer.replace(slot.number, await self._serving(fresh))
            if slot.broken is not None and slot.broken.ended is None:
                slot.broken.ended = time.monotonic()
            slot.process, slot.broken = fresh, None

    async def _whole(self, first: int) -> Slot:
        """The first slot from here on that is not broken, once there is one."""
        while True:
            for slot in self._slots[first:] + self._slots[:first]:
                if slot.process is not None and slot.broken is None:
                    return slot
            await asyncio.sleep(LOOK_SECONDS)

    def _revive(self, slot: Slot, process: Serving) -> None:
        """Tell the balancer that a process lives: it may have taken a slow one for dead."""
        if slot.number in self._balancer.dead and slot.broken is None:
            self._balancer.replace(slot.number, process.url)

    async def _take_out(self, slot: Slot, process: Serving) -> None:
        """Send no more requests to a process once it says that it is unready, as any balancer does."""
        url = process.url.removesuffix("/mcp") + "/readyz"
        async with httpx2.AsyncClient(timeout=1, trust_env=False) as http:
            while process.exit_code is None:
                try:
                    if (await http.get(url)).status_code != httpx2.codes.OK:
                        break
                except httpx2.HTTPError:
                    break
                await asyncio.sleep(LOOK_SECONDS)
        if slot.process is process:
            self._balancer.dead.add(slot.number)

    async def _await_end(self, slot: Slot, process: Serving) -> None:
        began = time.monotonic()
        while process.exit_code is None:
            if time.monotonic() - began > LEAVE_SECONDS:
                self._ledger.overdue.append(f"SIGTERM to process {slot.number}")
                process.kill()
            await asyncio.sleep(LOOK_SECONDS)

    def _judge(self, slot: Slot, process: Serving) -> None:
        """Note a process that ended by itself, or otherwise than it was told to."""
        kind = None if slot.broken is None else slot.broken.kind
        if kind is None or process.exit_code != EXPECTED.get(kind):
            told = "by itself" if kind is None else f"after its {kind.value}"
            self._ledger.deaths.append(f"process {slot.number} ended {told}, with code {process.exit_code}")
