"""Each way in which a fleet may break its promises about tasks is seen in a ledger, and nothing is that is allowed."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.chaos.faults import Kind as Fault
from tests.chaos.ledger import Breakage, Ledger
from tests.chaos.sins import Sin
from tests.chaos.tasks.deeds import BEGUN, DID, ENDED, STORED, Deed
from tests.chaos.tasks.errand import KINDS, Errand, Sight, wishes
from tests.chaos.tasks.server import right_value
from tests.chaos.tasks.verdict import judge_errands
from tests.chaos.wire import Json

TAG = "alice/1/1"
COMPUTE, CLIMB, ASK, ONCE, _, CANCELLED, ENDLESS, LATE, _ = KINDS

Change = Callable[[Errand, list[Deed]], None]


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(1e9 + seconds, UTC).isoformat()


def seen(status: str, at: float = 1.0, **more: object) -> Sight:
    task = {"status": status, "createdAt": stamp(0), "lastUpdatedAt": stamp(at), "ttlMs": 6000, **more}
    return Sight(at, at, task)


def completed(at: float = 1.0, *, steps: Sequence[str] = (), answers: Sequence[str] = (), **wrong: str) -> Sight:
    found: Json = {"principal": "alice", "tag": TAG, "value": right_value(TAG), "steps": steps, "answers": answers}
    return seen("completed", at, result={"content": [{"text": json.dumps({**found, **wrong})}]})


def failed(reason: str, at: float = 1.0) -> Sight:
    return seen("failed", at, error={"code": -32603, "message": "It failed.", "data": {"reason": reason}})


def ran(run: str = "a", *steps: str) -> list[Deed]:
    done = [Deed(TAG, run, what, f"{step}={run}") for step in steps for what in (DID, STORED)]
    return [Deed(TAG, run, BEGUN, "t1"), *done, Deed(TAG, run, ENDED)]


def sins(errand: Errand, deeds: Sequence[Deed], *faults: Fault, at: float = 0.5) -> set[Sin]:
    """What is wrong with a ledger of one errand, in which these faults happened."""
    ledger = Ledger()
    ledger.errands.append(errand)
    ledger.deeds = deeds
    ledger.breakages += [Breakage(fault, 0, at, at) for fault in faults]
    return {finding.sin for finding in judge_errands(ledger)}


def errand(kind: object = COMPUTE, *got: Sight, **fields: object) -> Errand:
    found = Errand("alice", TAG, kind, 0.0, "t1", ended=9.0, **fields)  # type: ignore[arg-type]  # any field at all
    found.got += got
    return found


def test_what_went_well_is_no_sin() -> None:
    assert sins(errand(COMPUTE, seen("working", 0.5), completed()), ran()) == set()
    climbed = completed(steps=["b", "a", "a"])
    broke_off = [Deed(TAG, "b", BEGUN, "t1"), Deed(TAG, "b", DID, "one=b"), Deed(TAG, "b", STORED, "one=b")]
    again = [Deed(TAG, "a", BEGUN, "t1"), Deed(TAG, "a", STORED, "one=b"), *ran("a", "two", "three")[1:]]
    assert sins(errand(CLIMB, climbed), [*broke_off, *again]) == set()
    assert sins(errand(LATE, failed("expired", 6.0)), ran()) == set()
    assert sins(errand(ENDLESS, seen("cancelled"), cancelled=0.9), []) == set()
    assert sins(errand(CANCELLED, completed(), cancelled=0.9), ran()) == set()


@pytest.mark.parametrize("fault", [Fault.KILL, Fault.FREEZE])
def test_a_tool_that_may_not_run_twice_fails_only_when_a_process_was_broken(fault: Fault) -> None:
    assert sins(errand(ONCE, failed("outcome_unknown")), ran()[:1], fault) == set()
    assert sins(errand(ONCE, failed("outcome_unknown")), ran()[:1]) == {Sin.LOST}
    assert sins(errand(ONCE, failed("outcome_unknown")), ran()[:1], fault, at=9.5) == {Sin.LOST}
    assert sins(errand(COMPUTE, failed("outcome_unknown")), ran()[:1], fault) == {Sin.LOST}


@pytest.mark.parametrize(
    ("entry", "deeds", "sin"),
    [
        (errand(ONCE, completed()), [*ran("a"), *ran("b")], Sin.DUPLICATED),
        (errand(COMPUTE, completed()), [*ran("a"), Deed(TAG, "b", BEGUN, "t2")], Sin.DUPLICATED),
        (
            errand(CLIMB, completed(steps=["a", "a", "a"])),
            [*ran("a", "one", "two", "three"), *ran("b", "one")],
            Sin.DUPLICATED,
        ),
        (errand(COMPUTE, completed(), seen("working")), ran(), Sin.DISORDERED),
        (errand(COMPUTE, completed(1.0), completed(2.0)), ran(), Sin.DISORDERED),
        (errand(COMPUTE, completed(), heard=[failed("expired")]), ran(), Sin.DISORDERED),
        (errand(COMPUTE, seen("working", 2.0), completed(1.0)), ran(), Sin.DISORDERED),
        (errand(COMPUTE, completed(value="wrong")), ran(), Sin.DISORDERED),
        (errand(COMPUTE, completed(tag="alice/2/1")), ran(), Sin.DISORDERED),
        (errand(COMPUTE, completed(principal="bob")), ran(), Sin.LEAKED),
        (errand(COMPUTE, completed()), [], Sin.LOST),
        (errand(COMPUTE, seen("working", 0.5), Sight(1.0, 1.0, None), completed()), ran(), Sin.LOST),
        (errand(COMPUTE, completed(), follows=True), ran(), Sin.LOST),
        (errand(COMPUTE, completed(), refused=[0.5]), ran(), Sin.LOST),
        (errand(COMPUTE, failed("expired", 6.0)), ran(), Sin.LOST),
        (errand(COMPUTE, failed("attempts_exhausted")), ran(), Sin.LOST),
        (errand(COMPUTE, seen("cancelled")), ran(), Sin.LOST),
        (errand(LATE, failed("expired", 5.0)), ran(), Sin.LOST),
        (errand(LATE, completed()), ran(), Sin.LOST),
        (errand(ENDLESS, seen("working", 0.9), seen("cancelled"), cancelled=0.8), ran(), Sin.LOST),
        (errand(COMPUTE, seen("working")), ran(), Sin.HUNG),
        (errand(COMPUTE, completed(), overdue=True), ran(), Sin.HUNG),
        (errand(COMPUTE, completed(), asked={"q": {"What?"}}), ran(), Sin.DUPLICATED),
        (errand(ASK, seen("working"), asked={"q": {"What?", "Who?"}}, overdue=True), ran(), Sin.DUPLICATED),
        (errand(ASK, seen("input_required", 2.0, inputRequests={"q": {}}), answered={"q": 1.5}), ran(), Sin.LOST),
    ],
)
def test_what_went_wrong_is_seen(entry: Errand, deeds: Sequence[Deed], sin: Sin) -> None:
    assert sin in sins(entry, deeds)


def test_a_task_may_be_forgotten_only_after_its_time() -> None:
    for at, found in ((40.0, {Sin.LOST}), (67.0, set())):
        forgotten = Sight(at, at, None)
        assert sins(errand(LATE, failed("expired", 6.0), forgotten), ran()) == found


def test_what_goes_when_redis_is_emptied_is_no_sin() -> None:
    gone = Sight(1.0, 1.0, None)
    for entry in (
        errand(COMPUTE, seen("working", 0.2), gone, follows=True),
        errand(COMPUTE, completed(0.4), gone),
        errand(ENDLESS, seen("working", 0.2), gone, overdue=True),
    ):
        assert sins(entry, ran()) - {Sin.HUNG} == {Sin.LOST}
        assert sins(entry, ran(), Fault.REDIS_EMPTY, at=0.5) == set()
        assert Sin.LOST in sins(entry, ran(), Fault.REDIS_RESTART, at=0.5)
        assert Sin.LOST in sins(entry, ran(), Fault.REDIS_EMPTY, at=1.1)


def test_a_process_that_was_told_to_stop_may_fail_a_tool_that_must_not_run_twice_and_refuse_a_request() -> None:
    stopped = failed("server_stopped")
    assert sins(errand(ONCE, stopped, refused=[0.5]), ran()[:1], Fault.STOP) == set()
    assert sins(errand(ONCE, stopped), ran()[:1], Fault.KILL) == {Sin.LOST}
    assert sins(errand(COMPUTE, stopped), ran()[:1], Fault.STOP) == {Sin.LOST}
    assert sins(errand(COMPUTE, completed(), refused=[0.7]), ran(), Fault.STOP) == {Sin.LOST}


def test_of_a_call_whose_fate_is_unknown_only_twice_is_too_often() -> None:
    unknown = replace(errand(ONCE), task_id="")
    assert sins(unknown, ran()) == sins(unknown, []) == set()
    assert sins(unknown, [*ran("a"), *ran("b")]) == {Sin.DUPLICATED}


def test_a_seed_has_one_list_of_tasks_and_another_seed_another_of_the_same_kinds() -> None:
    one, other = wishes(1, 40), wishes(2, 40)
    assert one == wishes(1, 40) != other
    assert Counter(wish.kind for wish in one) == Counter(wish.kind for wish in other)
    assert {wish.kind for wish in one} == set(KINDS)
