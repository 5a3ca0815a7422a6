"""Server-sent events, written and read at every cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpfleet.protocol import sse
from mcpfleet.protocol.sse import Decoder, Event, EventTooLarge

one_line = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]))
any_bytes = st.binary() | st.sampled_from([b"a\nb", b"\r\n", b"data: x", b":", b"id: 1", "\u2028\x85".encode()])
written = st.builds(
    Event,
    data=any_bytes.map(lambda data: data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")),
    id=st.none() | one_line,
    event=st.none() | one_line,
    retry_ms=st.none() | st.integers(min_value=0, max_value=10**9),
)


def encoded(event: Event) -> bytes:
    return sse.encode(event.data, id=event.id, event=event.event, retry_ms=event.retry_ms)


def read(stream: bytes, *cuts: int) -> list[Event]:
    decoder = Decoder()
    edges = [0, *sorted(cuts), len(stream)]
    return [event for start, end in pairwise(edges) for event in decoder.feed(stream[start:end])]


def test_an_event_is_written_with_its_fields_before_its_data() -> None:
    assert sse.encode(b'{"a":1}', id="7", event="message", retry_ms=500) == (
        b'event: message\nid: 7\nretry: 500\ndata: {"a":1}\n\n'
    )


def test_an_event_that_only_primes_a_client_has_an_id_and_empty_data() -> None:
    """Transports, "Sending Messages to the Server": an event of an id and an empty `data` field."""
    assert sse.encode(b"", id="1") == b"id: 1\ndata: \n\n"
    assert read(sse.encode(b"", id="1")) == [Event(b"", "1")]


def test_an_event_of_a_retry_time_alone_has_no_data() -> None:
    assert sse.encode(retry_ms=0) == b"retry: 0\n\n"
    assert read(sse.encode(None, retry_ms=250)) == [Event(retry_ms=250)]


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\0b"])
def test_an_id_or_name_that_would_break_its_line_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no line end"):
        sse.encode(b"", id=text)
    with pytest.raises(ValueError, match="no line end"):
        sse.encode(b"", event=text)


def test_a_negative_retry_time_is_refused() -> None:
    with pytest.raises(ValueError, match="not negative"):
        sse.encode(retry_ms=-1)


def test_separators_of_unicode_stay_inside_one_data_line() -> None:
    data = '"a\u2028b\u2029c\x85d 😀"'.encode()
    assert sse.encode(data) == b"data: " + data + b"\n\n"


@pytest.mark.parametrize("data", [b"a\nb", b"a\rb", b"a\r\nb"])
def test_data_of_several_lines_becomes_several_data_lines(data: bytes) -> None:
    assert sse.encode(data) == b"data: a\ndata: b\n\n"


def test_a_comment_is_written_and_passed_over() -> None:
    assert sse.comment() == b": \n\n"
    assert sse.comment("a\nb") == b": a\n: b\n\n"
    assert read(sse.comment("a\r\nb") + sse.encode(b"x")) == [Event(b"x")]


@given(st.lists(written, max_size=4))
def test_every_event_is_read_as_it_was_written(events: list[Event]) -> None:
    assert read(b"".join(map(encoded, events))) == events


STREAM = (
    b'\xef\xbb\xbf: hello\r\n\r\nid: 1\r\ndata\r\n\r\ndata: {"a":\ndata:  "\xe2\x80\xa8\xf0\x9f\x98\x80"}\n\n'
    b"event: e\rdata:x\rretry: 20\r\rid: 2\ndata: y\r\n\n"
)
EVENTS = [
    Event(b"", "1"),
    Event(b'{"a":\n "\xe2\x80\xa8\xf0\x9f\x98\x80"}'),
    Event(b"x", None, "e", 20),
    Event(b"y", "2"),
]


@pytest.mark.parametrize("cut", range(len(STREAM) + 1))
def test_a_stream_reads_the_same_wherever_it_is_cut(cut: int) -> None:
    assert read(STREAM, cut) == EVENTS


def test_a_stream_reads_the_same_byte_by_byte() -> None:
    assert read(STREAM, *range(len(STREAM))) == EVENTS


@given(st.lists(written, max_size=3), st.data())
def test_cuts_anywhere_change_nothing(events: list[Event], data: st.DataObject) -> None:
    ending = data.draw(st.sampled_from([b"\n", b"\r", b"\r\n"]))
    stream = b"".join(map(encoded, events)).replace(b"\n", ending)
    cuts = data.draw(st.lists(st.integers(min_value=0, max_value=len(stream))))
    assert read(stream, *cuts) == events


def test_an_event_is_given_as_soon_as_its_last_line_end_is_there() -> None:
    decoder = Decoder()
    assert decoder.feed(b"data: a\r\r") == [Event(b"a")]
    assert decoder.feed(b"\ndata: b\r\n\r") == [Event(b"b")]
    assert decoder.feed(b"\n") == []


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data:a\n\n", [Event(b"a")]),
        (b"data:  a \n\n", [Event(b" a ")]),
        (b"data\n\n", [Event(b"")]),
        (b"data\ndata\n\n", [Event(b"\n")]),
        (b"id\ndata: a\n\n", [Event(b"a", "")]),
        (b"id: a\0b\ndata: a\n\n", [Event(b"a")]),
        (b"id: \xff\ndata: a\n\n", [Event(b"a", "\ufffd")]),
        (b"event: \xff\n\n", [Event(event="\ufffd")]),
        (b"retry: 1x\ndata: a\n\n", [Event(b"a")]),
        (b"retry: -1\ndata: a\n\n", [Event(b"a")]),
        (b"retry:\ndata: a\n\n", [Event(b"a")]),
        pytest.param(b"retry: " + b"9" * 5000 + b"\ndata: a\n\n", [Event(b"a")], id="endless retry"),
        (b"retry: 007\n\n", [Event(retry_ms=7)]),
        (b"retry: 999999999999999\n\n", [Event(retry_ms=999_999_999_999_999)]),
        (b"Data: a\nunknown: b\nid : 1\n\n", []),
        (b":data: a\n\n\n\n", []),
        (b" data: a\n\n", []),
        (b"data: a\xe2\x80\xa8b\xc2\x85c\x0b\x0c\x1cd\n\n", [Event(b"a\xe2\x80\xa8b\xc2\x85c\x0b\x0c\x1cd")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Event(b"a")]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
        (b"\xef\xbbdata: a\n\n", []),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [Event(b"a")]),
        (b"data: unfinished\n", []),
        (b"", []),
    ],
)
def test_fields_are_read_as_the_standard_says(stream: bytes, events: list[Event]) -> None:
    assert read(stream) == events


@pytest.mark.parametrize("piece", [b"data: 0123456789\n", b"0123456789"])
def test_an_event_beyond_the_bound_ends_the_reading(piece: bytes) -> None:
    decoder = Decoder(max_event_bytes=10 * len(piece))
    for _ in range(10):
        assert decoder.feed(piece) == []
    with pytest.raises(EventTooLarge):
        decoder.feed(piece)


def test_the_bound_counts_the_lines_of_data_exactly() -> None:
    assert Decoder(max_event_bytes=18).feed(b"data: abc\n: x\ndata: def\n\n") == [Event(b"abc\ndef")]
    with pytest.raises(EventTooLarge):
        Decoder(max_event_bytes=17).feed(b"data: abc\n: x\ndata: def\n\n")


def test_the_bound_is_for_each_event_and_not_for_the_stream() -> None:
    decoder = Decoder(max_event_bytes=20)
    for _ in range(100):
        assert decoder.feed(b": a comment\ndata: 0123456789\n\n") == [Event(b"0123456789")]
