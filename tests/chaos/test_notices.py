"""The verdict on what subscriptions were told of: each event once and in order, and nobody else's."""

from collections.abc import Sequence

import pytest

from tests.chaos.faults import Kind
from tests.chaos.ledger import CYCLE, EVERYBODY, GAP, Breakage, Event, Ledger, Notice, Subscription, uri_of
from tests.chaos.notices import judge_notices
from tests.chaos.sins import Sin

SETTLE = 5.0


def published(owner: str, count: int, doubtful: Sequence[int] = ()) -> list[Event]:
    """One event a second from second 10 on; those of these serials in doubt."""
    return [
        Event(owner, serial, 10.0 + serial, None if serial in doubtful else 10.5 + serial) for serial in range(count)
    ]


def told(*serials: int, owner: str = EVERYBODY, late: float = 0.7) -> list[Notice]:
    """Notices of these events, each soon after it."""
    return [Notice(10.0 + serial + late, uri_of(owner, serial)) for serial in serials]


def sins(
    *connections: list[Notice],
    events: Sequence[Event],
    resumable: bool = True,
    closed: float = 1000.0,
    broken: Sequence[Breakage] = (),
) -> list[Sin]:
    """What is wrong with a subscription of alice's since second 9 over these connections."""
    ledger = Ledger()
    ledger.events += events
    ledger.subscriptions.append(Subscription("alice", resumable, 9.0, 9.0, closed, list(connections)))
    ledger.breakages += broken
    return [finding.sin for finding in judge_notices(ledger, SETTLE)]


MANY = 3 * CYCLE


@pytest.mark.parametrize("resumable", [True, False])
def test_every_event_once_and_in_order_is_right_over_several_connections_too(resumable: bool) -> None:
    events = published(EVERYBODY, MANY)
    assert sins(told(*range(5)), told(*range(5, MANY)), events=events, resumable=resumable) == []


@pytest.mark.parametrize("resumable", [True, False])
def test_an_event_that_is_not_told_is_lost(resumable: bool) -> None:
    events = published(EVERYBODY, MANY)
    assert sins(told(*range(MANY - 1)), events=events, resumable=resumable) == [Sin.LOST]


def test_an_event_that_is_passed_over_is_lost_and_told_late_it_is_out_of_its_turn() -> None:
    events = published(EVERYBODY, 5)
    assert sins(told(0, 1, 3, 4), events=events) == [Sin.LOST]
    assert sins([*told(0, 1, 3), *told(2, late=2.0), *told(4)], events=events) == [Sin.DISORDERED]


def test_an_event_that_is_told_twice_is_counted_only_where_once_is_promised() -> None:
    events = published(EVERYBODY, 3)
    assert sins(told(0, 1, 1, 2), events=events) == [Sin.DUPLICATED]
    assert sins(told(0, 1, 1, 2), events=events, resumable=False) == []


def test_what_was_published_before_all_is_said_to_have_changed_may_still_be_told_after_it_in_its_order() -> None:
    """One whose publisher was left in doubt is then not taken for the next one of the same name."""
    last = 2 * CYCLE
    events = published(EVERYBODY, MANY, doubtful=[CYCLE])
    at = 10.0 + MANY
    changed = [Notice(at, GAP), *(Notice(at, uri_of(EVERYBODY, serial)) for serial in range(CYCLE))]
    rest = [Notice(at + 1, uri_of(EVERYBODY, serial)) for serial in range(CYCLE, MANY)]
    assert sins([*told(*range(CYCLE)), *changed, *rest], events=events) == []
    swapped = [rest[0], rest[2], rest[1], *rest[3:last]]
    assert Sin.DISORDERED in sins([*told(*range(CYCLE)), *changed, *swapped], events=events)


def test_an_event_before_the_subscription_or_right_before_its_end_need_not_be_told() -> None:
    events = [Event(EVERYBODY, 0, 1.0, 2.0), Event(EVERYBODY, 1, 10.0, 11.0)]
    assert sins([], events=events, closed=11.0 + SETTLE) == []
    assert sins([], events=events, closed=11.1 + SETTLE) == [Sin.LOST]


