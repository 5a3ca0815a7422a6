"""One chaos run from its beginning to its end: the fleet, its clients, and what breaks it."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from mcpfleet.protocol.revisions import LEGACY_DATES
from tests.chaos.breaker import Breaker
from tests.chaos.faults import Fault, schedule
from tests.chaos.ledger import EVERYBODY, Call, End, Ledger
from tests.chaos.legacycaller import LegacyCaller
from tests.chaos.modern import ModernClient
from tests.chaos.moderncaller import ModernCaller
from tests.chaos.planted import PLANT
from tests.chaos.principals import PRINCIPALS
from tests.chaos.publisher import Publisher
from tests.chaos.stage import Stage, Times
from tests.chaos.supervisor import DRAIN_DELAY, DRAIN_SECONDS, Supervisor
from tests.chaos.taskcaller import TASK_CALLERS, TaskCaller
from tests.chaos.tasks import deeds
from tests.chaos.tasks.customer import looked_again
from tests.chaos.watchers import LegacyWatcher, ModernWatcher, watched_by_all
from tests.redis_server import RedisServer

SLOTS: Final = 3
SETTINGS: Final = {
    "PORT": "0",
    "NAMESPACE": "chaos",
    "LEASE_SECONDS": "4",
    "COMMAND_SECONDS": "1.5",
    "KEEPALIVE_SECONDS": "1",
    "DRAIN_DELAY": f"{DRAIN_DELAY:g}",
    "DRAIN_SECONDS": f"{DRAIN_SECONDS:g}",
    "TASK_ATTEMPTS": "1000",
    "TASK_POLL_SECONDS": "0.5",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run: the seed decides what breaks and what clients do; `plant` names a fault in the server itself."""

    seed: int
    seconds: float
    faults: Sequence[Fault]
    times: Times = field(default_factory=Times)
    plant: str = ""

    @classmethod
    def of(cls, seed: int, seconds: float) -> "Plan":
        """A run in which everything breaks."""
        return cls(seed, seconds, schedule(seed, seconds, SLOTS))


async def run(plan: Plan, directory: Path, redis: RedisServer) -> Ledger:
    """Run, and return the ledger."""
    ledger = Ledger()
    supervisor = Supervisor(ledger, directory, SLOTS, environment(plan, directory, redis.url))
    try:
        await supervisor.by_hand(redis.start)
        url = urlsplit(await supervisor.start())
        stage = Stage(str(url.hostname), int(url.port or 0), plan.seed, ledger, plan.times)
        async with asyncio.TaskGroup() as tasks:
            keeping = tasks.create_task(supervisor.run())
            await play(plan, stage, supervisor, Breaker(ledger, supervisor, redis))
            await look_for_strays(stage)
            await looked_again(stage)
            keeping.cancel()
        await supervisor.stop()
        await supervisor.by_hand(redis.stop)
    finally:
        supervisor.close()
        redis.kill()
    ledger.deeds = deeds.read(directory / deeds.FILE)
    return ledger


async def play(plan: Plan, stage: Stage, supervisor: Supervisor, breaker: Breaker) -> None:
    """Let clients come and things break for the time of the plan; then wait until all that has begun has ended."""
    async with asyncio.TaskGroup() as watching:
        uris = watched_by_all(PRINCIPALS)
        watchers = [watching.create_task(watcher.run()) for watcher in watchers_of(stage, uris)]
        async with asyncio.TaskGroup() as calling:
            for client in callers_of(stage):
                calling.create_task(client.run())
            await asyncio.gather(asyncio.sleep(plan.seconds), breaker.run(plan.faults))
            stage.over.set()
        await supervisor.all_whole()
        await asyncio.sleep(plan.times.settle + 1)
        for watcher in watchers:
            watcher.cancel()


def callers_of(stage: Stage) -> Sequence[LegacyCaller | ModernCaller | TaskCaller | Publisher]:
    """Every revision for every principal, tasks too, and a publisher for each owner of events."""
    legacy = [
        LegacyCaller(stage, f"legacy-{number}", PRINCIPALS[number % len(PRINCIPALS)], date)
        for number, date in enumerate((*LEGACY_DATES, *LEGACY_DATES, LEGACY_DATES[-1]))
    ]
    modern = [ModernCaller(stage, f"modern-{number}", PRINCIPALS[number % len(PRINCIPALS)]) for number in range(7)]
    owners = [(name, name) for name in PRINCIPALS] + [(EVERYBODY, PRINCIPALS[0])]
    tasks = [TaskCaller(stage, number) for number in range(TASK_CALLERS)]
    return [*legacy, *modern, *tasks, *(Publisher(stage, owner, principal, 0.7) for owner, principal in owners)]


def watchers_of(stage: Stage, uris: list[str]) -> Sequence[LegacyWatcher | ModernWatcher]:
    """Of each principal one in each era; and one more, in an older revision."""
    legacy = [
        LegacyWatcher(stage, f"watcher-{principal}-{date}", principal, date, uris)
        for principal, date in [*((name, LEGACY_DATES[-1]) for name in PRINCIPALS), (PRINCIPALS[0], LEGACY_DATES[0])]
    ]
    return [*legacy, *(ModernWatcher(stage, f"listener-{name}", name, uris) for name in PRINCIPALS)]


async def look_for_strays(stage: Stage) -> None:
    """Ask each process what it still runs, now that nobody waits for anything."""
    client = ModernClient(stage, PRINCIPALS[0])
    for slot in range(SLOTS):
        found = await client.heard(Call("", f"left-{slot}", "left", stage.now()), {"name": "left", "arguments": {}})
        if isinstance(found, End):
            stage.ledger.overdue.append("the question what is left")
        else:
            stage.ledger.strays += json.loads(found["result"]["content"][0]["text"])


def environment(plan: Plan, directory: Path, redis_url: str) -> Mapping[str, str]:
    """The environment of the processes."""
    settings = {**SETTINGS, "REDIS_URL": redis_url}
    variables = {f"MCPFLEET_{name}": value for name, value in settings.items()}
    return {**variables, PLANT: plan.plant, deeds.FILE: str(directory / deeds.FILE)}
