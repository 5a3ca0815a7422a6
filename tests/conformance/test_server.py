"""The official suite against our server: three processes on one Redis, each request to another process than the last.
Two workers run the tasks.

`passing.txt` names every scenario, and each passes, with nothing failed, warned of, or skipped. It is not a list of
exceptions: what is missing from it is not built yet, and what comes to pass must be recorded.
"""

from pathlib import Path

import pytest

from tests.conformance.suite import Suite
from tests.fleets import Launch

SCENARIOS = 88
"""How many the suite has for servers, once for each revision."""
RECORDED = Path(__file__).with_name("passing.txt").read_text().splitlines()


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("suite_packages")
def test_what_passes_is_what_is_recorded(launch_fleet: Launch, tmp_path: Path) -> None:
    served = launch_fleet(3, 2, server="tests.conformance.server:server")
    reports = {str(report.run): report for report in Suite(served.url, tmp_path).every()}
    assert len(reports) == SCENARIOS
    passed = {name for name, report in reports.items() if report.passed}
    lost = {name: reports.get(name, "the suite does not know it") for name in RECORDED if name not in passed}
    assert not lost, "\n".join(f"{report}: {getattr(report, 'complaints', '')}" for report in lost.values())
    assert sorted(passed - {*RECORDED}) == [], "these pass: record them in passing.txt"


def test_each_scenario_is_recorded_once_and_in_order() -> None:
    assert sorted({*RECORDED}) == RECORDED
