"""What operators measure: scraped from real processes, of all behind a port, and held against what was done."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from mcpfleet_service.metrics.families import OF_PROCESSES, OF_THE_FLEET
from tests.answer import Json
from tests.fleets import COMMAND, WORK, WORKING, Launch
from tests.processes import ROOT, Serving
from tests.redis_server import RedisServer, SharedRedis, free_port, fresh_namespace
from tests.wire import LATEST_HANDSHAKE, MODERN, Client, connected

SECONDS: Final = 20.0
SERVER: Final = "tests.servers.lengthy:server"
Labels = dict[str, str]


class Scrape:
    """All series of one moment."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}

    def sum(self, name: str, **labels: str) -> float:
        """The sum of all series of this name that have these labels."""
        return sum(value for found, value in self.series(name) if labels.items() <= found.items())

    def series(self, name: str) -> Iterator[tuple[Labels, float]]:
        """Each series of this name."""
        for family in self.families.values():
            for sample in family.samples:
                if sample.name == name:
                    yield dict(sample.labels), sample.value

    @property
    def processes(self) -> set[str]:
        """Those that told of themselves."""
        return {labels["process"] for labels, _ in self.series("mcpfleet_process_info")}


async def scraped(url: str) -> Scrape:
    """What a port tells now."""
    async with httpx2.AsyncClient(trust_env=False, timeout=SECONDS) as http:
        response = await http.get(f"{url.removesuffix('/mcp')}/metrics")
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/plain; version=")
    return Scrape(response.text)


async def until_ended(url: str) -> None:
    """Return once a task was completed."""
    while not (await scraped(url)).sum("mcpfleet_tasks_ended_total", status="completed"):  # noqa: ASYNC110 - elsewhere
        await asyncio.sleep(0.05)


async def status_of(url: str) -> int:
    """The status of what is there."""
    async with httpx2.AsyncClient(trust_env=False, timeout=SECONDS) as http:
        return (await http.get(url)).status_code


@asynccontextmanager
async def several(tmp_path: Path, redis: SharedRedis, **settings: str) -> AsyncIterator[Serving]:
    """Three processes behind one port."""
    with fresh_namespace(redis) as namespace:
        given = {"APP": "tests.servers.basic:server", "PORT": "0", "REDIS_URL": redis.url, "NAMESPACE": namespace}
        variables = {**given, "WORKERS": "3", "DRAIN_DELAY": "0", "DRAIN_SECONDS": "5", **settings}
        environ = {f"MCPFLEET_{name}": value for name, value in variables.items()}
        with Serving(COMMAND, environ, tmp_path / "serve.log") as serving:
            yield serving.await_greeting()
            serving.terminate()
            assert serving.await_exit() == 0


async def test_whichever_process_behind_a_port_is_asked_tells_of_all(tmp_path: Path, redis_server: SharedRedis) -> None:
    name = "mcp_server_operation_duration_seconds_count"
    calls, made = {"method": "tools/call", "target": "add", "error": ""}, 0
    async with several(tmp_path, redis_server) as serving, asyncio.timeout(SECONDS):
        while len((scrape := await scraped(serving.url)).processes) < 3:  # noqa: ASYNC110 - they are elsewhere
            await asyncio.sleep(0.1)
        while len([labels for labels, _ in scrape.series(name) if calls.items() <= labels.items()]) < 2:
            async with connected(serving.url, MODERN) as client:
                assert (await client.call("add", a=1, b=2)).status == 200
            made += 1
            scrape = await scraped(serving.url)
        again = await scraped(serving.url)
    assert scrape.processes == again.processes
    assert scrape.sum(name, **calls) == again.sum(name, **calls) == made


async def test_every_instrument_tells_what_is_done(launch_fleet: Launch) -> None:
    fleet = launch_fleet(1, server=SERVER, SSE="true")
    url = fleet.processes[0].url
    extension: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {}}
    async with (
        connected(fleet.url, MODERN, capabilities=extension) as modern,
        connected(fleet.url, LATEST_HANDSHAKE, capabilities={"elicitation": {}}) as legacy,
        legacy.listening() as stream,
        modern.asking("subscriptions/listen", {"notifications": {"toolsListChanged": True}}) as listening,
    ):
        assert (await listening.message()) is not None
        assert stream.status == 200
        assert (await modern.request("no/such/method")).status == 404
        assert (await modern.send("POST", "{")).status == 400
        assert (await modern.call("no such tool")).error["code"] == -32602
        during = await scraped(url)
        assert during.sum("mcpfleet_streams", kind="get") == 1
        assert during.sum("mcpfleet_streams", kind="listen") == 1
        assert during.sum("mcpfleet_requests_active") == 2
        assert during.sum("mcpfleet_sessions") == 1
        assert (await legacy.end()).status in (200, 204)
    after = await scraped(url)
    assert after.sum("mcpfleet_sessions") == 0
    assert after.sum("mcp_server_session_duration_seconds_count") == 1
    assert after.sum("mcpfleet_refusals_total") >= 3
    assert after.sum("mcp_server_operation_duration_seconds_count", method="_OTHER", error="-32601") == 1
    assert after.sum("mcp_server_operation_duration_seconds_count", method="tools/call", target="") == 1
    assert {sample for sample in after.families if "no such" in sample} == set()
    async with asyncio.timeout(SECONDS):
        while not (await scraped(url)).sum("mcpfleet_bell_lag_seconds_count"):  # noqa: ASYNC110 - it is elsewhere
            await asyncio.sleep(0.1)


