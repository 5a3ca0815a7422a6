"""The log as JSON lines with what each belongs to, and the audit's lines: for whom, and what it came to."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.fleets import WORK, WORKING, Fleet, Launch
from tests.processes import Serving, python
from tests.redis_server import SharedRedis, fresh_namespace
from tests.wire import LATEST_HANDSHAKE, MODERN, connected

TRACE: Final = "0af7651916cd43dd8448eb211c80319c"
META: Final = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
SECRET: Final = "hunter2"
TAKES: Final[dict[str, Any]] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
Json = dict[str, Any]


def lines(log: Path) -> list[Json]:
    """Every line that was logged; the greeting is not."""
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def audited(log: Path) -> list[Json]:
    """Those of the audit."""
    return [line for line in lines(log) if line["logger"] == "mcpfleet.audit"]


@pytest.fixture
def guarded(redis_server: SharedRedis, tmp_path: Path) -> Iterator[Fleet]:
    """A process that serves whoever shows a known token, logs JSON and audits."""
    with fresh_namespace(redis_server) as namespace:
        settings = {"REDIS_URL": redis_server.url, "NAMESPACE": namespace, "LOG_FORMAT": "json", "AUDIT": "true"}
        with Fleet(tmp_path, 1, settings, command=python("-m", "tests.servers.tokens")) as fleet:
            yield fleet


@pytest.mark.parametrize("date", [MODERN, LATEST_HANDSHAKE])
async def test_the_audit_has_a_line_for_each_call_of_whom_it_was_for_and_what_it_came_to(
    guarded: Fleet, date: str
) -> None:
    async with connected(guarded.url, date, headers={"Authorization": "Bearer alice-by-another-client"}) as client:
        assert (await client.call("echo", as_id=7, x=SECRET)).status == 200
        assert (await client.call(f"no such {SECRET}")).error["code"] == -32602
        assert (await client.call("add", a=SECRET, b=2)).result["isError"]
    log = guarded.processes[0].log
    well, unknown, badly = audited(log)
    assert well["audit"].pop("durationMs") >= 0
    assert well["audit"] == {
        "principal": {"issuer": "https://a.example", "subject": "alice", "client": "client"},
        "outcome": "ok",
    }
    assert (well["method"], well["target"], well["requestId"], well["protocolVersion"]) == (
        "tools/call",
        "echo",
        7,
        date,
    )
    assert ("sessionId" in well) is (date != MODERN)
    assert [line["audit"]["outcome"] for line in (unknown, badly)] == ["-32602", "tool_error"]
    assert SECRET not in json.dumps([well, badly])


async def test_whatever_is_logged_while_a_message_is_served_says_which_and_in_which_trace(launch_fleet: Launch) -> None:
    fleet = launch_fleet(1, server="tests.servers.traced:server", LOG_FORMAT="json")
    async with connected(fleet.url, MODERN) as client:
        answer = await client.request("tools/call", {"name": "badly", "arguments": {"how": "x"}, "_meta": META})
    found = lines(fleet.processes[0].log)
    assert all(line.keys() >= {"time", "level", "logger", "message", "process"} for line in found)
    [failed] = [line for line in found if line["level"] == "ERROR"]
    assert failed["traceId"] == TRACE
    assert (failed["method"], failed["target"]) == ("tools/call", "badly")
    assert failed["correlationId"] in answer.result["content"][0]["text"]
    assert "KeyError" in failed["exception"]
    assert not [line for line in found if line["logger"] == "mcpfleet.audit"]


async def test_the_run_of_a_task_is_in_the_log_of_its_worker_with_the_trace_of_its_call(
    launch_fleet: Launch, tmp_path: Path
) -> None:
    fleet = launch_fleet(
        1, server="tests.servers.traced:server", TASK_QUEUES="nothing", LOG_FORMAT="json", AUDIT="true"
    )
    settings = {"APP": "tests.servers.traced:server", "REDIS_URL": fleet.redis_url, "NAMESPACE": fleet.namespace}
    environ = {f"MCPFLEET_{name}": value for name, value in {**settings, "LOG_FORMAT": "json", "AUDIT": "true"}.items()}
    with Serving(WORK, environ, tmp_path / "work.log") as worker:
        worker.await_log(WORKING)
        async with connected(fleet.url, MODERN, capabilities=TAKES) as client:
            made = await client.request("tools/call", {"name": "elsewhere", "arguments": {}, "_meta": META})
            worker.await_log("mcpfleet.audit")
        worker.terminate()
        assert worker.await_exit() == 0
    [run] = audited(worker.log)
    assert (run["taskId"], run["traceId"], run["audit"]["outcome"]) == (made.result["taskId"], TRACE, "ok")
    [call] = audited(fleet.processes[0].log)
    assert (call["traceId"], call["audit"]["outcome"]) == (TRACE, "unfinished")


async def test_below_the_level_nothing_of_ours_is_logged(launch_fleet: Launch) -> None:
    fleet = launch_fleet(1, server="tests.servers.traced:server", LOG_LEVEL="error", AUDIT="true")
    async with connected(fleet.url, MODERN) as client:
        assert (await client.call("well")).status == 200
    assert "tools/call" not in fleet.processes[0].log.read_text()
