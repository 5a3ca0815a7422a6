"""How the record of a task changes, until it never does again ("Task Status")."""

from collections.abc import Callable

import pytest

from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.protocol.jsontext import loads
from mcpfleet.server.outcome import Refusal
from mcpfleet.server.tasks.record import GRACE, Record
from tests.server.tasks.samples import ACCEPTED, FORM, record

REFUSAL = Refusal(-32000, "no", {"why": "so"})


def test_a_record_is_found_as_it_was_stored() -> None:
    full = record().claimed("a1", 1001.0).asking("q", FORM, 1002.0).stepped("s", 2**70, 1003.0)
    assert unpack(Record, pack(full)) == full


def test_a_new_task_is_in_nobodys_hands() -> None:
    assert (record().status, record().attempt, record().runner) == ("working", 0, "")
    assert not record().terminal


def test_each_attempt_is_counted_and_named() -> None:
    first = record().claimed("a1", 1001.0)
    assert (first.attempt, first.runner, first.updated) == (1, "a1", 1001.0)
    lost = first.released(1002.0, counted=True)
    assert (lost.attempt, lost.runner) == (1, "")
    assert lost.claimed("a2", 1003.0).attempt == 2


def test_an_attempt_that_was_given_back_in_good_order_is_not_counted() -> None:
    back = record().claimed("a1", 1001.0).released(1002.0, counted=False)
    assert (back.attempt, back.runner) == (0, "")


def test_a_task_waits_until_every_question_is_answered() -> None:
    asking = record().asking("q1", FORM, 1001.0).asking("q2", FORM, 1002.0)
    assert asking.status == "input_required"
    assert asking.questions == {"q1": FORM, "q2": FORM}
    half = asking.answered({"q1": ACCEPTED}, 1003.0)
    assert (half.status, half.questions, half.answer("q1")) == ("input_required", {"q2": FORM}, ACCEPTED)
    whole = half.answered({"q2": {"action": "decline"}}, 1004.0)
    assert (whole.status, whole.questions) == ("working", {})
    assert whole.answer("q1") == ACCEPTED
    assert whole.answer("q2") == {"action": "decline"}
    assert whole.updated == 1004.0


def test_only_what_was_asked_can_be_answered_and_once() -> None:
    asking = record().asking("q", FORM, 1001.0)
    assert asking.answered({"other": ACCEPTED}, 1002.0) is asking
    answered = asking.answered({"q": ACCEPTED, "other": ACCEPTED}, 1003.0)
    assert answered.answer("other") is None
    assert answered.answered({"q": {"action": "cancel"}}, 1004.0) is answered


def test_a_question_that_was_given_up_is_remembered_and_cannot_be_answered() -> None:
    asking = record().asking("q1", FORM, 1001.0).asking("q2", FORM, 1001.0)
    given_up = asking.given_up("q1", 1002.0)
    assert (given_up.status, given_up.questions, given_up.closed) == ("input_required", {"q2": FORM}, ("q1",))
    assert given_up.answered({"q1": ACCEPTED}, 1003.0) is given_up
    assert given_up.given_up("q2", 1004.0).status == "working"


def test_what_a_step_has_come_to_is_found_again_even_if_it_is_nothing() -> None:
    stepped = record().stepped("s1", None, 1001.0).stepped("s2", [1], 1002.0)
    assert (stepped.step("s1"), stepped.step("s2"), stepped.step("s3")) == ((None,), ([1],), None)


def test_a_task_ends_with_the_result_of_its_call() -> None:
    ended = record().claimed("a1", 1001.0).completed({"content": [], "isError": True}, 1002.0)
    assert (ended.status, ended.terminal, ended.runner) == ("completed", True, "")
    assert ended.result is not None
    assert loads(ended.result) == {"content": [], "isError": True}
    assert ended.error is None


def test_a_task_ends_with_an_error_of_the_protocol() -> None:
    ended = record().failed(REFUSAL, 1001.0)
    assert (ended.status, ended.message, ended.result) == ("failed", "no", None)
    assert ended.error is not None
    assert loads(ended.error) == {"code": -32000, "message": "no", "data": {"why": "so"}}
    bare = record().failed(Refusal(-32000, "no"), 1001.0)
    assert bare.error is not None
    assert loads(bare.error) == {"code": -32000, "message": "no"}


@pytest.mark.parametrize(
    "end",
    [
        lambda record: record.completed({}, 1005.0),
        lambda record: record.failed(REFUSAL, 1005.0),
        lambda record: record.cancelled(1005.0),
    ],
    ids=["completed", "failed", "cancelled"],
)
def test_nothing_of_its_run_is_left_once_a_task_has_ended(end: Callable[[Record], Record]) -> None:
    busy = record().claimed("a1", 1001.0).stepped("s", 1, 1002.0).asking("q1", FORM, 1003.0)
    ended = end(busy.asking("q2", FORM, 1004.0).answered({"q1": ACCEPTED}, 1004.0))
    assert (ended.runner, ended.open, ended.answers, ended.steps) == ("", b"{}", b"{}", b"{}")


@pytest.mark.parametrize(
    "change",
    [
        lambda ended: ended.claimed("a2", 1.0),
        lambda ended: ended.released(1.0, counted=True),
        lambda ended: ended.asking("q", FORM, 1.0),
        lambda ended: ended.given_up("q", 1.0),
        lambda ended: ended.stepped("s", 1, 1.0),
        lambda ended: ended.completed({}, 1.0),
        lambda ended: ended.failed(REFUSAL, 1.0),
        lambda ended: ended.cancelled(1.0),
    ],
)
@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_a_task_that_has_ended_changes_no_more(status: str, change: Callable[[Record], Record]) -> None:
    ended = {
        "completed": record().completed({}, 1001.0),
        "failed": record().failed(REFUSAL, 1001.0),
        "cancelled": record().cancelled(1001.0),
    }[status]
    with pytest.raises(ValueError, match=f"a task that is {status} changes no more"):
        change(ended)


def test_a_clock_that_is_behind_does_not_turn_a_task_back() -> None:
    assert record().claimed("a1", 2000.0).stepped("s", 1, 1500.0).updated == 2000.0


def test_a_task_is_kept_for_its_life_and_a_moment_after_it() -> None:
    assert record().ends == 4600.0
    assert record().life(1000.0) == 3600.0 + GRACE
    assert record().life(4590.0) == 10.0 + GRACE
    assert record().life(9999.0) == GRACE