def test_a_notice_is_not_taken_for_one_of_an_event_before_the_subscription() -> None:
    events = [Event(EVERYBODY, 0, 1.0, 2.0), Event(EVERYBODY, CYCLE, 10.0, 10.5)]
    assert sins(told(0), events=events) == []
    assert sins(told(0, 0), events=events) == [Sin.DUPLICATED]


def test_a_late_notice_of_an_event_in_doubt_is_not_taken_for_one_of_the_next_about_the_same_resource() -> None:
    events = published(EVERYBODY, CYCLE + 1, doubtful=[0])
    late = told(0, late=CYCLE + 0.2)
    assert sins([*late, *told(*range(1, CYCLE + 1), late=CYCLE + 1.0)], events=events) == []


def test_a_notice_after_a_gap_is_taken_for_one_of_an_event_that_was_published_for_certain() -> None:
    events = published(EVERYBODY, CYCLE + 1, doubtful=[0])
    assert sins([*burst(17.9, EVERYBODY), *told(CYCLE)], events=events) == []


@pytest.mark.parametrize("at", [1, 2])
def test_an_event_of_which_nobody_knows_may_be_told_or_not_but_not_twice(at: int) -> None:
    events = published(EVERYBODY, 4, doubtful=[1])
    assert sins(told(0, 2, 3), events=events) == []
    late = [*told(0), *(told(1) if at == 1 else []), *told(2), *(told(1, late=1.8) if at == 2 else []), *told(3)]
    assert sins(late, events=events) == []
    assert sins([*late, *told(1, late=3.0)], events=events) == [Sin.DUPLICATED]


@pytest.mark.parametrize("resumable", [True, False])
def test_what_is_anothers_is_leaked(resumable: bool) -> None:
    events = [*published("alice", 2), *published("bob", 2)]
    mine = told(0, 1, owner="alice")
    assert sins(mine, events=events, resumable=resumable) == []
    assert sins([*mine, *told(1, owner="bob")], events=events, resumable=resumable) == [Sin.LEAKED]


def burst(at: float, *owners: str) -> list[Notice]:
    """Everything counts as changed."""
    return [Notice(at, GAP), *(Notice(at, uri_of(owner, serial)) for owner in owners for serial in range(CYCLE))]


@pytest.mark.parametrize("resumable", [True, False])
def test_a_gap_that_is_told_stands_for_all_that_was_published_before_it_and_for_nothing_after(resumable: bool) -> None:
    events = [*published(EVERYBODY, 4), *published("bob", 1)]
    gap = burst(12.9, EVERYBODY, "bob")
    assert sins([*told(0), *gap, *told(3)], events=events, resumable=resumable) == []
    assert sins([*told(0), *gap], events=events, resumable=resumable) == [Sin.LOST]
    assert Sin.LEAKED in sins([*told(0), *gap, *told(3), *told(0, owner="bob")], events=events, resumable=resumable)


def test_the_rest_of_a_gap_that_was_cut_off_is_not_taken_for_events_of_the_next_connection() -> None:
    events = published(EVERYBODY, 2)
    assert sins(burst(12.0, EVERYBODY)[:3], told(1, late=3.0), events=events) == []
    assert sins(burst(12.0, EVERYBODY)[:3], told(1, 1, late=3.0), events=events) == [Sin.DUPLICATED]


def test_what_a_session_was_not_told_before_redis_was_emptied_went_with_it() -> None:
    events = published(EVERYBODY, 1)
    emptied = [Breakage(Kind.REDIS_EMPTY, -1, 11.0, 12.0)]
    assert sins([], events=events, broken=emptied) == []
    assert sins([], events=events, broken=emptied, resumable=False) == [Sin.LOST], "a modern stream is told of the gap"
