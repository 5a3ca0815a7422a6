"""A short run of tasks under dying workers; and that its last line shows a fault which is planted in the server."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from tests.chaos.faults import Fault, Kind
from tests.chaos.report import kinds
from tests.chaos.sins import Sin
from tests.chaos.stage import Times
from tests.chaos.tasks.deeds import BEGUN
from tests.chaos.tasks.errand import KINDS, wishes
from tests.chaos.tasks.planted import PLANTS
from tests.chaos.tasks.report import report
from tests.chaos.tasks.run import LEASE_SECONDS, TIMES, Plan, run
from tests.chaos.verdict import judge, last_line
from tests.redis_server import RedisServer

SHORT: Final = Plan.of(seed=1, count=60, kills=8, stops=1, freezes=1, restarts=1)
LONG: Final = [
    replace(wish, seconds=4.0) for wish in wishes(1, 60) if wish.kind.tool in ("climb", "once") and not wish.follows
]
BROKEN: Final = Plan(
    seed=1,
    wishes=LONG,
    crowd=len(LONG),
    faults=[Fault(0.1, Kind.FREEZE, 0, LEASE_SECONDS + 4), Fault(0.1, Kind.KILL, 1, 0)],
    times=Times(deadline=60.0),
    under_way=len(LONG),
)
"""What breaks runs of every sort in their midst."""
SHOWN_AS: Final = {
    "end": Sin.DISORDERED,
    "verdict": Sin.DUPLICATED,
    "step": Sin.DUPLICATED,
    "owner": Sin.LEAKED,
}


@pytest.mark.timeout(300)
async def test_no_task_is_lost_begun_twice_or_hung_whoever_dies(redis_binary: Path, tmp_path: Path) -> None:
    ran = await run(SHORT, tmp_path, RedisServer(redis_binary, tmp_path))
    findings = judge(ran.ledger, settle=TIMES.settle)
    told = "\n".join(report(ran))
    assert last_line(findings) == "lost 0 duplicated 0 disordered 0 hung 0 leaked 0", told
    found = kinds(ran.ledger)
    kept = [found[kind] for kind in (Kind.KILL, Kind.STOP, Kind.FREEZE, Kind.REDIS_RESTART)]
    assert kept == [8, 1, 1, 1], told
    ended = {errand.kind for errand in ran.ledger.errands if errand.end is not None}
    assert ended == set(KINDS), told
    begun = [deed.tag for deed in ran.ledger.deeds if deed.what == BEGUN]
    assert len(begun) > len(set(begun)), f"no run broke off:\n{told}"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("plant", PLANTS)
async def test_a_fault_in_the_server_shows_in_the_last_line(redis_binary: Path, tmp_path: Path, plant: str) -> None:
    ran = await run(replace(BROKEN, plant=plant), tmp_path, RedisServer(redis_binary, tmp_path))
    assert SHOWN_AS[plant] in {finding.sin for finding in judge(ran.ledger, settle=TIMES.settle)}, "\n".join(
        report(ran)
    )
