"""Media types of bodies and answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpfleet.protocol.negotiation import EVENT_STREAM, JSON, OFFERED, acceptable, is_json

BOTH = [JSON, EVENT_STREAM]


@pytest.mark.parametrize(
    ("accept", "offers"),
    [
        ([], BOTH),
        (["application/json, text/event-stream"], BOTH),
        (["text/event-stream", "application/json"], BOTH),
        (["*/*"], BOTH),
        (["Application/JSON"], [JSON]),
        (["application/json"], [JSON]),
        (["text/event-stream"], [EVENT_STREAM]),
        (["application/*"], [JSON]),
        (["text/*;q=0.1"], [EVENT_STREAM]),
        (["application/json;q=0, */*"], [EVENT_STREAM]),
        (["application/json; q = 0.000, text/event-stream"], [EVENT_STREAM]),
        (["*/*;q=0, application/json"], [JSON]),
        (["application/*;q=0", "application/json;q=0.5"], [JSON]),
        (["application/json;q=0.001"], [JSON]),
        (["application/json;q=nonsense"], [JSON]),
        (["application/json;charset=utf-8;version=0"], [JSON]),
        (["text/plain"], []),
        (["application/json;q=0"], []),
        (["text/html, image/png"], []),
        ([""], BOTH),
        (["nonsense"], BOTH),
        (["nonsense, ;;, /, text/, text/event-stream"], [EVENT_STREAM]),
        (["a b/c, application/json"], [JSON]),
    ],
)
def test_what_a_client_takes_is_read_leniently(accept: list[str], offers: list[str]) -> None:
    assert acceptable(accept) == frozenset(offers)


@given(st.lists(st.text()))
def test_no_accept_header_makes_reading_raise(accept: list[str]) -> None:
    assert acceptable(accept) <= OFFERED


@pytest.mark.parametrize(
    ("content_type", "verdict"),
    [
        ("application/json", True),
        ("Application/JSON ; charset=utf-8", True),
        ("application/json;charset=utf-8", True),
        ("application/json; charset=latin-1", True),
        ("text/json", False),
        ("application/jsonp", False),
        ("application/json, text/plain", False),
        ("text/plain; application/json", False),
        ("", False),
        (None, False),
    ],
)
def test_a_body_is_json_if_its_media_type_says_so(content_type: str | None, verdict: bool) -> None:
    assert is_json(content_type) is verdict
