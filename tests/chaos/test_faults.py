"""The schedule of faults: the seed alone decides it."""

import pytest

from tests.chaos.faults import EVERY_SECONDS, LASTING, OF_REDIS, Kind, schedule


def test_a_seed_has_one_schedule_and_another_seed_another() -> None:
    assert schedule(1, 300, 3) == schedule(1, 300, 3)
    assert schedule(1, 300, 3) != schedule(2, 300, 3)


@pytest.mark.parametrize("seconds", [1.0, 30.0, 300.0])
def test_faults_come_in_order_within_the_run_each_kind_at_least_once_and_in_its_share(seconds: float) -> None:
    faults = schedule(7, seconds, 3)
    assert [fault.at for fault in faults] == sorted(fault.at for fault in faults)
    assert all(0 <= fault.at <= seconds and fault.slot in range(3) for fault in faults)
    for kind in Kind:
        found = [fault for fault in faults if fault.kind is kind]
        assert len(found) == max(1, round(seconds / EVERY_SECONDS[kind]))
        least, most = LASTING[kind]
        assert all(least <= fault.lasting <= most for fault in found)


def test_five_minutes_have_twenty_kills_and_five_restarts_of_redis_some_of_them_empty() -> None:
    kinds = [fault.kind for fault in schedule(1, 300, 3)]
    assert kinds.count(Kind.KILL) >= 20
    assert kinds.count(Kind.REDIS_RESTART) >= 3
    assert kinds.count(Kind.REDIS_EMPTY) >= 2
    assert {kind for kind in kinds if kind in OF_REDIS} == OF_REDIS
