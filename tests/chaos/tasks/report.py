"""The ledger of a run of tasks, for people."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from tests.chaos.ledger import Ledger
from tests.chaos.report import SHOWN, kinds
from tests.chaos.tasks.deeds import BEGUN, DID, STORED
from tests.chaos.tasks.errand import KINDS, Errand
from tests.chaos.tasks.run import TIMES, Ran
from tests.chaos.verdict import judge, last_line

REASONS = ("expired", "outcome_unknown", "server_stopped")
COLUMNS: dict[str, Callable[[Errand], bool]] = {
    "tasks": lambda errand: True,
    "completed": lambda errand: _status(errand) == "completed",
    "cancelled": lambda errand: _status(errand) == "cancelled",
    "expired": lambda errand: errand.reason == "expired",
    "unknown": lambda errand: errand.reason == "outcome_unknown",
    "stopped": lambda errand: errand.reason == "server_stopped",
    "other": lambda errand: _status(errand) not in ("completed", "cancelled") and errand.reason not in REASONS,
}
"""How tasks end; "unknown" and "stopped": failed, for their tool may not run twice and their process died, or left."""


def report(ran: Ran) -> Iterator[str]:
    """The lines to print: what was done and seen, what is wrong with it, and the last line."""
    ledger = ran.ledger
    findings = judge(ledger, settle=TIMES.settle)
    yield from table(ledger)
    yield runs(ledger)
    yield sights(ledger)
    broken = ", ".join(f"{kind.value} {number}" for kind, number in kinds(ledger).items() if number)
    yield f"faults: {broken or 'none'}; workers started {ran.workers}"
    yield from (str(finding) for finding in findings[:SHOWN])
    yield last_line(findings)


def table(ledger: Ledger) -> Iterator[str]:
    """How many tasks of each kind ended how, and how often they were begun."""
    begun = Counter(deed.tag for deed in ledger.deeds if deed.what == BEGUN)
    yield _row("", [*COLUMNS, "runs", "at most"])
    made = [errand for errand in ledger.errands if errand.task_id]
    for kind in KINDS:
        some = [errand for errand in made if errand.kind == kind]
        name = f"{kind}{'' if kind.repeatable else ' (not idempotent)'}"
        yield _row(name, _counts(some, begun))
    yield _row("all", _counts(made, begun))
    lost = [errand for errand in ledger.errands if not errand.task_id]
    ran = sum(1 for errand in lost if begun[errand.tag])
    yield f"calls whose fate their clients were not told: {len(lost)}, of which {ran} ran; each was made again"


def runs(ledger: Ledger) -> str:
    """What the runs have done."""
    did, stored = (sum(1 for deed in ledger.deeds if deed.what == what) for what in (DID, STORED))
    tags = Counter(deed.tag for deed in ledger.deeds if deed.what == BEGUN)
    again = sum(1 for count in tags.values() if count > 1)
    return (
        f"runs {sum(tags.values())} of {len(tags)} tasks, {again} of which more than once; "
        f"steps done {did} times, passed {stored} times"
    )


def sights(ledger: Ledger) -> str:
    """What the clients have seen."""
    made = [errand for errand in ledger.errands if errand.task_id]
    got, heard = sum(len(each.got) for each in made), sum(len(each.heard) for each in made)
    both = sum(1 for each in made if any(sight.terminal for sight in each.heard))
    again = sum(max(0, sum(sight.terminal for sight in each.got) - 1) for each in made)
    answers = sum(len(each.answered) for each in made)
    return (
        f"statuses got {got}, of which {again} of tasks that had ended; heard {heard}, of {both} tasks the end; "
        f"answers acknowledged {answers}; attempts upon what is another's {len(ledger.intrusions)}"
    )


def _counts(errands: Sequence[Errand], begun: Counter[str]) -> Sequence[int]:
    each = [begun[errand.tag] for errand in errands]
    return [*(sum(map(counts, errands)) for counts in COLUMNS.values()), sum(each), max(each, default=0)]


def _row(name: str, cells: Sequence[object]) -> str:
    return f"{name:24}" + "".join(f"{cell!s:>10}" for cell in cells)


def _status(errand: Errand) -> str:
    return str((errand.end or {}).get("status", ""))
