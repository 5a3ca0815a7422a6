"""Whose events are whose, as a pure function of the session's log."""

import itertools

import pytest

from mcpfleet.server.signals import Holder
from mcpfleet.server.tenure import MAX_NEWER, Tenure

MINE = Holder("mine", "connection 1", 10)


def holder(stream: str, events: int, connection: str = "") -> Holder:
    return Holder(stream, connection or f"{stream} at {events}", events)


def after(*log: Holder, mine: Holder = MINE) -> Tenure:
    """A tenure that has read this log."""
    tenure = Tenure(mine)
    for entry in log:
        tenure.heed(entry)
    return tenure


def delivered(tenure: Tenure, until: int = 100) -> list[int]:
    return [offset for offset in range(1, until + 1) if tenure.delivers(offset)]


def test_a_connection_delivers_nothing_on_hold_until_its_own_entry_is_read() -> None:
    assert not after().held
    assert not after(holder("other", 3)).held
    assert after(MINE).held
    assert not after(MINE).silent


def test_an_older_stream_delivers_what_came_before_a_newer_one_and_is_silent_from_then_on() -> None:
    tenure = after(MINE, holder("newer", 20))
    assert tenure.silent
    assert delivered(tenure) == list(range(1, 21))
    assert not tenure.over


def test_further_streams_change_nothing_for_one_that_is_silent() -> None:
    assert delivered(after(MINE, holder("newer", 20), holder("newest", 30))) == list(range(1, 21))


def test_a_stream_that_is_taken_up_again_ends_its_earlier_connection() -> None:
    assert after(MINE, holder("mine", 15)).over
    assert after(MINE, holder("newer", 12), holder("mine", 15)).over


def test_an_earlier_connection_of_the_same_stream_is_not_a_reason_to_end() -> None:
    tenure = after(holder("mine", 5), MINE)
    assert tenure.held
    assert not tenure.over
    assert delivered(tenure) == list(range(1, 101))


def test_a_resumed_stream_passes_over_what_others_delivered_while_it_was_silent() -> None:
    tenure = after(holder("other", 4), holder("third", 6), MINE)
    assert delivered(tenure, 12) == [1, 2, 3, 4, 11, 12]


def test_a_stream_that_was_resumed_twice_passes_over_both_silences() -> None:
    tenure = after(holder("other", 2), holder("mine", 4), holder("other", 6, "again"), MINE)
    assert delivered(tenure, 12) == [1, 2, 5, 6, 11, 12]


def test_four_streams_are_open_at_most() -> None:
    newer = [holder(f"newer {number}", 20 + number) for number in range(MAX_NEWER + 1)]
    assert not after(MINE, *newer[:-1]).over
    assert after(MINE, *newer).over


def test_one_newer_stream_that_comes_back_often_pushes_nobody_out() -> None:
    again = [holder("newer", 20 + number) for number in range(20)]
    assert not after(MINE, *again).over


def test_in_a_new_history_of_events_offsets_mean_nothing() -> None:
    silent = after(MINE, holder("newer", 20))
    silent.begin_again()
    assert delivered(silent) == []
    resumed = after(holder("other", 4), MINE)
    resumed.begin_again()
    assert delivered(resumed, 12) == list(range(1, 13))


@pytest.mark.parametrize("order", list(itertools.permutations(["a", "b", "c", "a", "b"])))
def test_whoever_takes_over_in_which_order_every_event_is_delivered_on_one_stream_only(order: tuple[str, ...]) -> None:
    """Each stream's last connection, and the others while they were open, cover all events once."""
    log = [holder(stream, 10 * at, f"{stream} {at}") for at, stream in enumerate(order)]
    counts = dict.fromkeys(range(1, 100), 0)
    for stream in set(order):
        mine = next(entry for entry in reversed(log) if entry.stream == stream)
        first = next(entry for entry in log if entry.stream == stream)
        tenure = after(*log[log.index(first) :], mine=mine)
        for offset in delivered(tenure, 99):
            counts[offset] += offset > first.events
    assert set(counts.values()) == {1}