async def test_what_redis_did_not_do_is_counted_and_what_it_cannot_count_is_left_out(
    launch_fleet: Launch, own_redis: RedisServer
) -> None:
    fleet = launch_fleet(1, redis_url=own_redis.url)
    url = fleet.processes[0].url
    assert (await scraped(url)).sum("mcpfleet_redis_errors_total") == 0
    own_redis.stop()
    async with Client(fleet.url, LATEST_HANDSHAKE) as client:
        assert (await client.initialize()).status == 503
    away = await scraped(url)
    assert away.sum("mcpfleet_redis_errors_total") > 0
    assert away.sum("mcpfleet_refusals_total", reason="store_unavailable") >= 1
    assert "mcpfleet_sessions" not in away.families
    own_redis.start()


async def test_on_a_port_of_its_own_there_is_nothing_else_and_nowhere_else_is_it(
    tmp_path: Path, redis_server: SharedRedis
) -> None:
    admin = free_port()
    async with several(tmp_path, redis_server, ADMIN_PORT=str(admin)) as serving:
        inside = f"http://127.0.0.1:{admin}"
        for path in ("/livez", "/readyz", "/metrics"):
            assert await status_of(inside + path) == 200
            assert await status_of(serving.url.removesuffix("/mcp") + path) == 404
        async with Client(f"{inside}/mcp", MODERN) as client:
            assert (await client.request("tools/list")).status == 404
        async with connected(serving.url, MODERN) as client:
            assert (await client.request("tools/list")).status == 200


async def test_a_worker_tells_how_it_does_and_how_many_tasks_wait(
    tmp_path: Path, launch_fleet: Launch, redis_server: SharedRedis
) -> None:
    admin = free_port()
    fleet = launch_fleet(1, server="tests.chaos.tasks.server:server", TASK_QUEUES="nothing")
    settings = {"APP": "tests.chaos.tasks.server:server", "REDIS_URL": fleet.redis_url, "NAMESPACE": fleet.namespace}
    extension: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    environ = {f"MCPFLEET_{name}": value for name, value in {**settings, "ADMIN_PORT": str(admin)}.items()}
    async with connected(fleet.url, MODERN, capabilities=extension) as client:
        created = await client.call("compute", tag="waits", seconds=0.0)
        assert created.result["resultType"] == "task", created
        assert (await scraped(fleet.processes[0].url)).sum("mcpfleet_queue_depth") == 1
        with Serving(WORK, {**environ, "CHAOS_DEEDS": str(tmp_path / "deeds")}, tmp_path / "work.log") as worker:
            worker.await_log(WORKING)
            inside = f"http://127.0.0.1:{admin}"
            assert await status_of(f"{inside}/readyz") == 200
            async with asyncio.timeout(SECONDS):
                await until_ended(inside)
            found = await scraped(inside)
            assert found.sum("mcpfleet_process_info", tier="worker") == 1
            assert found.sum("mcpfleet_queue_depth") == 0
            worker.terminate()
            assert worker.await_exit() == 0


def test_the_document_names_every_metric() -> None:
    text = (ROOT / "docs" / "telemetry.md").read_text()
    rows = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `mcp")}
    assert rows.keys() == {each.shown for each in OF_PROCESSES} | OF_THE_FLEET.keys()
    for each in OF_PROCESSES:
        assert each.about in rows[each.shown]
        assert all(f"`{label}`" in rows[each.shown] for label in each.labels)


@pytest.mark.parametrize("port", ["0", "x", "70000"])
def test_a_port_that_cannot_be_is_refused(port: str) -> None:
    from mcpfleet.errors import SettingsError
    from mcpfleet_service.settings import Settings

    with pytest.raises(SettingsError, match="MCPFLEET_ADMIN_PORT"):
        Settings.from_environment({"MCPFLEET_ADMIN_PORT": port})


async def test_a_fleet_of_more_processes_than_are_meant_says_so(launch_fleet: Launch) -> None:
    fleet = launch_fleet(2, MAX_PROCESSES="1")
    for process in fleet.processes:
        process.await_log("2 processes are alive, and MCPFLEET_MAX_PROCESSES says 1 at most")
