"""What becomes of a task whose time has come on the agenda: decided from its record alone."""

from enum import Enum
from typing import Final

from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR
from mcpfleet.server.outcome import Refusal
from mcpfleet.server.tasks.record import Record

EXPIRED: Final = Refusal(INTERNAL_ERROR, "The task was not finished in its time.", {"reason": "expired"})
OUTCOME_UNKNOWN: Final = Refusal(
    INTERNAL_ERROR,
    "The process that ran the task is gone; its outcome is unknown, and it is not safe to run it again.",
    {"reason": "outcome_unknown"},
)
ATTEMPTS_EXHAUSTED: Final = Refusal(
    INTERNAL_ERROR,
    "Every process that ran the task is gone; it is not tried again.",
    {"reason": "attempts_exhausted"},
)


class Verdict(Enum):
    """What is to be done with it."""

    RUN = "run"
    LEAVE = "leave"
    """It has ended, or waits for its client: nothing is to be done until somebody writes to it."""
    END = "end"
    """It has to end with the error that `why` names."""


def verdict(record: Record, now: float, *, repeatable: bool, attempts: int) -> tuple[Verdict, Refusal | None]:
    """Of a task that nobody alive runs, and with which error it ends if it does.

    `repeatable`: its tool may run again after a run that broke off; `attempts`: how often it may be begun.
    """
    if record.terminal:
        return Verdict.LEAVE, None
    if now >= record.ends:
        return Verdict.END, EXPIRED
    if record.attempt and not repeatable:
        return Verdict.END, OUTCOME_UNKNOWN
    if record.status == "input_required":
        return Verdict.LEAVE, None
    if record.attempt >= attempts:
        return Verdict.END, ATTEMPTS_EXHAUSTED
    return Verdict.RUN, None
