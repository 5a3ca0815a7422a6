"""The load test itself: its report of a short run is read, and a server that does everything wrong shows."""

import json
import re
from pathlib import Path
from typing import Final

import pytest

from loadtest.load import scenarios
from loadtest.load.__main__ import fleet, grown_in, loaded
from loadtest.load.gauges import Sample
from loadtest.load.report import PLOTS, verdict, write
from loadtest.load.scenarios import SCENARIOS
from loadtest.load.tally import Tally
from tests.fleets import Launch

USERS: Final = (1, 4)
SECONDS: Final = 2.0
PNG: Final = b"\x89PNG\r\n\x1a\n"


async def test_a_short_run_is_without_errors_and_its_report_has_every_scenario_and_plot(tmp_path: Path) -> None:
    with fleet() as (url, redis_url, pids):
        steps, _ = await loaded(url, redis_url, pids, SECONDS, USERS)
    page = write(tmp_path, steps, {"commit": "abc", "command": "x < y"}).read_text()
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["about"]["commit"] == "abc"
    assert [(step["scenario"], step["users"]) for step in found["steps"]] == [(s, u) for s in SCENARIOS for u in USERS]
    for step in found["steps"]:
        assert step["errors"] == 0, step
        assert step["done"] > 0, step
        assert 0 < step["p50_ms"] <= step["p95_ms"] <= step["p99_ms"]
        assert step["memory_mib"] > 50
        assert step["redis_commands"] > 0
    assert all((tmp_path / f"{name}.png").read_bytes().startswith(PNG) for name in PLOTS)
    assert page.count("data:image/png;base64,") == len(PLOTS)
    assert len(re.findall(r"<tr>", page)) == 1 + len(steps)
    assert "x &lt; y" in page
    assert re.fullmatch(r"scenarios 5, each of \d+ s or more; done \d+; errors 0", verdict(steps))


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_server_that_does_it_wrong_shows(
    name: str, launch_fleet: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenarios, "HEAR_SECONDS", 2.0)
    fleet = launch_fleet(1, server="tests.loadtest.mistaken:server")
    tally = Tally()
    await SCENARIOS[name](fleet.url, 2, 0.5, tally)
    assert tally.errors


def test_a_soak_tells_what_grew() -> None:
    steady = [Sample(at, 100, 1.0, 10, 5, 7) for at in range(9)]
    growing = [Sample(at, 100 + 10 * at, 1.0, 10, 5, 7) for at in range(9)]
    assert grown_in(steady) == []
    assert grown_in(growing) == ["memory grew from 120 to 160"]
