"""The reports of the official suite: nothing that was not checked counts as passed."""

import pytest

from tests.conformance.suite import NOT_IN_LEGACY, Report, Run

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


@pytest.mark.parametrize("name", sorted(NOT_IN_LEGACY))
def test_what_the_legacy_revision_has_no_word_for_may_be_skipped_there_alone(name: str) -> None:
    run = Run("2025-11-25", "sep-2640-skills-enumeration")
    report = Report.of(run, [check("SUCCESS"), check("SKIPPED", name)])
    assert report.passed
    assert str(report).endswith(": 1 skipped, 1 success")
    assert not Report.of(run, [check("SUCCESS"), check("FAILURE", name)]).passed
    assert not Report.of(Run("2026-07-28", run.scenario), [check("SUCCESS"), check("SKIPPED", name)]).passed


@pytest.mark.parametrize("statuses", [[], ["INFO"]])
def test_a_scenario_that_checked_nothing_has_not_passed(statuses: list[str]) -> None:
    assert not Report.of(RUN, map(check, statuses)).passed
