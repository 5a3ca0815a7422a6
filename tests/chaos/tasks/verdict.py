"""The judgement of the errands in a ledger: what clients were told of their tasks, against what the runs have done."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from mcpfleet.server.tasks.record import GRACE
from tests.chaos.faults import Kind
from tests.chaos.ledger import Ledger
from tests.chaos.sins import Finding, Sin
from tests.chaos.tasks.customer import right_answer
from tests.chaos.tasks.deeds import BEGUN, DID, ENDED, STORED, Deed
from tests.chaos.tasks.errand import Errand, Fate, Sight
from tests.chaos.tasks.server import STEPS, right_value

BREAKING: Final = frozenset({Kind.KILL, Kind.FREEZE})
"""What breaks a run off."""

Deeds = Sequence[Deed]


def judge_errands(ledger: Ledger) -> Sequence[Finding]:
    """All broken promises about tasks."""
    deeds: defaultdict[str, list[Deed]] = defaultdict(list)
    for deed in ledger.deeds:
        deeds[deed.tag].append(deed)
    return [finding for each in ledger.errands for finding in _judge(ledger, each, deeds[each.tag])]


def _judge(ledger: Ledger, errand: Errand, deeds: Deeds) -> Iterator[Finding]:
    yield from _judge_runs(errand, deeds)
    yield from _judge_steps(errand, deeds)
    for refused in errand.refused:
        if not (ledger.store_away(refused, refused) or ledger.broken({Kind.STOP}, refused, refused)):
            yield Finding(Sin.LOST, f"{errand.tag} was told to come back without a cause")
    if not errand.task_id:
        return
    yield from _judge_sights(ledger, errand)
    yield from _judge_order(errand)
    yield from _judge_questions(errand)
    if errand.end is None and _forgotten(ledger, errand, errand.got[-1].at if errand.got else errand.began):
        return
    if errand.overdue or errand.end is None:
        yield Finding(Sin.HUNG, f"{_name(errand)} did not end in time: {errand.got[-1].status if errand.got else ''}")
    else:
        yield from _judge_end(ledger, errand, deeds, errand.end)


def _judge_runs(errand: Errand, deeds: Deeds) -> Iterator[Finding]:
    begun = [deed for deed in deeds if deed.what == BEGUN]
    if len(begun) > 1 and not errand.kind.repeatable:
        yield Finding(Sin.DUPLICATED, f"{_name(errand)} was begun {len(begun)} times")
    if len(made := {deed.more for deed in begun} | {errand.task_id} - {""}) > 1:
        yield Finding(Sin.DUPLICATED, f"{_name(errand)} became {len(made)} tasks")


def _judge_steps(errand: Errand, deeds: Deeds) -> Iterator[Finding]:
    """No run that begins after a step was stored does it again."""
    stored: dict[str, str] = {}
    known: dict[str, set[str]] = {}
    for deed in deeds:
        name, value = deed.step
        if deed.what == BEGUN:
            known[deed.run] = set(stored)
        elif deed.what == DID and name in known.get(deed.run, ()):
            yield Finding(Sin.DUPLICATED, f"{_name(errand)} did step {name} again")
        elif deed.what == STORED and stored.setdefault(name, value) != value:
            yield Finding(Sin.DUPLICATED, f"step {name} of {_name(errand)} has come to two things")


def _judge_sights(ledger: Ledger, errand: Errand) -> Iterator[Finding]:
    """A task is known, and has ended once its cancel was acknowledged; and who listens hears of the end."""
    for sight in errand.got:
        if sight.task is None and not (_outlived(errand, sight) or _forgotten(ledger, errand, sight.at)):
            yield Finding(Sin.LOST, f"{_name(errand)} is not known")
        cancelled = errand.cancelled is not None and sight.asked > errand.cancelled
        if cancelled and sight.task is not None and not sight.terminal:
            yield Finding(Sin.LOST, f"{_name(errand)} was {sight.status} after its cancel was acknowledged")
    deaf = errand.follows and not errand.overdue and not any(sight.terminal for sight in errand.heard)
    if deaf and not _forgotten(ledger, errand, _ended(errand)):
        yield Finding(Sin.LOST, f"the end of {_name(errand)} was not told to who listens")


def _judge_order(errand: Errand) -> Iterator[Finding]:
    """Terminal states do not change, however they are told, and time does not run backwards."""
    ends = [sight.task for sight in (*errand.got, *errand.heard) if sight.terminal]
    for end in ends[1:]:
        if end != ends[0]:
            yield Finding(Sin.DISORDERED, f"{_name(errand)} ended twice: {ends[0]} and {end}")
    for way in (errand.got, errand.heard):
        for one, other in pairwise(sight for sight in way if sight.task is not None):
            if one.terminal and not other.terminal:
                yield Finding(Sin.DISORDERED, f"{_name(errand)} was {one.status} and then {other.status}")
            if _time(one, "lastUpdatedAt") > _time(other, "lastUpdatedAt"):
                yield Finding(Sin.DISORDERED, f"the time of {_name(errand)} ran backwards")


def _forgotten(ledger: Ledger, errand: Errand, until: float) -> bool:
    """Whether Redis was emptied under a task before this time."""
    return ledger.broken({Kind.REDIS_EMPTY}, errand.began, until)


def _outlived(errand: Errand, sight: Sight) -> bool:
    """Whether the time of a task, and that in which it can still be asked for, was over when its client asked."""
    known = next((each.task for each in errand.got if each.task is not None), None)
    return known is not None and sight.at - errand.began >= known["ttlMs"] / 1000 + GRACE - 1


def _judge_questions(errand: Errand) -> Iterator[Finding]:
    for key, words in errand.asked.items():
        if len(words) > 1:
            yield Finding(Sin.DUPLICATED, f"{_name(errand)} asked with the key {key} {sorted(words)}")
    if len(errand.asked) > errand.kind.questions:
        yield Finding(Sin.DUPLICATED, f"{_name(errand)} asked {len(errand.asked)} questions")
    for sight in errand.got:
        for key in (sight.task or {}).get("inputRequests", {}):
            if key in errand.answered and sight.asked > errand.answered[key]:
                yield Finding(Sin.LOST, f"{_name(errand)} waits for an answer that was acknowledged")


def _judge_end(ledger: Ledger, errand: Errand, deeds: Deeds, end: Mapping[str, Any]) -> Iterator[Finding]:
    if end["status"] == "completed":
        yield from _judge_result(errand, deeds, end["result"])
    elif not _has_cause(ledger, errand):
        yield Finding(Sin.LOST, f"{_name(errand)} ended {end['status']} without a cause: {errand.reason}")


def _judge_result(errand: Errand, deeds: Deeds, result: Mapping[str, Any]) -> Iterator[Finding]:
    if errand.kind.fate is Fate.NEGLECT:
        yield Finding(Sin.LOST, f"{_name(errand)} completed, though it cannot")
        return
    if result.get("isError"):
        yield Finding(Sin.LOST, f"{_name(errand)} failed in words: {result['content'][0]['text']}")
        return
    found, stored = json.loads(result["content"][0]["text"]), dict(deed.step for deed in deeds if deed.what == STORED)
    if found["principal"] != errand.principal:
        yield Finding(Sin.LEAKED, f"{_name(errand)} got what is of {found['principal']}")
    right = {
        "principal": found["principal"],
        "tag": errand.tag,
        "value": right_value(errand.tag),
        "steps": [stored.get(name) for name in STEPS[: errand.kind.steps]],
        "answers": [right_answer(f"{errand.tag} {number}") for number in range(errand.kind.questions)],
    }
    if found != right:
        yield Finding(Sin.DISORDERED, f"{_name(errand)} came to {found} instead of {right}")
    if not any(deed.what == ENDED for deed in deeds):
        yield Finding(Sin.LOST, f"{_name(errand)} has a result that no run came to")


def _has_cause(ledger: Ledger, errand: Errand) -> bool:
    """Whether a task could end otherwise than with a result."""
    causes: Mapping[str, Callable[[], bool]] = {
        "": lambda: errand.kind.fate is Fate.CANCEL and (errand.end or {})["status"] == "cancelled",
        "expired": lambda: errand.kind.fate is Fate.NEGLECT and _ran_out(errand),
        "outcome_unknown": lambda: not errand.kind.repeatable and ledger.broken(BREAKING, errand.began, _ended(errand)),
        "server_stopped": lambda: (
            not errand.kind.repeatable and ledger.broken({Kind.STOP}, errand.began, _ended(errand))
        ),
    }
    return errand.reason in causes and causes[errand.reason]()


def _ran_out(errand: Errand) -> bool:
    """Whether all its time was over; stamps are in whole milliseconds."""
    end = Sight(0.0, 0.0, errand.end)
    lived, ttl_ms = _time(end, "lastUpdatedAt") - _time(end, "createdAt"), int((end.task or {})["ttlMs"])
    return lived >= ttl_ms / 1000 - 0.002


def _ended(errand: Errand) -> float:
    return float("inf") if errand.ended is None else errand.ended


def _time(sight: Sight, name: str) -> float:
    return 0.0 if sight.task is None else datetime.fromisoformat(sight.task[name]).timestamp()


def _name(errand: Errand) -> str:
    return f"{errand.kind} {errand.tag}"
