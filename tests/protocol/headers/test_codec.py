"""Texts as header values: the table of "Value Encoding", and what no peer may be made to misread."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpfleet.protocol.headers import decode_value, encode_value

encodable = st.text() | st.sampled_from(
    ["=?base64?", "?=", "=?base64?=", "=?base64??=", "=?base64?SGVsbG8=?=", " ", "\t"]
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("", ""),
        ("a b", "a b"),
        ("a\tb", "=?base64?YQli?="),
        ("\x7f", "=?base64?fw==?="),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ("=?base64?open", "=?base64?open"),
        ("closed?=", "closed?="),
    ],
)
def test_a_text_is_encoded_only_where_a_header_could_not_carry_it(text: str, value: str) -> None:
    """Streamable HTTP, "Value Encoding"."""
    assert encode_value(text) == value
    assert decode_value(value) == text


@given(encodable)
def test_every_text_survives_the_way_through_a_header(text: str) -> None:
    value = encode_value(text)
    assert decode_value(value) == text
    assert value == value.strip(" \t")
    assert all(" " <= char <= "~" for char in value)


@given(encodable)
def test_a_value_stands_for_itself_or_for_what_its_base64_says(value: str) -> None:
    text = decode_value(value)
    assert text in (None, value) or value == f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@pytest.mark.parametrize(
    "value",
    [
        "SGVsbG8=",
        "=?base64?SGVsbG8=",
        "SGVsbG8=?=",
        "=?BASE64?SGVsbG8=?=",
        "=?Base64?SGVsbG8=?=",
        "=?base64?=",
        "a\tb",
    ],
)
def test_a_value_without_both_markers_stands_for_itself(value: str) -> None:
    """Streamable HTTP, "Value Encoding": the markers MUST appear exactly as shown."""
    assert decode_value(value) == value


@pytest.mark.parametrize(
    "value",
    [
        "=?base64?SGVsbG8?=",
        "=?base64?SGVs!!!bG8=?=",
        "=?base64?SGVsbG8==?=",
        "=?base64?SGVsbG9=?=",
        "=?base64?SGVs bG8=?=",
        "=?base64?_-8=?=",
        "=?base64?/w==?=",
        "=?base64?7aCA?=",
        "=?base64?====?=",
        "caf\xe9",
        "a\nb",
        "a\0b",
        "\x7f",
    ],
)
def test_a_value_that_readers_could_disagree_on_is_no_value(value: str) -> None:
    """Streamable HTTP, "Server Behavior for Custom Headers": invalid characters MUST be rejected."""
    assert decode_value(value) is None


def test_an_encoded_empty_text_is_empty() -> None:
    assert decode_value("=?base64??=") == ""


def test_a_text_that_is_not_unicode_cannot_be_encoded() -> None:
    with pytest.raises(UnicodeEncodeError):
        encode_value("\ud800")
