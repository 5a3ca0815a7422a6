"""What becomes of tasks when Redis restarts, forgets, is replaced or gives no durability (docs/guarantees.md)."""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from mcpfleet.protocol.tasks import EXTENSION
from tests.answer import Answer, Json
from tests.chaos.answers import accept
from tests.chaos.tasks import deeds
from tests.chaos.tasks.deeds import BEGUN
from tests.chaos.tasks.server import right_value
from tests.fleet.outages import assert_refused
from tests.fleets import Fleet, Launch
from tests.processes import Serving, environment, python
from tests.redis_sentinel import RedisSentinels
from tests.redis_server import RedisServer
from tests.wire import MODERN, Client, connected

SERVER: Final = "tests.chaos.tasks.server:server"
SECONDS: Final = 30.0
"""Within which everything has to happen, an outage and a lease included."""


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the runs of all processes note what they do."""
    path = tmp_path / deeds.FILE
    monkeypatch.setenv(deeds.FILE, str(path))
    return path


@asynccontextmanager
async def taking(fleet: Fleet) -> AsyncIterator[Client]:
    """A client that takes tasks."""
    async with connected(fleet.url, MODERN, capabilities={"elicitation": {}, "extensions": dict(EXTENSION)}) as client:
        yield client


async def begun(client: Client, tool: str, tag: str, seconds: float = 0.0) -> str:
    """The id of the task that a call becomes, as soon as it does."""
    async with asyncio.timeout(SECONDS):
        while (answer := await client.call(tool, tag=tag, seconds=seconds)).status != 200:
            assert_refused(answer)
    assert answer.result["resultType"] == "task", answer
    return str(answer.result["taskId"])


async def ask(client: Client, method: str, task_id: str, **params: object) -> Answer:
    """What is answered to a request about a task once it is; meanwhile it may only be "try again"."""
    async with asyncio.timeout(SECONDS):
        while (answer := await client.request(method, {"taskId": task_id, **params})).status != 200:
            if answer.status == 503:
                assert_refused(answer)
            else:
                break
    return answer


async def until(client: Client, task_id: str, wanted: Callable[[Json], bool]) -> Json:
    """The task once it is as wanted."""
    async with asyncio.timeout(SECONDS):
        while not wanted(task := (await ask(client, "tasks/get", task_id)).result):  # noqa: ASYNC110 - it is elsewhere
            await asyncio.sleep(0.05)
    return task


async def becomes(client: Client, task_id: str, status: str) -> Json:
    """The task once it has this status."""
    return await until(client, task_id, lambda task: bool(task["status"] == status))


async def has_begun(file: Path, tag: str, times: int = 1) -> None:
    """Return once the runs for a tag have begun so many times."""
    async with asyncio.timeout(SECONDS):
        while runs(file)[tag] < times:  # noqa: ASYNC110 - a file rings no bell
            await asyncio.sleep(0.05)


async def has_run(client: Client, file: Path, worker: Serving) -> None:
    """Return once a task of now was run by this process; all that are begun until then are completed, too."""
    async with asyncio.timeout(SECONDS):
        while True:
            tag = secrets.token_hex(8)
            await becomes(client, await begun(client, "compute", tag), "completed")
            if any(deed.tag == tag and deed.run.startswith(f"{worker.pid}-") for deed in deeds.read(file)):
                return


def runs(file: Path) -> Counter[str]:
    """How often each tag was begun."""
    return Counter(deed.tag for deed in deeds.read(file) if deed.what == BEGUN)


def result_of(task: Json) -> Json:
    """What the run of a task has come to."""
    found: Json = json.loads(task["result"]["content"][0]["text"])
    return found


def is_unknown(answer: Answer) -> bool:
    """Whether there is no such task."""
    return "error" in answer.reply and answer.error["code"] == -32602


async def test_what_was_acknowledged_is_there_after_a_restart_from_the_file(
    launch_fleet: Launch, own_redis: RedisServer, file: Path
) -> None:
    fleet = launch_fleet(2, redis_url=own_redis.url, server=SERVER)
    async with taking(fleet) as client:
        done = await becomes(client, await begun(client, "compute", "done"), "completed")
        cancelled, parked = await begun(client, "endless", "cancelled"), await begun(client, "ask_two", "parked")
        at_work, never_twice = await begun(client, "compute", "at-work", 3.0), await begun(client, "once", "once", 3.0)
        questions = (await until(client, parked, lambda task: len(task.get("inputRequests", ())) == 2))["inputRequests"]
        for tag in ("at-work", "once", "cancelled"):
            await has_begun(file, tag)
        assert (await client.request("tasks/cancel", {"taskId": cancelled})).result is not None
        answers = {key: accept(asked["params"]["message"]) for key, asked in questions.items()}
        answer = await client.request("tasks/update", {"taskId": parked, "inputResponses": answers})
        assert answer.status == 200
        fresh = await begun(client, "compute", "fresh")
        own_redis.restart()
        assert (await ask(client, "tasks/get", done["taskId"])).result == done
        assert (await ask(client, "tasks/get", cancelled)).result["status"] == "cancelled"
        assert result_of(await becomes(client, parked, "completed"))["answers"] == ["parked 0", "parked 1"]
        for task_id, tag in ((at_work, "at-work"), (never_twice, "once"), (fresh, "fresh")):
            assert result_of(await becomes(client, task_id, "completed"))["value"] == right_value(tag)
    assert set(runs(file).values()) == {1}


async def test_after_an_empty_restart_old_tasks_are_unknown_and_workers_go_on(
    launch_fleet: Launch, own_redis: RedisServer, file: Path, tmp_path: Path
) -> None:
    """Nobody hangs: neither who asks for a task that is gone, nor the worker that had it in its only place."""
    settings = {"TASK_CONCURRENCY": "1", "LEASE_SECONDS": "2"}
    fleet = launch_fleet(2, redis_url=own_redis.url, server=SERVER, **settings)
    environ = {"APP": SERVER, "REDIS_URL": fleet.redis_url, "NAMESPACE": fleet.namespace, **settings}
    command = python("-m", "mcpfleet_service.cli", "work")
    variables = environment({f"MCPFLEET_{name}": value for name, value in environ.items()})
    with Serving(command, variables, tmp_path / "work") as worker:
        async with taking(fleet) as client:
            await has_run(client, file, worker)
            lost, waiting = await begun(client, "endless", "lost"), await begun(client, "ask_two", "waiting")
            await has_begun(file, "lost")
            own_redis.stop()
            own_redis.wipe()
            own_redis.start()
            for task_id in (lost, waiting):
                for method in ("tasks/get", "tasks/cancel", "tasks/update"):
                    assert is_unknown(await ask(client, method, task_id, inputResponses={}))
            listen = {"notifications": {"taskIds": [lost]}}
            acknowledged = None
            async with asyncio.timeout(SECONDS):
                while acknowledged is None:  # a process that is not back in touch yet says so, and streams nothing
                    async with client.asking("subscriptions/listen", listen) as stream:
                        acknowledged = await stream.message()
            assert not acknowledged["params"]["notifications"].get("taskIds")
            await has_run(client, file, worker)


async def test_what_the_replica_had_goes_on_after_a_failover(
    launch_fleet: Launch, sentinels: RedisSentinels, file: Path
) -> None:
    fleet = launch_fleet(2, redis_url=sentinels.url, server=SERVER)
    async with taking(fleet) as client:
        done = await becomes(client, await begun(client, "compute", "done"), "completed")
        parked, never_twice = await begun(client, "ask_two", "parked"), await begun(client, "once", "once", 8.0)
        await has_begun(file, "once")
        questions = (await until(client, parked, lambda task: len(task.get("inputRequests", ())) == 2))["inputRequests"]
        sentinels.await_replicated()
        sentinels.master.kill()
        sentinels.await_failover()
        assert (await ask(client, "tasks/get", done["taskId"])).result == done
        answers = {key: accept("found") for key in questions}
        assert (await ask(client, "tasks/update", parked, inputResponses=answers)).status == 200
        assert result_of(await becomes(client, parked, "completed"))["answers"] == ["found", "found"]
        await becomes(client, never_twice, "completed")
    assert set(runs(file).values()) == {1}


async def test_what_a_failover_loses_is_unknown_and_a_claim_that_it_loses_is_made_again(
    launch_fleet: Launch, sentinels: RedisSentinels, file: Path
) -> None:
    """The only way in which a tool that may not run twice is begun twice by the fleet; see `MCPFLEET_DURABILITY`."""
    fleet = launch_fleet(1, redis_url=sentinels.url, server=SERVER, TASK_CONCURRENCY="1", LEASE_SECONDS="2")
    async with taking(fleet) as client:
        first = await begun(client, "endless", "first")
        await has_begun(file, "first")
        claimed = await begun(client, "once", "claimed", 20.0)
        sentinels.await_replicated()
        sentinels.part()
        lost = await begun(client, "compute", "lost")
        await client.request("tasks/cancel", {"taskId": first})
        await has_begun(file, "claimed")
        sentinels.master.kill()
        sentinels.await_failover()
        assert is_unknown(await ask(client, "tasks/get", lost))
        assert (await ask(client, "tasks/cancel", first)).status == 200
        await has_begun(file, "claimed", times=2)
        assert (await ask(client, "tasks/get", claimed)).result["status"] == "working"


@pytest.fixture
def pair(launch_redis: Callable[..., RedisServer]) -> tuple[RedisServer, RedisServer]:
    """A master and its replica."""
    master = launch_redis("--repl-diskless-sync-delay", "0")
    return master, launch_redis("--replicaof", f"127.0.0.1 {master.port}")


async def test_a_task_that_no_replica_confirms_is_refused_and_never_runs(
    launch_fleet: Launch, pair: tuple[RedisServer, RedisServer], file: Path
) -> None:
    master, replica = pair
    fleet = launch_fleet(2, redis_url=master.url, server=SERVER, DURABILITY="replicas:1")
    async with taking(fleet) as client:
        await becomes(client, await begun(client, "once", "before"), "completed")
        replica.freeze()
        calls = [partial(client.call, tool, tag="refused", seconds=0.0) for tool in ("once", "compute")]
        for answer in await asyncio.gather(*(call() for call in calls)):
            assert_refused(answer)
        replica.thaw()
        await becomes(client, await begun(client, "once", "after"), "completed")
    assert runs(file) == {"before": 1, "after": 1}


async def test_a_tool_that_may_not_run_twice_is_not_begun_before_a_replica_knows(
    launch_fleet: Launch, pair: tuple[RedisServer, RedisServer], file: Path
) -> None:
    """Others are, since it does no harm to begin them again."""
    master, replica = pair
    fleet = launch_fleet(1, redis_url=master.url, server=SERVER, DURABILITY="replicas:1", TASK_CONCURRENCY="1")
    async with taking(fleet) as client:
        first = await begun(client, "endless", "first")
        await has_begun(file, "first")
        never_twice = await begun(client, "once", "once")
        others = [await begun(client, "compute", f"other-{number}") for number in range(6)]
        replica.freeze()
        assert (await client.request("tasks/cancel", {"taskId": first})).status == 200
        for task_id in others:
            await becomes(client, task_id, "completed")
        assert runs(file)["once"] == 0
        replica.thaw()
        await becomes(client, never_twice, "completed")
    assert runs(file)["once"] == 1
