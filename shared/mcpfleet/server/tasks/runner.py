"""The runner of one process: it takes tasks whose time has come, runs those that may run, and ends those that cannot.

Theory of operation. An agenda hands each task to one process and hides it from the others for a lease time, after which
it comes up again, whether it is being run or not. Whoever is handed a task looks at its record and at its lease. A task
that somebody alive runs is left alone. Of one whose run broke off the record decides: it is begun again after a pause,
or ended with an error. Only a change of the record makes a task this process's: the lease, like the agenda, merely
saves others the work.
"""

import asyncio
import logging
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from mcpfleet.backplane.background import background
from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import mint
from mcpfleet.errors import BackplaneError
from mcpfleet.protocol.tasks import PARTITIONS
from mcpfleet.server.outcome import Refusal
from mcpfleet.server.process import Process
from mcpfleet.server.registry import Registry
from mcpfleet.server.tasks.attempt import Attempt, Stop
from mcpfleet.server.tasks.letters import DeadLetter, DeadLetters
from mcpfleet.server.tasks.names import Names, bell, names_of, queue
from mcpfleet.server.tasks.outlet import TaskOutlet
from mcpfleet.server.tasks.run import Run
from mcpfleet.server.tasks.slots import Slot, Slots
from mcpfleet.server.tasks.store import Found, Step, Tasks, UnknownTask
from mcpfleet.server.tasks.verdict import EXPIRED, Verdict, verdict
from mcpfleet.server.tasks.work import memory_of
from mcpfleet.server.tool import Tool

LOOK_EVERY: Final = 5.0
"""How often a process looks at an agenda whose bell does not ring, in seconds."""
WANTED_EVERY: Final = 1.0
"""How often a process looks which queues it is to take tasks of, in seconds."""
ELSEWHERE_SECONDS: Final = 2.0
"""How long a task waits that this process may not run: another one may."""
CROWDED_SECONDS: Final = 0.5
"""How long one waits whose tool has as many runs here as it may, if few others do."""
CROWD: Final = 10
"""For each so many others that were put off before it, since a run of the tool ended, it waits as long once more."""
MOST_BACKOFF: Final = 60.0

log = logging.getLogger("mcpfleet.tasks")


@dataclass(frozen=True, slots=True)
class Place:
    """One agenda that is looked at."""

    queue: str
    partition: int


@dataclass(frozen=True, slots=True)
class Due:
    """A task whose time has come, and the agenda that says so."""

    names: Names
    agenda: str


@dataclass(frozen=True, slots=True)
class _Running:
    """A task in the hands of this process."""

    attempt: Attempt
    slot: Slot
    repeatable: bool


