"""Header lines as ASGI gives them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpfleet.protocol.headers import Headers


def test_names_are_compared_without_regard_to_case() -> None:
    """Streamable HTTP, "Case Sensitivity": names MUST be compared case-insensitively."""
    headers = Headers([(b"MCP-method", b"tools/call")])
    assert headers.get("Mcp-Method") == headers.get("mcp-METHOD") == "tools/call"
    assert headers.all("MCP-METHOD") == ("tools/call",)


def test_blanks_around_a_value_are_not_part_of_it() -> None:
    headers = Headers([(b"a", b" \t x y\t "), (b"b", b"  ")])
    assert headers.get("a") == "x y"
    assert headers.get("b") == ""


def test_a_header_that_is_absent_is_none() -> None:
    headers = Headers([(b"a", b"1")])
    assert headers.get("b") is None
    assert headers.all("b") == ()
    assert not headers.disagree("b")


def test_the_first_of_several_lines_is_the_value_and_all_are_kept_in_order() -> None:
    headers = Headers([(b"A", b"1"), (b"b", b"0"), (b"a", b" 2"), (b"a", b"1")])
    assert headers.get("a") == "1"
    assert headers.all("a") == ("1", "2", "1")
    assert headers.all("b") == ("0",)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([b"1"], False), ([b"1", b" 1"], False), ([b"1", b"2"], True), ([b"1", b"1", b"2"], True), ([b"a", b"A"], True)],
)
def test_lines_disagree_if_their_values_differ(values: list[bytes], verdict: bool) -> None:
    headers = Headers([(b"x", value) for value in values])
    assert headers.disagree("X") is verdict


def test_a_view_can_be_made_of_a_mapping() -> None:
    headers = Headers.of({"Mcp-Name": "é"})
    assert headers.get("mcp-name") == "é"


@given(st.lists(st.tuples(st.binary(), st.binary())), st.text(st.characters(max_codepoint=127)))
def test_no_lines_make_a_look_up_raise(lines: list[tuple[bytes, bytes]], name: str) -> None:
    headers = Headers(lines)
    assert (headers.get(name) is None) is (headers.all(name) == ())
