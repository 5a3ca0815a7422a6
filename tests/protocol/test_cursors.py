"""Cursors, which nobody but their list can make ("Pagination")."""

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpfleet.protocol import cursors


@given(st.integers(0, 2**32 - 1), st.text("0123456789abcdef", max_size=32))
def test_a_cursor_is_read_back_by_the_list_that_gave_it(position: int, of: str) -> None:
    cursor = cursors.write(position, of)
    assert cursors.read(cursor, of) == position
    assert cursors.read(cursor, of + "0") is None
    assert re.fullmatch(r"[A-Za-z0-9_-]{24}", cursor)


@given(st.integers(0, 23), st.sampled_from("Aa0-_="), st.integers(0, 500))
def test_a_cursor_that_was_altered_anywhere_is_none(at: int, to: str, position: int) -> None:
    cursor = cursors.write(position, "list")
    altered = cursor[:at] + to + cursor[at + 1 :]
    assert altered == cursor or cursors.read(altered, "list") is None


@pytest.mark.parametrize("text", ["", "garbage", "ü", "\ud800", "AAAA", "=" * 24, cursors.write(1, "x")[:-1], "1"])
def test_any_other_text_is_no_cursor(text: str) -> None:
    assert cursors.read(text, "x") is None


def test_the_check_of_one_place_is_not_that_of_another() -> None:
    first, second = (base64.urlsafe_b64decode(cursors.write(position, "x")) for position in (1, 2))
    swapped = base64.urlsafe_b64encode(first[:4] + second[4:]).decode()
    assert cursors.read(swapped, "x") is None