class Runner:
    """Runs tasks; `run` it as a task of the process."""

    def __init__(
        self,
        process: Process,
        tasks: Tasks,
        run: Run,
        registry: Callable[[], Registry],
        *,
        wanted: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`registry` tells what is offered now; `wanted`, whether this process is to take tasks of a queue."""
        self._process = process
        self._tasks = tasks
        self._run = run
        self._registry = registry
        self._policy = policy = process.policy.tasks
        self._wanted = wanted
        self._letters = DeadLetters(process.backplane)
        self._slots = Slots(policy.concurrency)
        self._running: dict[asyncio.Task[Any], _Running] = {}
        self._by_tool: Counter[str] = Counter()
        self._crowds: Counter[str] = Counter()
        self._next_look: defaultdict[Place, float] = defaultdict(float)
        self._woken = asyncio.Event()
        self._turn = 0
        self._stopped = False

    @property
    def running(self) -> int:
        """How many tasks are in the hands of this process."""
        return len(self._running)

    @property
    def statuses(self) -> Counter[str]:
        """The same by their status: those that only wait for their clients apart from the others."""
        return Counter("input_required" if each.slot.parked else "working" for each in self._running.values())

    async def run(self) -> NoReturn:
        """Take and run tasks until cancelled; once the process drains, take no more."""
        while not self._registry().makes_tasks:  # noqa: ASYNC110 - nobody tells that a tool was added
            await asyncio.sleep(LOOK_EVERY)
        with self._process.draining.telling(self._drain):
            async with asyncio.TaskGroup() as group:
                for partition in range(PARTITIONS):
                    group.create_task(self._listen(partition))
                backoff = Backoff()
                while True:
                    try:
                        taken = await self._next()
                        backoff.reset()
                    except BackplaneError as error:
                        log.warning("no task can be taken: %s", error)
                        await asyncio.sleep(backoff.pause())
                    else:
                        group.create_task(self._serve(*taken))

    async def ended(self, *, within: float) -> None:
        """Wait until no task is in the hands of this process, for so many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self._running:
                    await asyncio.wait(self._running)

    def stop(self) -> None:
        """Take no more, and give back what runs, or end it."""
        self._stopped = True
        for each in [*self._running.values()]:
            each.attempt.stop(Stop.LEAVING)

    def _drain(self) -> None:
        """Give back what only waits for its client, if it can go on elsewhere."""
        for each in [*self._running.values()]:
            self._part(each.attempt, each.slot, repeatable=each.repeatable)

    def _part(self, attempt: Attempt, slot: Slot, *, repeatable: bool) -> None:
        if repeatable and slot.parked and self._process.draining.begun:
            attempt.stop(Stop.LEAVING)

    async def _listen(self, partition: int) -> NoReturn:
        """Have a partition looked at whenever its bell rings."""
        async with self._process.backplane.watch(bell(partition), poll=LOOK_EVERY) as ringing:
            while True:
                await ringing.rung()
                for place in self._next_look:
                    if place.partition == partition:
                        self._next_look[place] = 0.0
                self._woken.set()

    async def _next(self) -> tuple[Due, Slot]:
        """The next task whose time has come, of the first queue that has one, and a place for it."""
        while True:
            self._woken.clear()
            slot = await self._slots.take()  # and not while nothing is due: who comes back from waiting needs one too
            due = None
            try:
                due = await self._found()
            finally:
                if due is None:
                    slot.leave()
            if due is not None:
                return due, slot
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause()):
                    await self._woken.wait()

    async def _found(self) -> Due | None:
        for place in self._places():
            if (due := await self._look(place)) is not None:
                return due
        return None

    async def _look(self, place: Place) -> Due | None:
        now = time.monotonic()
        if self._next_look[place] > now:
            return None
        agenda = queue(place.partition, place.queue)
        looked = self._next_look[place] = now + LOOK_EVERY  # before looking: its bell may ring meanwhile
        try:
            taken = await self._tasks.due(agenda, hold=self._process.policy.lease, limit=1)
        except BackplaneError:
            self._next_look[place] = 0.0  # nobody has looked
            raise
        if taken.members:
            self._next_look[place] = 0.0
            names = names_of(taken.members[0])
            return None if names is None else Due(names, agenda)
        if taken.wait is not None and self._next_look[place] == looked:
            self._next_look[place] = min(looked, now + taken.wait)
        return None

    def _queues(self) -> Sequence[str]:
        """The queues that this process is to take tasks of now, in order."""
        if self._stopped or self._process.draining.begun:
            return ()
        return [name for name in self._policy.queues or self._registry().queues if self._wanted(name)]

    def _places(self) -> Iterator[Place]:
        """Their agendas, in the order of the queues, and of each queue another partition first each time."""
        self._turn += 1
        for name in self._queues():
            for step in range(PARTITIONS):
                yield Place(name, (self._turn + step) % PARTITIONS)

    def _pause(self) -> float:
        """For how long nothing can be due, unless a bell rings; which queues are to be looked at is asked anew then."""
        looks = [self._next_look[Place(name, part)] for name in self._queues() for part in range(PARTITIONS)]
        soonest = min(looks, default=math.inf) - time.monotonic()
        return min(max(soonest, 0.01), WANTED_EVERY)

    async def _serve(self, due: Due, slot: Slot) -> None:
        """Do what is to be done with one task; after whatever goes wrong it comes up again after a lease time."""
        try:
            await self._handle(due, slot)
        except BackplaneError as error:
            log.warning("task %s: %s", due.names.id, error)
        except Exception as unforeseen:  # noqa: BLE001  # the boundary: it is noted, and the other tasks go on
            self._run.failures.note(unforeseen)
        finally:
            slot.leave()

    async def _handle(self, due: Due, slot: Slot) -> None:
        names = due.names
        try:
            found = await self._tasks.find(names.id)
        except UnknownTask:
            await self._tasks.forget(names, due.agenda, None)
            return
        record = found.record
        if record.runner and not await self._process.keeper.dead(names.lease):
            return
        tool = self._registry().tools.get(record.work.tool)
        if tool is None and not record.terminal:
            await self._tasks.put_off(found, ELSEWHERE_SECONDS)
            return
        repeatable = tool is not None and tool.repeatable
        decided, why = verdict(record, self._tasks.clock(), repeatable=repeatable, attempts=self._policy.attempts)
        if why is not None:
            await self._give_up(found, why)
        elif record.runner:
            await self._release(found)
        elif decided is Verdict.RUN and tool is not None:
            await self._begin(found, tool, slot)
        else:
            await self._tasks.forget(names, due.agenda, found)

    async def _give_up(self, found: Found, why: Refusal) -> None:
        """End a task whose runs broke off, or whose time is up."""
        record, now = found.record, self._tasks.clock()
        if why is not EXPIRED:
            letter = DeadLetter(
                found.names.id, record.work.tool, why.data["reason"], record.attempt, record.created, now
            )
            await self._letters.add(letter)  # first, so that none is given up unnoticed if this process dies now
        if await self._tasks.replace(found, self._tasks.ended(found.names, record.failed(why, now))):
            log.warning("task %s of the tool %s is given up: %s", found.names.id, record.work.tool, why.message)
        elif why is not EXPIRED:
            await self._letters.withdraw(found.names.id)

    async def _release(self, found: Found) -> None:
        """Take a task out of the hands of a process that is dead; it is begun again after a while."""
        record = found.record
        pause = min(MOST_BACKOFF, self._policy.backoff * 2.0 ** min(record.attempt - 1, 32))
        released = record.released(self._tasks.clock(), counted=True)
        await self._tasks.replace(found, self._tasks.given_back(found.names, released, within=pause))

    async def _begin(self, found: Found, tool: Tool, slot: Slot) -> None:
        """Make a task this process's, and run it."""
        if tool.limit is not None and self._by_tool[tool.name] >= tool.limit:
            await self._tasks.put_off(found, self._crowded(tool))
            return
        self._by_tool[tool.name] += 1
        try:
            lease = await self._process.keeper.hold(found.names.lease)
            if lease is None:
                return
            async with lease:
                record = found.record.claimed(mint(), self._tasks.clock())
                if await self._tasks.replace(found, Step(record)):
                    hold = self._process.policy.hold
                    attempt = Attempt(self._tasks, found.names, record, lease.token, hold=hold)
                    await self._work(attempt, tool, slot)
        finally:
            self._by_tool[tool.name] -= 1
            self._crowds[tool.name] = 0

    def _crowded(self, tool: Tool) -> float:
        """How long a task is put off whose tool has no place: many that wait must not keep their process busy."""
        self._crowds[tool.name] += 1
        return min(MOST_BACKOFF, CROWDED_SECONDS * (1 + self._crowds[tool.name] / CROWD))

    async def _work(self, attempt: Attempt, tool: Tool, slot: Slot) -> None:
        runner, backplane = asyncio.current_task(), self._process.backplane
        if runner is None:
            raise RuntimeError("a task is run outside of the event loop")
        self._running[runner] = _Running(attempt, slot, tool.repeatable)
        try:
            if not tool.repeatable:
                await self._settle(attempt)
            if self._stopped:
                attempt.stop(Stop.LEAVING)
            async with background(attempt.watch(backplane), attempt.talk()):
                await self._run.to_end(attempt, self._outlet(attempt, tool, slot), repeatable=tool.repeatable)
        finally:
            del self._running[runner]

    async def _settle(self, attempt: Attempt) -> None:
        """Make sure that a tool which must not run twice is known to be begun before it is."""
        try:
            await self._process.backplane.settle(attempt.names.scope)
        except BackplaneError:
            attempt.stop(Stop.NOT_BEGUN)

    def _outlet(self, attempt: Attempt, tool: Tool, slot: Slot) -> TaskOutlet:
        def parks() -> None:
            self._part(attempt, slot, repeatable=tool.repeatable)

        return TaskOutlet(attempt, memory_of(attempt.record.work), slot, on_park=parks, clock=self._tasks.clock)
