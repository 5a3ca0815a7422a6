"""A fleet under test really is several processes, and none of them is left behind."""

import asyncio
import itertools
from pathlib import Path

import httpx2
import pytest

from mcpfleet.protocol.tasks import EXTENSION
from tests.calls import call
from tests.fleets import Fleet, Launch, Shape
from tests.processes import assert_ends
from tests.redis_server import RedisServer
from tests.wire import MODERN, Client, connected


def test_every_process_of_every_shape_serves(fleet: Fleet) -> None:
    ids = [call(fleet.url, "whoami")["pid"] for _ in range(6)]
    assert set(ids) == {process.pid for process in fleet.processes}
    assert len(set(ids)) == 1 or all(one != next_one for one, next_one in itertools.pairwise(ids))


@pytest.mark.parametrize("fleet", [Shape("redis", 3)], indirect=True, ids=str)
def test_a_process_can_be_asked_directly_and_by_pin(fleet: Fleet) -> None:
    for number, process in enumerate(fleet.processes):
        assert call(f"{process.url}", "whoami")["pid"] == process.pid
        assert call(fleet.url, "whoami", pin=number)["pid"] == process.pid


def test_a_killed_process_is_passed_over_until_it_is_restarted(launch_fleet: Launch) -> None:
    fleet = launch_fleet(3)
    dead = fleet.processes[1]
    dead.kill()
    seen = {call(fleet.url, "whoami")["pid"] for _ in range(6)}
    assert seen == {fleet.processes[0].pid, fleet.processes[2].pid}
    fleet.restart(1)
    assert call(fleet.url, "whoami", pin=1)["pid"] == fleet.processes[1].pid != dead.pid


def test_a_frozen_process_does_not_answer_until_it_thaws(launch_fleet: Launch) -> None:
    fleet = launch_fleet(1)
    fleet.processes[0].freeze()
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.get(fleet.balancer.url + "/livez", timeout=0.3)
    fleet.processes[0].thaw()
    assert call(fleet.url, "add", a=1, b=2) == 3


def test_a_terminated_process_ends_with_exit_code_zero(launch_fleet: Launch) -> None:
    fleet = launch_fleet(1)
    fleet.processes[0].terminate()
    assert fleet.processes[0].await_exit() == 0


def test_settings_and_a_redis_of_its_own_reach_the_processes(launch_fleet: Launch, own_redis: RedisServer) -> None:
    fleet = launch_fleet(1, redis_url=own_redis.url, PATH="/elsewhere")
    assert fleet.url.endswith("/elsewhere")
    assert call(fleet.url, "add", a=1, b=2) == 3
    with own_redis.client() as client:
        assert client.dbsize() > 0


def test_the_end_leaves_no_process(tmp_path: Path) -> None:
    with Fleet(tmp_path, 1, {}) as fleet:
        fleet.processes[0].freeze()
    assert_ends(fleet.processes[0].pid)


def test_a_test_that_fails_leaves_no_process_either(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Fleet(tmp_path, 1, {}) as fleet:
        raise ZeroDivisionError
    assert_ends(fleet.processes[0].pid)


def test_a_server_that_does_not_start_fails_the_test_with_its_words(launch_fleet: Launch) -> None:
    with pytest.raises(AssertionError, match=r"No module named 'tests\.servers\.none'"):
        launch_fleet(1, server="tests.servers.none:server")


async def status(client: Client, task_id: str) -> str:
    found: str = (await client.request("tasks/get", {"taskId": task_id})).result["status"]
    return found


async def ended(client: Client, task_id: str) -> str:
    async with asyncio.timeout(20):
        while True:
            found = await status(client, task_id)
            if found != "working":
                return found
            await asyncio.sleep(0.02)


async def test_workers_run_the_tasks_of_a_fleet_and_can_be_killed_and_restarted(launch_fleet: Launch) -> None:
    """With both dead a task waits, for no process that serves takes it."""
    fleet = launch_fleet(2, 2, server="tests.servers.lengthy:server")
    first, second = fleet.workers
    async with connected(fleet.url, MODERN, capabilities={"extensions": dict(EXTENSION)}) as client:
        for worker in fleet.workers:
            worker.kill()
        task_id = (await client.call("dig", depth=1)).result["taskId"]
        assert await status(client, task_id) == "working"
        fleet.restart_worker(1)
        assert await ended(client, task_id) == "completed"
    assert fleet.workers[0] is first
    assert fleet.workers[1] is not second
    assert {each.log.name for each in (*fleet.processes, *fleet.workers)} == {
        "process-0.log", "process-1.log", "worker-2.log", "worker-4.log",
    }  # fmt: skip
