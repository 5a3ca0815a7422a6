"""The totals that a run prints."""

from tests.chaos.faults import Kind
from tests.chaos.ledger import Breakage, Call, End, Event, Ledger, Response
from tests.chaos.report import SHOWN, report
from tests.chaos.tasks.deeds import BEGUN, Deed
from tests.chaos.tasks.errand import KINDS, Errand


def test_the_last_line_comes_last_and_what_is_wrong_before_it() -> None:
    ledger = Ledger()
    assert [*report(ledger, 5.0)][-1] == "lost 0 duplicated 0 disordered 0 hung 0 leaked 0"
    ledger.strays += ["alice/1"] * (SHOWN + 1)
    *_, first, last = report(ledger, 5.0)
    assert first == "hung: alice/1 was still at work after the end"
    assert last == f"lost 0 duplicated 0 disordered 0 hung {SHOWN + 1} leaked 0"
    assert len([line for line in report(ledger, 5.0) if line == first]) == SHOWN


def test_calls_events_and_faults_are_counted() -> None:
    ledger = Ledger()
    failed = [Response(failure="server_stopped")]
    ledger.calls.append(Call("alice", "alice/1", "echo", 1.0, responses=failed, resumed=3, ended=2.0, end=End.ANSWERED))
    ledger.events += [Event("alice", 0, 1.0, 2.0), Event("alice", 1, 3.0)]
    ledger.errands.append(Errand("alice", "alice/2", KINDS[0], 1.0, "t1"))
    ledger.deeds = [Deed("alice/2", run, BEGUN, "t1") for run in ("a", "b")]
    ledger.breakages.append(Breakage(Kind.STOP, 0, 1.0, 2.0))
    told = "\n".join(report(ledger, 5.0))
    assert "calls 1: answered 1," in told
    assert "of the answers 1 were errors that say why; streams taken up again 3" in told
    assert "events 2, of which 1 published for certain" in told
    assert "tasks 1: unknown 1; begun 2 times" in told
    assert "kill 0, stop 1, freeze 0" in told
