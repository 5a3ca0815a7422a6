"""`mcpfleet work`, a process that runs tasks and serves nobody, and `mcpfleet dead-letters`."""

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.protocol.tasks import EXTENSION
from mcpfleet.server.tasks.letters import DeadLetter, DeadLetters
from tests.answer import Json
from tests.fleets import Fleet, Launch
from tests.processes import Serving, environment, python
from tests.wire import MODERN, Client, connected

SERVER = "tests.servers.lengthy:server"
SECONDS = 20.0
CAPABILITIES: Json = {"elicitation": {}, "extensions": dict(EXTENSION)}


def mcpfleet(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command that ends by itself."""
    return subprocess.run(
        python("-m", "mcpfleet_service.cli", *arguments),
        env=environment(environ), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


class Workers:
    """Starts workers of a fleet, which end with the test."""

    def __init__(self, held: ExitStack, directory: Path) -> None:
        self._held = held
        self._directory = directory
        self._count = 0

    async def start(self, fleet: Fleet, *arguments: str, **settings: str) -> Serving:
        """One that takes tasks by now."""
        self._count += 1
        given = {"APP": SERVER, "REDIS_URL": fleet.redis_url, "NAMESPACE": fleet.namespace, **settings}
        environ = {f"MCPFLEET_{name}": value for name, value in given.items()}
        command = python("-m", "mcpfleet_service.cli", "work", *arguments)
        worker = self._held.enter_context(Serving(command, environ, self._directory / f"worker-{self._count}.log"))
        async with asyncio.timeout(SECONDS):
            while "working as" not in worker.log_tail():
                assert worker.exit_code is None, worker.log_tail()
                await asyncio.sleep(0.02)
        return worker


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    with ExitStack() as held:
        yield Workers(held, tmp_path)


async def begun(client: Client, **arguments: Any) -> str:
    """The id of a task to dig."""
    task_id: str = (await client.call("dig", **arguments)).result["taskId"]
    return task_id


async def seen(client: Client, task_id: str, **wanted: str) -> Json:
    """The task once it is so."""
    async with asyncio.timeout(SECONDS):
        while True:
            task: Json = (await client.request("tasks/get", {"taskId": task_id})).result
            if wanted.items() <= task.items():
                return task
            await asyncio.sleep(0.02)


async def test_a_worker_runs_the_tasks_of_a_fleet_and_leaves_in_good_order(
    launch_fleet: Launch, workers: Workers
) -> None:
    """The task that it cannot finish in time is given back, and another worker begins it again."""
    fleet = launch_fleet(1, server=SERVER, TASK_QUEUES="nothing")
    first = await workers.start(fleet, DRAIN_SECONDS="0.2")
    async with connected(fleet.url, MODERN, capabilities=CAPABILITIES) as client:
        task = await seen(client, await begun(client, depth=3), status="completed")
        assert task["result"]["structuredContent"] == {"depth": 3}
        endless = await begun(client, depth=3, delay=600)
        await seen(client, endless, statusMessage="digging")
        first.terminate()
        assert await asyncio.to_thread(first.await_exit) == 0
        assert "statusMessage" not in await seen(client, endless, status="working")
        await workers.start(fleet)
        await seen(client, endless, statusMessage="digging")
        await client.request("tasks/cancel", {"taskId": endless})
        await seen(client, endless, status="cancelled")


async def test_a_worker_is_told_its_queues_and_how_many_tasks_it_runs_at_once(
    launch_fleet: Launch, workers: Workers
) -> None:
    fleet = launch_fleet(1, server=SERVER, TASK_QUEUES="nothing")
    worker = await workers.start(
        fleet, "--queue", "slow", "--queue", "default", "--concurrency", "1", DRAIN_SECONDS="0"
    )
    assert " on slow, default" in worker.log_tail()
    async with connected(fleet.url, MODERN, capabilities=CAPABILITIES) as client:
        first, second = [await begun(client, depth=1, delay=600) for _ in range(2)]
        async with asyncio.timeout(SECONDS):
            tasks: list[Json] = []
            while not any("statusMessage" in each for each in tasks):
                tasks = [(await client.request("tasks/get", {"taskId": each})).result for each in (first, second)]
        assert len([each for each in tasks if "statusMessage" in each]) == 1
        [at_work] = [each["taskId"] for each in tasks if "statusMessage" in each]
        await client.request("tasks/cancel", {"taskId": at_work})
        await seen(client, second if at_work == first else first, statusMessage="digging")
    worker.interrupt()
    assert await asyncio.to_thread(worker.await_exit) == 0
    assert "Traceback" not in worker.log_tail()


@pytest.mark.parametrize(
    ("arguments", "environ", "why"),
    [
        ([], {}, "MCPFLEET_REDIS_URL"),
        (["tests.servers.lengthy:none", "--redis-url", "redis://localhost:1"], {}, "none"),
        (["--concurrency", "0", "--redis-url", "redis://localhost:1"], {}, "MCPFLEET_TASK_CONCURRENCY"),
        (["--queue", "a queue", "--redis-url", "redis://localhost:1"], {}, "MCPFLEET_TASK_QUEUES"),
        ([], {"MCPFLEET_TASK_QUEUE": "slow"}, "did you mean MCPFLEET_TASK_QUEUES?"),
    ],
    ids=["no Redis", "no such server", "no tasks at all", "no queue", "no setting"],
)
def test_a_worker_that_cannot_start_says_why_in_a_line(arguments: list[str], environ: dict[str, str], why: str) -> None:
    target = [] if arguments[:1] == ["tests.servers.lengthy:none"] else [SERVER]
    ended = mcpfleet("work", *target, *arguments, **environ)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert why in ended.stderr
    assert "Traceback" not in ended.stderr


async def test_a_worker_that_is_killed_is_replaced_by_those_that_serve_once_they_know(
    launch_fleet: Launch, workers: Workers
) -> None:
    fleet = launch_fleet(1, server=SERVER, LEASE_SECONDS="1")
    worker = await workers.start(fleet, LEASE_SECONDS="1")
    async with connected(fleet.url, MODERN, capabilities=CAPABILITIES) as client:
        worker.kill()
        assert worker.exit_code == -signal.SIGKILL
        await seen(client, await begun(client, depth=1), status="completed")


async def test_dead_letters_are_listed_oldest_first(launch_fleet: Launch) -> None:
    fleet = launch_fleet(1, server=SERVER)
    environ = {"MCPFLEET_REDIS_URL": fleet.redis_url, "MCPFLEET_NAMESPACE": fleet.namespace}
    assert mcpfleet("dead-letters", **environ).stdout == ""
    async with RedisBackplane.at(fleet.redis_url, namespace=fleet.namespace) as backplane:
        letters = DeadLetters(backplane)
        await letters.add(DeadLetter("t1-a", "dig", "outcome_unknown", 1, 0.0, 86_400.0))
        await letters.add(DeadLetter("t2-b", "mine", "attempts_exhausted", 3, 0.0, 86_461.5))
    listed = mcpfleet("dead-letters", **environ)
    assert listed.stdout.splitlines() == [
        "1970-01-02T00:00:00Z  t1-a  dig  outcome_unknown  1",
        "1970-01-02T00:01:01Z  t2-b  mine  attempts_exhausted  3",
    ]
    assert (listed.returncode, listed.stderr) == (0, "")


def test_without_a_redis_there_are_no_dead_letters() -> None:
    ended = mcpfleet("dead-letters", SERVER)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "MCPFLEET_REDIS_URL" in ended.stderr
