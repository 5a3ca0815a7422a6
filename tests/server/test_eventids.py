"""Event ids: good in one session, for one place (transports, "Resumability and Redelivery")."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpfleet.backplane.base import Position, mint
from mcpfleet.server.eventids import MAX_LENGTH, MAX_REQUEST_ID, CallPlace, Place, StandalonePlace, read, write

SESSION, OTHER = "a" * 32, "b" * 32
HERE, THERE = Position(7, "0123456789abcdef"), Position(10**15 - 1, "fedcba9876543210")
PLACES: tuple[Place, ...] = (
    CallPlace("0011223344556677", HERE, 1),
    CallPlace("0011223344556677", HERE, "1", last=True),
    CallPlace("0011223344556677", THERE, 10**40),
    CallPlace("0011223344556677", HERE, None),
    StandalonePlace("8899aabbccddeeff", HERE, THERE),
    StandalonePlace("8899aabbccddeeff", HERE, THERE, 10**9, owing=True),
)


@pytest.mark.parametrize("place", PLACES)
def test_an_id_is_read_as_the_place_it_was_written_for(place: Place) -> None:
    assert read(SESSION, write(SESSION, place)) == place


@given(st.one_of(st.text(max_size=20), st.integers()))
def test_a_request_id_comes_back_in_its_kind(request_id: str | int) -> None:
    place = read(SESSION, write(SESSION, CallPlace("x", HERE, request_id)))
    assert isinstance(place, CallPlace)
    assert (type(place.request), place.request) == (type(request_id), request_id)


@pytest.mark.parametrize("request_id", ["x" * (MAX_REQUEST_ID - 1), 10**MAX_REQUEST_ID])
def test_a_request_id_too_long_for_an_event_id_is_left_to_the_store(request_id: str | int) -> None:
    place = read(SESSION, write(SESSION, CallPlace("x", HERE, request_id)))
    assert place == CallPlace("x", HERE, None)


def test_the_longest_id_is_read() -> None:
    place = CallPlace(mint(), THERE, "x" * (MAX_REQUEST_ID - 2), last=True)
    event_id = write(SESSION, place)
    assert len(event_id) <= MAX_LENGTH
    assert read(SESSION, event_id) == place


@pytest.mark.parametrize("place", PLACES)
def test_an_id_is_nothing_in_another_session(place: Place) -> None:
    assert read(OTHER, write(SESSION, place)) is None


@pytest.mark.parametrize("place", PLACES)
def test_an_id_changed_anywhere_is_nothing(place: Place) -> None:
    event_id = write(SESSION, place)
    for at, char in enumerate(event_id):
        other = "0" if char != "0" else "1"
        assert read(SESSION, event_id[:at] + other + event_id[at + 1 :]) is None
        assert read(SESSION, event_id[:at] + event_id[at + 1 :]) is None
    assert read(SESSION, event_id + "0") is None
    assert read(SESSION, "0" + event_id) is None


@given(st.text(max_size=400))
def test_whatever_else_is_nothing(event_id: str) -> None:
    assert read(SESSION, event_id) is None


@pytest.mark.parametrize("event_id", ["", ".", "....", "c....", "s.1-2.3-4.5", "x" * 1_000_000, "é" * 50, "\ud800"])
def test_what_only_looks_like_an_id_is_nothing(event_id: str) -> None:
    assert read(SESSION, event_id) is None


@pytest.mark.parametrize("place", PLACES)
def test_an_id_can_stand_in_a_header_and_in_an_event(place: Place) -> None:
    assert set(write(SESSION, place)) <= set(string.ascii_letters + string.digits + ".-_=")


def test_an_id_does_not_tell_the_session() -> None:
    assert SESSION not in write(SESSION, PLACES[0])
