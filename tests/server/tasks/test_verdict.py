"""What becomes of a task that nobody alive runs, by its record alone."""

import pytest

from mcpfleet.server.outcome import Refusal
from mcpfleet.server.tasks.record import Record
from mcpfleet.server.tasks.verdict import ATTEMPTS_EXHAUSTED, EXPIRED, OUTCOME_UNKNOWN, Verdict, verdict
from tests.server.tasks.samples import FORM, record

NEW = record()
BEGUN = record().claimed("a1", 1001.0)
TWICE = BEGUN.released(1002.0, counted=True).claimed("a2", 1003.0)
PARKED = record().asking("q", FORM, 1001.0)
"""Asked, and then given back in good order."""
BROKEN_OFF = BEGUN.asking("q", FORM, 1002.0)
"""Asked, and then lost with its process."""
ENDED = BEGUN.completed({}, 1002.0)


@pytest.mark.parametrize("repeatable", [False, True])
@pytest.mark.parametrize(
    ("task", "now", "decided", "why"),
    [
        (NEW, 1001.0, Verdict.RUN, None),
        (ENDED, 1001.0, Verdict.LEAVE, None),
        (ENDED, 9999.0, Verdict.LEAVE, None),
        (NEW, 4599.9, Verdict.RUN, None),
        (NEW, 4600.0, Verdict.END, EXPIRED),
        (PARKED, 1002.0, Verdict.LEAVE, None),
        (PARKED, 4600.0, Verdict.END, EXPIRED),
        (BEGUN, 4600.0, Verdict.END, EXPIRED),
    ],
)
def test_what_does_not_depend_on_whether_it_may_run_twice(
    task: Record, now: float, decided: Verdict, why: Refusal | None, repeatable: bool
) -> None:
    assert verdict(task, now, repeatable=repeatable, attempts=2) == (decided, why)


@pytest.mark.parametrize("task", [BEGUN, TWICE, BROKEN_OFF])
def test_what_must_not_run_twice_ends_once_a_run_of_it_broke_off(task: Record) -> None:
    assert verdict(task, 1004.0, repeatable=False, attempts=9) == (Verdict.END, OUTCOME_UNKNOWN)


def test_what_may_run_twice_is_begun_as_often_as_it_may() -> None:
    assert verdict(BEGUN, 1004.0, repeatable=True, attempts=2) == (Verdict.RUN, None)
    assert verdict(TWICE, 1004.0, repeatable=True, attempts=3) == (Verdict.RUN, None)
    assert verdict(TWICE, 1004.0, repeatable=True, attempts=2) == (Verdict.END, ATTEMPTS_EXHAUSTED)


def test_what_waits_for_its_client_waits_on_however_often_it_was_begun() -> None:
    assert verdict(BROKEN_OFF, 1004.0, repeatable=True, attempts=1) == (Verdict.LEAVE, None)
