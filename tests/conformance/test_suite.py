"""The reports of the official suite: nothing that was not checked counts as passed."""

import pytest

from tests.conformance.suite import Report, Run

RUN = Run("2025-11-25", "ping")


def check(status: str, name: str = "check") -> dict[str, str]:
    return {"id": name, "status": status, "description": "It answers."}


def test_a_scenario_passes_when_all_its_checks_succeed() -> None:
    report = Report.of(RUN, [check("SUCCESS"), check("INFO"), check("SUCCESS")])
    assert report.passed
    assert str(report) == "ok     2025-11-25 ping: 1 info, 2 success"


@pytest.mark.parametrize("status", ["FAILURE", "WARNING", "SKIPPED"])
def test_a_check_that_failed_warned_or_was_skipped_fails_its_scenario(status: str) -> None:
    report = Report.of(RUN, [check("SUCCESS"), check(status, "a"), check(status, "b")])
    assert not report.passed
    assert report.complaints == (f"{status} a, b: It answers.",)


@pytest.mark.parametrize("statuses", [[], ["INFO"]])
def test_a_scenario_that_checked_nothing_has_not_passed(statuses: list[str]) -> None:
    assert not Report.of(RUN, map(check, statuses)).passed
