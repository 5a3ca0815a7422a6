"""Lines, however the bytes between them are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpfleet.protocol.lines import Lines, LineTooLong


def read(*chunks: bytes, max_bytes: int | None = None) -> list[bytes]:
    lines = Lines(max_bytes=max_bytes)
    return [*(line for chunk in chunks for line in lines.feed(chunk)), *lines.end()]


@given(st.lists(st.binary(min_size=1).filter(lambda line: not set(line) & set(b"\n\r\t "))), st.data())
def test_lines_are_the_same_wherever_chunks_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    ends = [data.draw(st.sampled_from([b"\n", b"\r\n"])) for _ in lines]
    text = b"".join(line + end for line, end in zip(lines, ends, strict=True))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    chunks = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert read(*chunks) == lines


def test_empty_lines_are_passed_over() -> None:
    assert read(b"\n\r\n \t\n{}\n\n") == [b"{}"]


def test_no_other_character_ends_a_line() -> None:
    text = '"\u2028\u2029\u0085\x0b\x0c\r"'.encode()
    assert read(text + b"\n") == [text]


def test_a_last_line_needs_no_end() -> None:
    assert read(b"{}\n[", b"]") == [b"{}", b"[]"]


def test_a_line_of_the_greatest_length_is_read() -> None:
    assert read(b"x" * 10, b"\n" + b"y" * 10, b"\n", max_bytes=10) == [b"x" * 10, b"y" * 10]


@pytest.mark.parametrize("chunks", [[b"x" * 11 + b"\n"], [b"x" * 11], [b"x" * 6, b"x" * 5], [b"x"] * 11])
def test_a_line_beyond_the_bound_is_refused_before_its_end(chunks: list[bytes]) -> None:
    with pytest.raises(LineTooLong, match="10 bytes"):
        read(*chunks, max_bytes=10)


def test_what_came_before_a_line_that_is_too_long_is_read() -> None:
    lines = Lines(max_bytes=3)
    reading = lines.feed(b"{}\nxxxx\n")
    assert next(reading) == b"{}"
    with pytest.raises(LineTooLong):
        next(reading)
