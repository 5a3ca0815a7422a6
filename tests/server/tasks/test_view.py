"""A task as its client sees it."""

from typing import Any

import msgspec
import pytest

from mcpfleet.protocol.jsontext import plain
from mcpfleet.protocol.tasks import task_id
from mcpfleet.server.outcome import Refusal
from mcpfleet.server.tasks.names import names_of
from mcpfleet.server.tasks.record import Record
from mcpfleet.server.tasks.store import Found, Progress
from mcpfleet.server.tasks.view import detailed, handle
from tests.server.tasks.samples import ACCEPTED, FORM, record

ID = task_id(3, "0" * 32)
COMMON = {
    "taskId": ID,
    "createdAt": "1970-01-01T00:16:40.000Z",
    "lastUpdatedAt": "1970-01-01T00:16:41.500Z",
    "ttlMs": 3_600_000,
    "pollIntervalMs": 250,
}
REFUSAL = Refusal(-32000, "no", {"why": "so"})


def found(task: Record, progress: Progress | None = None) -> Found:
    names = names_of(ID)
    assert names is not None
    return Found(names, task, b"", progress)


def test_the_handle_tells_what_it_is_and_no_more() -> None:
    new = msgspec.structs.replace(record(), updated=1001.5)
    assert plain(handle(found(new), poll=0.25)) == {**COMMON, "status": "working"}


@pytest.mark.parametrize(
    ("task", "more"),
    [
        (record().claimed("a1", 1001.5), {"status": "working"}),
        (
            record().asking("q1", FORM, 1001.0).asking("q2", FORM, 1001.0).answered({"q1": ACCEPTED}, 1001.5),
            {"status": "input_required", "inputRequests": {"q2": FORM}},
        ),
        (record().completed({"content": [2**70]}, 1001.5), {"status": "completed", "result": {"content": [2**70]}}),
        (
            record().failed(REFUSAL, 1001.5),
            {
                "status": "failed",
                "statusMessage": "no",
                "error": {"code": -32000, "message": "no", "data": {"why": "so"}},
            },
        ),
        (record().asking("q1", FORM, 1001.0).cancelled(1001.5), {"status": "cancelled"}),
    ],
    ids=lambda value: value.status if isinstance(value, Record) else "",
)
def test_each_status_comes_with_what_is_its_own(task: Record, more: dict[str, Any]) -> None:
    assert plain(detailed(found(task), poll=0.25)) == {**COMMON, **more}


def test_what_a_run_says_of_itself_is_its_message() -> None:
    told = plain(detailed(found(record(), Progress("halfway", 1001.5)), poll=0.25))
    assert told == {**COMMON, "status": "working", "statusMessage": "halfway"}


def test_what_a_run_said_before_the_record_changed_does_not_turn_the_time_back() -> None:
    told = detailed(found(record().claimed("a1", 1001.5), Progress("halfway", 1000.5)), poll=0.25)
    assert (told.status_message, told.last_updated_at) == ("halfway", COMMON["lastUpdatedAt"])


def test_what_a_run_said_is_forgotten_once_the_task_has_ended() -> None:
    told = plain(detailed(found(record().failed(REFUSAL, 1001.5), Progress("halfway", 1009.0)), poll=0.25))
    assert (told["statusMessage"], told["lastUpdatedAt"]) == ("no", COMMON["lastUpdatedAt"])
    told = plain(detailed(found(record().cancelled(1001.5), Progress("halfway", 1009.0)), poll=0.25))
    assert "statusMessage" not in told


@pytest.mark.parametrize(("poll", "milliseconds"), [(0.0001, 1), (1.0, 1000)])
def test_the_poll_interval_is_a_positive_number_of_milliseconds(poll: float, milliseconds: int) -> None:
    assert handle(found(record()), poll=poll).poll_interval_ms == milliseconds
