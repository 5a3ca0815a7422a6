"""The totals of a run, for people."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from tests.chaos.faults import Kind
from tests.chaos.ledger import End, Ledger, Outcome
from tests.chaos.tasks.deeds import BEGUN
from tests.chaos.verdict import judge, last_line, lost_to_emptying

SHOWN: Final = 50
"""How many findings are listed."""


def report(ledger: Ledger, settle: float) -> Iterator[str]:
    """The lines to print: what was done and seen, what is wrong with it, and the last line."""
    findings = judge(ledger, settle=settle)
    yield calls(ledger)
    yield questions(ledger)
    yield events(ledger)
    yield tasks(ledger)
    yield f"sessions {len(ledger.sessions)}; attempts upon what is another's {len(ledger.intrusions)}"
    yield f"faults: {', '.join(f'{each.value} {number}' for each, number in kinds(ledger).items())}"
    yield f"counted apart, because Redis was emptied: {lost_to_emptying(ledger, settle=settle)}"
    yield from (str(finding) for finding in findings[:SHOWN])
    yield last_line(findings)


def kinds(ledger: Ledger) -> dict[Kind, int]:
    """How often each fault happened."""
    counts = Counter(breakage.kind for breakage in ledger.breakages)
    return {kind: counts[kind] for kind in Kind}


def calls(ledger: Ledger) -> str:
    """How the calls ended."""
    ends = Counter(call.end for call in ledger.calls)
    told = ", ".join(f"{end.value} {ends[end]}" for end in End)
    failed = sum(1 for call in ledger.calls for each in call.responses if each.failure and call.end is End.ANSWERED)
    resumed = sum(call.resumed for call in ledger.calls)
    return (
        f"calls {len(ledger.calls)}: {told}; of the answers {failed} were errors that say why; "
        f"streams taken up again {resumed}"
    )


def questions(ledger: Ledger) -> str:
    """What became of the answers."""
    outcomes = Counter(given.outcome for question in ledger.questions for given in question.given)
    told = ", ".join(f"{outcome.value} {outcomes[outcome]}" for outcome in Outcome)
    return f"questions {len(ledger.questions)}; answers {sum(outcomes.values())}: {told}"


def tasks(ledger: Ledger) -> str:
    """How the calls ended that became tasks."""
    ends = Counter(str(each.end["status"]) if each.end else "unknown" for each in ledger.errands if each.task_id)
    began = sum(1 for deed in ledger.deeds if deed.what == BEGUN)
    return f"tasks {ends.total()}: {', '.join(f'{end} {ends[end]}' for end in sorted(ends))}; begun {began} times"


def events(ledger: Ledger) -> str:
    """What was published, and how often it was told."""
    published = sum(1 for event in ledger.events if event.acknowledged is not None)
    notices = sum(len(each) for one in ledger.subscriptions for each in one.connections)
    connections = sum(len(one.connections) for one in ledger.subscriptions)
    return (
        f"events {len(ledger.events)}, of which {published} published for certain; "
        f"subscriptions {len(ledger.subscriptions)} over {connections} connections, told {notices} changes"
    )
