"""The judgement of a ledger: every broken promise, and how many of each kind."""

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from tests.chaos.faults import Kind
from tests.chaos.ledger import Call, End, Ledger, Outcome, Question, Response, Session
from tests.chaos.notices import judge_notices
from tests.chaos.sins import Finding, Sin
from tests.chaos.tasks.verdict import judge_errands

CUTTING: Final = frozenset({Kind.KILL, Kind.FREEZE})
"""What cuts a connection off: a client takes one that is silent for too long for dead."""
CAUSES: Final = {
    "outcome_unknown": CUTTING,
    "server_stopped": frozenset({Kind.STOP}),
    "server_stopping": frozenset({Kind.STOP}),
}
"""What an error with this reason may come from; one with another reason, only from an emptied Redis."""
OF_STORE: Final = (
    "store_unavailable",
    "The server cannot reach its store",
    "The client's answer was lost",
    "The tool failed",
)
"""How those errors begin that come from a process that could not reach Redis: their reasons, or a tool's words."""


def judge(ledger: Ledger, *, settle: float) -> Sequence[Finding]:
    """All broken promises of an ended run; `settle` seconds after it was published an event must have been told."""
    return [
        *(finding for call in ledger.calls for finding in _judge_call(ledger, call)),
        *(finding for question in ledger.questions for finding in _judge_question(ledger, question)),
        *(finding for session in ledger.sessions for finding in _judge_session(ledger, session)),
        *judge_errands(ledger),
        *judge_notices(ledger, settle),
        *(Finding(Sin.LEAKED, each.what) for each in ledger.intrusions if each.succeeded),
        *(
            Finding(Sin.HUNG, f"nothing came for {each.ended - each.began:.1f} s and nobody was frozen")
            for each in ledger.silences
            if not ledger.broken({Kind.FREEZE}, each.began, each.ended)
        ),
        *(Finding(Sin.HUNG, f"{each} was never answered") for each in ledger.overdue),
        *(Finding(Sin.HUNG, f"{stray} was still at work after the end") for stray in ledger.strays),
        *(Finding(Sin.LOST, death) for death in ledger.deaths),
    ]


def lost_to_emptying(ledger: Ledger, *, settle: float) -> int:
    """How many more promises would count as broken had Redis never come back empty: these are counted apart."""
    kept = copy.copy(ledger)
    kept.breakages = [
        replace(each, kind=Kind.REDIS_RESTART) if each.kind is Kind.REDIS_EMPTY else each for each in ledger.breakages
    ]
    return len(judge(kept, settle=settle)) - len(judge(ledger, settle=settle))


def last_line(findings: Sequence[Finding]) -> str:
    """How many promises of each kind were broken."""
    counts = Counter(finding.sin for finding in findings)
    return " ".join(f"{sin.value} {counts[sin]}" for sin in Sin)


def apart(ledger: Ledger, call: Call) -> bool:
    """Whether a call may have lost what was acknowledged because Redis was emptied under it."""
    return ledger.broken({Kind.REDIS_EMPTY}, call.began, _ended(call))


def _judge_call(ledger: Ledger, call: Call) -> Iterator[Finding]:
    name = f"{call.tool} {call.tag}"
    yield from _judge_said(ledger, call, name)
    if call.end is End.OVERDUE or call.end is None:
        yield Finding(Sin.HUNG, f"{name} did not end")
    if len(call.responses) > 1:
        yield Finding(Sin.DUPLICATED, f"{name} was answered {len(call.responses)} times")
    for response in call.responses:
        if not response.failure:
            yield from _judge_result(ledger, call, response, name)
        elif not _has_cause(ledger, call, response.failure):
            yield Finding(Sin.LOST, f"{name} failed without a cause: {response.failure}")
    if not call.responses and not _may_lack_response(ledger, call):
        yield Finding(Sin.LOST, f"{name} {call.end.value if call.end else ''}")


