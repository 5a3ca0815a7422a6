"""The verdict on a ledger: each way of breaking a promise is counted, and what has a cause is not."""

from dataclasses import replace

import pytest

from tests.chaos.faults import Kind
from tests.chaos.ledger import (
    LINGERING_SECONDS,
    Breakage,
    Call,
    End,
    Given,
    Intrusion,
    Ledger,
    Outcome,
    Question,
    Response,
    Said,
    Session,
    Silence,
)
from tests.chaos.sins import Sin
from tests.chaos.verdict import judge, last_line, lost_to_emptying

CLEAN = "lost 0 duplicated 0 disordered 0 hung 0 leaked 0"
MINE = Response("alice", "alice/1")
TOLD = [Said("alice", "alice/1", number) for number in (1, 2, 3)]


def call(*responses: Response, end: End = End.ANSWERED, says: int = 0) -> Call:
    """A call of alice's, from second 10 to second 20."""
    made = Call("alice", "alice/1", "count", 10.0, says, ended=20.0, end=end)
    made.responses += responses
    return made


def sins(ledger: Ledger) -> list[Sin]:
    return [finding.sin for finding in judge(ledger, settle=5.0)]


def of_call(made: Call, *broken: Kind) -> list[Sin]:
    """What is wrong with a call during which these faults happened."""
    ledger = Ledger()
    ledger.calls.append(made)
    ledger.breakages += [Breakage(kind, 0, 12.0, 13.0) for kind in broken]
    return sins(ledger)


def test_the_last_line_counts_each_kind() -> None:
    ledger = Ledger()
    assert last_line(judge(ledger, settle=5.0)) == CLEAN
    ledger.overdue.append("ping of alice")
    ledger.strays.append("alice/1")
    ledger.deaths.append("process 1 ended by itself, with code 1")
    ledger.intrusions += [Intrusion("bob used a session of another's", True), Intrusion("bob tried to", False)]
    assert last_line(judge(ledger, settle=5.0)) == "lost 1 duplicated 0 disordered 0 hung 2 leaked 1"


def test_a_call_with_its_own_response_and_all_that_it_said_is_right() -> None:
    made = call(MINE, says=3)
    made.said += TOLD
    assert of_call(made) == []


@pytest.mark.parametrize(
    ("response", "sin"),
    [
        (Response("bob", "bob/1"), Sin.LEAKED),
        (Response("alice", "alice/2"), Sin.DISORDERED),
    ],
)
def test_anothers_response_is_counted(response: Response, sin: Sin) -> None:
    assert of_call(call(response)) == [sin]


def test_a_second_response_is_one_too_many() -> None:
    assert of_call(call(MINE, MINE)) == [Sin.DUPLICATED]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([1, 1, 2, 3], [Sin.DUPLICATED]),
        ([1, 3], [Sin.LOST]),
        ([1, 2, 3, 2], [Sin.DISORDERED]),
        ([1, 2], [Sin.LOST]),
        ([], [Sin.LOST]),
    ],
)
def test_what_a_call_says_comes_once_in_order_and_all_of_it(said: list[int], expected: list[Sin]) -> None:
    made = call(MINE, says=3)
    made.said += [Said("alice", "alice/1", number) for number in said]
    assert of_call(made) == expected


def test_what_another_call_says_is_counted() -> None:
    made = call(MINE, says=3)
    made.said += [Said("bob", "bob/1", 1), Said("alice", "alice/2", 1), *TOLD]
    assert of_call(made) == [Sin.LEAKED, Sin.DISORDERED]


def test_what_was_said_while_redis_was_away_and_there_was_no_stream_is_not_kept() -> None:
    made = call(MINE, says=3)
    assert of_call(made, Kind.REDIS_FREEZE) == []
    made.said += TOLD[2:]
    assert of_call(made, Kind.REDIS_FREEZE) == []
    made.said[:] = [TOLD[0], TOLD[2]]
    assert of_call(made, Kind.REDIS_FREEZE) == [Sin.LOST], "there was one already"


@pytest.mark.parametrize(
    ("failure", "cause", "other"),
    [
        ("outcome_unknown", Kind.KILL, Kind.STOP),
        ("outcome_unknown", Kind.FREEZE, Kind.REDIS_RESTART),
        ("server_stopped", Kind.STOP, Kind.KILL),
        ("store_unavailable", Kind.REDIS_RESTART, Kind.KILL),
        ("The tool failed. Correlation id: 1", Kind.REDIS_FREEZE, Kind.STOP),
        ("not_replayable", Kind.REDIS_EMPTY, Kind.REDIS_RESTART),
    ],
)
def test_an_error_counts_as_lost_unless_it_has_a_cause(failure: str, cause: Kind, other: Kind) -> None:
    made = call(Response(failure=failure))
    assert of_call(made) == [Sin.LOST]
    assert of_call(made, other) == [Sin.LOST]
    assert of_call(made, cause) == []


@pytest.mark.parametrize(
    ("failure", "kind", "before"),
    [("outcome_unknown", Kind.KILL, 0.6), ("store_unavailable", Kind.REDIS_RESTART, LINGERING_SECONDS + 0.6)],
)
def test_a_cause_before_or_after_is_none(failure: str, kind: Kind, before: float) -> None:
    made = call(Response(failure=failure))
    for began, expected in ((10.0 - before, [Sin.LOST]), (10.2 - before, []), (20.0, []), (20.1, [Sin.LOST])):
        ledger = Ledger()
        ledger.calls.append(made)
        ledger.breakages.append(Breakage(kind, 0, began, began + 0.5))
        assert sins(ledger) == expected


