"""The worker tier of a run, and whoever keeps its processes alive, and breaks them on purpose."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.chaos.faults import Kind
from tests.chaos.ledger import Breakage, Ledger
from tests.chaos.supervisor import Supervisor
from tests.processes import Serving

LOOK_SECONDS: Final = 0.05
WORKING: Final = "working as"
"""What a worker says once it takes tasks."""


class Place:
    """A place in the tier, and the process that is there."""

    def __init__(self) -> None:
        self.process: Serving | None = None
        self.broken = False
        """Whether it is frozen, or has been told to stop."""

    @property
    def works(self) -> bool:
        """Whether its process takes tasks."""
        return self.process is not None and not self.broken and WORKING in self.process.log_tail()


class Workers:
    """Starts workers, and replaces at once each that ends."""

    def __init__(
        self,
        ledger: Ledger,
        supervisor: Supervisor,
        directory: Path,
        count: int,
        environ: Mapping[str, str],
        command: Sequence[str],
    ) -> None:
        """Whatever starts a process is done by the supervisor's hand."""
        self.started = 0
        self._ledger = ledger
        self._by_hand = supervisor.by_hand
        self._directory = directory
        self._environ = environ
        self._command = command
        self._places = [Place() for _ in range(count)]

    async def run(self) -> None:
        """Keep every place filled until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for place in self._places:
                tasks.create_task(self._keep(place))

    async def all_work(self) -> None:
        """Return once there is one at every place, and takes tasks."""
        while not all(place.works for place in self._places):  # noqa: ASYNC110 - processes set no events
            await asyncio.sleep(LOOK_SECONDS)

    async def kill(self, number: int) -> None:
        """End the one at this place that works, or else the next one, as soon as one does."""
        place = await self._working(number)
        assert place.process is not None
        now = time.monotonic()
        self._ledger.breakages.append(Breakage(Kind.KILL, number, now, now))
        place.process.kill()

    async def freeze(self, number: int, lasting: float) -> None:
        """Stop one so where it is, and let it go on after a while."""
        place = await self._working(number)
        assert place.process is not None
        broken = Breakage(Kind.FREEZE, number, time.monotonic())
        self._ledger.breakages.append(broken)
        place.broken = True
        place.process.freeze()
        await asyncio.sleep(lasting)
        place.process.thaw()
        place.broken = False
        broken.ended = time.monotonic()

    async def leave(self, number: int) -> None:
        """Tell one so to stop: it must end what it does, or give it back, and exit with 0."""
        place = await self._working(number)
        assert place.process is not None
        broken = Breakage(Kind.STOP, number, time.monotonic())
        self._ledger.breakages.append(broken)
        place.broken = True
        await self._ended(place.process)
        broken.ended = time.monotonic()
        place.broken = False

    async def stop(self) -> None:
        """End all in order."""
        for place in self._places:
            if place.process is not None:
                await self._ended(place.process)

    def close(self) -> None:
        """End all at once."""
        for place in self._places:
            if place.process is not None and place.process.exit_code is None:
                place.process.kill()

    async def _keep(self, place: Place) -> None:
        while True:
            self.started += 1
            log = self._directory / f"worker-{self.started}.log"
            place.process = await self._by_hand(Serving, self._command, self._environ, log)
            while place.process.exit_code is None:  # noqa: ASYNC110 - processes set no events
                await asyncio.sleep(LOOK_SECONDS)

    async def _ended(self, process: Serving) -> None:
        try:
            code = await asyncio.to_thread(process.stop)
        except AssertionError as late:
            self._ledger.overdue.append(f"SIGTERM to a worker: {late}")
        else:
            if code:
                self._ledger.deaths.append(f"a worker that was told to stop ended with {code}")

    async def _working(self, first: int) -> Place:
        while True:
            for place in self._places[first:] + self._places[:first]:
                if place.works and place.process is not None and place.process.exit_code is None:
                    return place
            await asyncio.sleep(LOOK_SECONDS)