def _judge_result(ledger: Ledger, call: Call, response: Response, name: str) -> Iterator[Finding]:
    if response.principal != call.principal:
        yield Finding(Sin.LEAKED, f"{name} got what is of {response.principal}")
    elif response.tag != call.tag:
        yield Finding(Sin.DISORDERED, f"{name} got the result of {response.tag}")
    elif call.cancelled:
        yield Finding(Sin.LOST, f"{name} went on to its result although its cancel was acknowledged")
    last = max((said.number for said in call.said), default=0)
    if last < call.says and not apart(ledger, call) and (last or not _without_stream(ledger, call)):
        yield Finding(Sin.LOST, f"{name} said {call.says} things, of which {last} came")


def _without_stream(ledger: Ledger, call: Call) -> bool:
    """Whether the store was away for some of the call: what is said before a call has a stream is then not kept."""
    return ledger.store_away(call.began, _ended(call))


def _judge_said(ledger: Ledger, call: Call, name: str) -> Iterator[Finding]:
    last = 0
    for said in call.said:
        if said.principal != call.principal:
            yield Finding(Sin.LEAKED, f"{name} was told what is of {said.principal}")
        elif said.tag != call.tag:
            yield Finding(Sin.DISORDERED, f"{name} was told what belongs to {said.tag}")
        elif said.number == last:
            yield Finding(Sin.DUPLICATED, f"{name} said {said.number} twice")
        elif said.number < last:
            yield Finding(Sin.DISORDERED, f"{name} said {said.number} after {last}")
        else:
            if said.number > last + 1 and (last or not _without_stream(ledger, call)):
                yield Finding(Sin.LOST, f"{name} said {said.number} after {last}")
            last = said.number


def _may_lack_response(ledger: Ledger, call: Call) -> bool:
    """Whether a call may end without a response: its client was told why, or can know."""
    match call.end:
        case End.OVERDUE | None:
            return True  # it is counted as hung
        case End.GONE | End.UNSERVED:
            return True  # the one is judged once for its session; of the other only the balancer has heard
        case End.CANCELLED:
            return call.cancelling
        case End.CUT:
            return ledger.broken(CUTTING, call.began, _ended(call))
        case _:
            return apart(ledger, call)


def _has_cause(ledger: Ledger, call: Call, reason: str) -> bool:
    if reason.startswith(OF_STORE):
        return ledger.store_away(call.began, _ended(call))
    return ledger.broken(CAUSES.get(reason, frozenset()) | {Kind.REDIS_EMPTY}, call.began, _ended(call))


def _judge_question(ledger: Ledger, question: Question) -> Iterator[Finding]:
    call, name = question.call, f"the question of {question.call.tag}"
    accepted = {given.value for given in question.given if given.outcome is Outcome.ACCEPTED}
    unknown = {given.value for given in question.given if given.outcome is Outcome.UNKNOWN}
    if len(accepted) > 1:
        yield Finding(Sin.DUPLICATED, f"{name} has {len(accepted)} answers that were accepted")
    for given in question.given:
        if given.again and given.outcome is Outcome.REFUSED and not apart(ledger, call):
            yield Finding(Sin.LOST, f"{name} was answered, and the same answer again refused")
    for response in call.responses:
        if response.failure:
            continue
        if response.value not in accepted | unknown:
            yield Finding(Sin.LOST, f"{name} was answered {accepted | unknown}, and the call got {response.value!r}")
        if response.step != question.step:
            yield Finding(Sin.DUPLICATED, f"the step of {call.tag} was done again after its question was asked")


def _judge_session(ledger: Ledger, session: Session) -> Iterator[Finding]:
    lost = session.gone is not None and session.ended is None
    if lost and not ledger.broken({Kind.REDIS_EMPTY}, session.began, session.gone or 0.0):
        yield Finding(Sin.LOST, f"a session of {session.principal} was not found")
    if session.outlived:
        yield Finding(Sin.LOST, f"a session of {session.principal} was served after its end")


def _ended(call: Call) -> float:
    return float("inf") if call.ended is None else call.ended