def test_a_process_that_has_just_thawed_may_not_have_reached_redis_yet() -> None:
    for failure, expected in (("store_unavailable", []), ("outcome_unknown", [Sin.LOST])):
        ledger = Ledger()
        ledger.calls.append(call(Response(failure=failure)))
        ledger.breakages.append(Breakage(Kind.FREEZE, 0, 7.0, 8.0))
        assert sins(ledger) == expected


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (End.OVERDUE, [Sin.HUNG]),
        (End.EMPTY, [Sin.LOST]),
        (End.CUT, [Sin.LOST]),
        (End.CANCELLED, [Sin.LOST]),
        (End.GONE, []),
        (End.UNSERVED, []),
    ],
)
def test_a_call_without_a_response_is_hung_or_lost(end: End, expected: list[Sin]) -> None:
    assert of_call(call(end=end)) == expected


def test_a_call_that_had_no_stream_yet_may_be_cut_off_when_a_process_dies() -> None:
    assert of_call(call(end=End.CUT), Kind.KILL) == []
    assert of_call(call(end=End.CUT), Kind.STOP) == [Sin.LOST], "who is told to stop cuts nothing off"


def test_a_cancelled_call_has_no_response_once_the_cancel_was_acknowledged() -> None:
    made = call(end=End.CANCELLED)
    made.cancelling = True
    assert of_call(made) == []
    made = call(MINE)
    made.cancelling = True
    assert of_call(made) == [], "its result may have come first"
    made.cancelled = True
    assert of_call(made) == [Sin.LOST]


def of_question(*given: Given, value: str = "x", step: str = "once", broken: Kind | None = None) -> list[Sin]:
    """What is wrong with a question whose call got this value."""
    ledger, made = Ledger(), call(replace(MINE, value=value, step=step))
    ledger.calls.append(made)
    ledger.questions.append(Question(made, "once", list(given)))
    ledger.breakages += [] if broken is None else [Breakage(broken, 0, 12.0, 13.0)]
    return sins(ledger)


ACCEPTED, REFUSED, UNKNOWN = (Given("x", outcome) for outcome in Outcome)


def test_the_answer_that_was_accepted_is_the_one_that_the_call_gets() -> None:
    assert of_question(ACCEPTED, Given("y", Outcome.REFUSED)) == []
    assert of_question(UNKNOWN) == []
    assert of_question(ACCEPTED, value="y") == [Sin.LOST]
    assert of_question(REFUSED) == [Sin.LOST]


def test_two_answers_are_not_both_accepted() -> None:
    assert of_question(ACCEPTED, Given("y", Outcome.ACCEPTED)) == [Sin.DUPLICATED]
    assert of_question(ACCEPTED, replace(ACCEPTED, again=True)) == []


def test_the_same_answer_again_is_accepted_again() -> None:
    again = replace(REFUSED, again=True)
    assert of_question(ACCEPTED, again) == [Sin.LOST]
    assert of_question(ACCEPTED, again, broken=Kind.REDIS_EMPTY) == []


def test_a_step_is_not_done_again_after_the_question() -> None:
    assert of_question(ACCEPTED, step="twice") == [Sin.DUPLICATED]


def test_a_session_is_there_until_its_client_ends_it_or_redis_is_emptied() -> None:
    ledger = Ledger()
    ledger.sessions.append(Session("alice", 10.0, gone=20.0))
    assert sins(ledger) == [Sin.LOST]
    ledger.breakages.append(Breakage(Kind.REDIS_EMPTY, -1, 12.0, 13.0))
    assert sins(ledger) == []
    ledger.sessions.append(Session("alice", 30.0, ended=40.0, gone=40.0))
    assert sins(ledger) == []
    ledger.sessions.append(Session("alice", 30.0, ended=40.0, outlived=True))
    assert sins(ledger) == [Sin.LOST]


def test_what_an_emptied_redis_took_with_it_is_counted_apart() -> None:
    ledger = Ledger()
    ledger.sessions.append(Session("alice", 10.0, gone=20.0))
    ledger.calls += [call(end=End.EMPTY), call(MINE, MINE)]
    assert lost_to_emptying(ledger, settle=5.0) == 0
    ledger.breakages.append(Breakage(Kind.REDIS_EMPTY, -1, 12.0, 13.0))
    assert sins(ledger) == [Sin.DUPLICATED]
    assert lost_to_emptying(ledger, settle=5.0) == 2


def test_a_silent_connection_is_hung_unless_a_process_was_frozen() -> None:
    ledger = Ledger()
    ledger.silences.append(Silence(10.0, 20.0))
    assert sins(ledger) == [Sin.HUNG]
    ledger.breakages.append(Breakage(Kind.FREEZE, 1, 9.0))
    assert sins(ledger) == []


def test_an_outage_is_felt_until_redis_could_be_reached_for_a_while() -> None:
    ledger = Ledger()
    ledger.breakages += [
        Breakage(Kind.REDIS_EMPTY, -1, 10.0, 12.0),
        Breakage(Kind.REDIS_FREEZE, -1, 15.0, 22.0),
        Breakage(Kind.REDIS_RESTART, -1, 40.0, 42.0),
    ]
    felt = [at for at in (9.0, 10.0, 17.1, 26.9, 27.1, 41.0) if ledger.broken({Kind.REDIS_EMPTY}, at, at)]
    assert felt == [10.0, 17.1, 26.9]
    assert [*ledger.emptied(26.9)] == [10.0]
    assert [*ledger.emptied(27.1)] == []
