"""One run of many tasks from its beginning to its end, while whoever runs them dies again and again."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import urlsplit

from tests.chaos.breaker import Breaker
from tests.chaos.faults import Fault, Kind
from tests.chaos.ledger import Ledger
from tests.chaos.planted import PLANT
from tests.chaos.run import SETTINGS, SLOTS
from tests.chaos.stage import Stage, Times
from tests.chaos.supervisor import Supervisor
from tests.chaos.tasks import deeds
from tests.chaos.tasks.customer import Customer, looked_again
from tests.chaos.tasks.errand import Wish, wishes
from tests.chaos.tasks.workers import Workers
from tests.processes import python
from tests.redis_server import RedisServer

WORKERS: Final = 2
LEASE_SECONDS: Final = 3.0
LASTING: Final = {
    Kind.KILL: (0.0, 0.0),
    Kind.STOP: (0.0, 0.0),
    Kind.FREEZE: (LEASE_SECONDS + 1, LEASE_SECONDS + 3),
    Kind.REDIS_RESTART: (0.0, 2.0),
}
"""Between which numbers of seconds it lasts."""
TIMES: Final = Times(deadline=600.0)
SERVER: Final = "tests.chaos.tasks.server"
TASK_SETTINGS: Final = {
    **SETTINGS,
    "APP": f"{SERVER}:server",
    "NAMESPACE": "chaos-tasks",
    "LEASE_SECONDS": f"{LEASE_SECONDS:g}",
    "TASK_CONCURRENCY": "40",
    "MAX_TASKS_EACH": "none",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run: before each fault, a crowd of clients comes, so that it finds some tasks under way."""

    seed: int
    wishes: Sequence[Wish]
    crowd: int
    faults: Sequence[Fault]
    """`at`: so many seconds after the crowd has come, at the earliest."""
    times: Times = field(default_factory=lambda: TIMES)
    plant: str = ""
    under_way: int = 0
    """So many runs have begun before the first fault."""

    @classmethod
    def of(cls, seed: int, count: int, *, kills: int, stops: int, freezes: int, restarts: int) -> "Plan":
        """So many tasks and faults of each kind, in an order that the seed decides."""
        random = Random(f"{seed}/faults")
        counts = {Kind.KILL: kills, Kind.STOP: stops, Kind.FREEZE: freezes, Kind.REDIS_RESTART: restarts}
        kinds = [kind for kind, count in counts.items() for _ in range(count)]
        random.shuffle(kinds)
        faults = [
            Fault(random.uniform(0.3, 1.5), kind, random.randrange(WORKERS), random.uniform(*LASTING[kind]))
            for kind in kinds
        ]
        return cls(seed, wishes(seed, count), -(-count // len(faults)), faults)


@dataclass(slots=True)
class Ran:
    """A run that has ended."""

    ledger: Ledger
    workers: int
    """How many were started."""


async def run(plan: Plan, directory: Path, redis: RedisServer) -> Ran:
    """Run, and return the ledger."""
    ledger, environ = Ledger(), environment(plan, directory, redis.url)
    supervisor = Supervisor(ledger, directory, SLOTS, environ, python("-m", SERVER))
    workers = Workers(ledger, supervisor, directory, WORKERS, environ, python("-m", SERVER, "work"))
    try:
        await supervisor.by_hand(redis.start)
        url = urlsplit(await supervisor.start())
        stage = Stage(str(url.hostname), int(url.port or 0), plan.seed, ledger, plan.times)
        async with asyncio.TaskGroup() as tasks:
            serving, working = tasks.create_task(supervisor.run()), tasks.create_task(workers.run())
            await play(plan, stage, workers, Breaker(ledger, supervisor, redis), directory / deeds.FILE)
            working.cancel()
            await workers.stop()  # first: what a run does that believes its task is its own must show
            await looked_again(stage)
            serving.cancel()
        await supervisor.stop()
        await supervisor.by_hand(redis.stop)
    finally:
        workers.close()
        supervisor.close()
        redis.kill()
    ledger.deeds = deeds.read(directory / deeds.FILE)
    return Ran(ledger, workers.started)


async def play(plan: Plan, stage: Stage, workers: Workers, breaker: Breaker, file: Path) -> None:
    """Let clients come, and things break among them, and wait until all that has begun has ended."""
    customers = (Customer(stage, wish) for wish in plan.wishes)
    await workers.all_work()
    async with asyncio.TaskGroup() as tasks:
        for fault in plan.faults:
            for customer in islice(customers, plan.crowd):
                tasks.create_task(customer.run())
            while runs_begun(file) < plan.under_way:  # noqa: ASYNC110 - a file rings no bell
                await asyncio.sleep(0.05)
            await asyncio.sleep(fault.at)
            match fault.kind:
                case Kind.KILL:
                    await workers.kill(fault.slot)
                case Kind.STOP:
                    tasks.create_task(workers.leave(fault.slot))
                case Kind.FREEZE:
                    tasks.create_task(workers.freeze(fault.slot, fault.lasting))
                case _:
                    await breaker.run([replace(fault, at=0.0)])


def runs_begun(file: Path) -> int:
    """How many runs have begun so far."""
    return sum(deed.what == deeds.BEGUN for deed in deeds.read(file))


def environment(plan: Plan, directory: Path, redis_url: str) -> Mapping[str, str]:
    """The environment of all processes."""
    settings = {f"MCPFLEET_{name}": value for name, value in {**TASK_SETTINGS, "REDIS_URL": redis_url}.items()}
    return {**settings, PLANT: plan.plant, deeds.FILE: str(directory / deeds.FILE)}
