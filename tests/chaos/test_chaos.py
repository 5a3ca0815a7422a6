"""A short chaos run; and that the last line of a run shows a fault which is planted in the server itself."""

from pathlib import Path
from typing import Final

import pytest

from tests.chaos.faults import Kind
from tests.chaos.planted import PLANTS
from tests.chaos.report import kinds, report
from tests.chaos.run import Plan, run
from tests.chaos.sins import Sin
from tests.chaos.stage import Times
from tests.chaos.verdict import judge, last_line
from tests.redis_server import RedisServer

SECONDS: Final = 30.0
PLANTED_SECONDS: Final = 6.0
QUICK: Final = Times(patience=5.0, deadline=10.0, settle=5.0)
SHOWN_AS: Final = {
    "bell": {Sin.LOST, Sin.HUNG},
    "answer": {Sin.DUPLICATED},
    "filter": {Sin.LEAKED},
}


@pytest.mark.timeout(300)
async def test_nothing_is_lost_twice_out_of_order_hung_or_leaked_whatever_breaks(
    redis_binary: Path, tmp_path: Path
) -> None:
    plan = Plan.of(seed=1, seconds=SECONDS)
    ledger = await run(plan, tmp_path, RedisServer(redis_binary, tmp_path))
    findings = judge(ledger, settle=plan.times.settle)
    told = "\n".join(report(ledger, plan.times.settle))
    assert last_line(findings) == "lost 0 duplicated 0 disordered 0 hung 0 leaked 0", told
    assert all(kinds(ledger)[kind] for kind in Kind), told
    assert all(
        (ledger.calls, ledger.questions, ledger.events, ledger.subscriptions, ledger.intrusions, ledger.errands)
    ), told


@pytest.mark.timeout(300)
@pytest.mark.parametrize("plant", PLANTS)
async def test_a_fault_in_the_server_shows_in_the_last_line(redis_binary: Path, tmp_path: Path, plant: str) -> None:
    plan = Plan(seed=1, seconds=PLANTED_SECONDS, faults=(), times=QUICK, plant=plant)
    ledger = await run(plan, tmp_path, RedisServer(redis_binary, tmp_path))
    findings = judge(ledger, settle=plan.times.settle)
    assert {finding.sin for finding in findings} & SHOWN_AS[plant], "\n".join(report(ledger, plan.times.settle))
