"""JSON text read and written strictly."""

import json
import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpfleet.protocol import jsontext
from mcpfleet.protocol.jsontext import NotFinite, NotJson, RepeatedName, TooDeep, TooMany

Values = st.SearchStrategy[Any]

texts = st.text() | st.sampled_from(["a:b", '"', '":', "[{", "}]", "\\", "null", "\u2028", "\x7f"])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts


def containers(children: Values) -> Values:
    return st.lists(children, max_size=4) | st.dictionaries(texts, children, max_size=4)


values = st.recursive(scalars, containers, max_leaves=20)
writers: st.SearchStrategy[Callable[[Any], str]] = st.sampled_from(
    [
        lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False),
        json.dumps,
        lambda value: json.dumps(value, indent=2, ensure_ascii=False),
        lambda value: json.dumps(value, separators=(" ,\n", "\t:\r\n")),
    ]
)


@given(values, writers)
def test_what_any_writer_wrote_is_read_as_it_was_meant(value: Any, write: Callable[[Any], str]) -> None:
    assert jsontext.loads(write(value).encode()) == value


@given(values)
def test_what_is_written_is_read_back_equal(value: Any) -> None:
    assert jsontext.loads(jsontext.dumps(value)) == value


@given(values)
def test_what_is_written_has_no_line_end(value: Any) -> None:
    assert not set(jsontext.dumps(value)) & set(b"\r\n")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b'{"a":1,}',
        b"[1,]",
        b"{} {}",
        b"'a'",
        b"// a\n1",
        b"nul",
        b"01",
        b"+1",
        b".5",
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e400",
        b"-1e400",
        b"[1e309]",
        b'"\xff"',
        b'"\xc0\x80"',
        b'"\xed\xa0\x80"',
        b'"\xf4\x90\x80\x80"',
        b'{"\xff":1}',
        b'"\\ud800"',
        b'"\\udc00"',
        b'"\\ud800\\u0041"',
        b'{"\\ud800":1}',
        b'"a\nb"',
        b'"a',
        b'"\\',
        b"\xef\xbb\xbf{}",
        b"{\x00}",
        '{"a":1}'.encode("utf-16"),
        b'{"a" 1, "b" 2}',
    ],
)
def test_a_text_that_is_not_json_is_refused(text: bytes) -> None:
    with pytest.raises(NotJson):
        jsontext.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":1}',
        b'{"a" :1,"a":2}',
        b'{"a": 1, "\\u0061": 2}',
        b'{"b":{"a":1,"a":2}}',
        b'[[{"a":[],"a":{}}]]',
        b'{"x":"p:q","a":1,"a":2}',
        b'{"x":"\\":","a" :1,"a":2}',
        b'{"":1,"":2}',
    ],
)
def test_an_object_that_names_a_member_twice_is_refused(text: bytes) -> None:
    with pytest.raises(RepeatedName):
        jsontext.loads(text)


@given(values, values, texts, st.lists(st.sampled_from(["[%s]", '{"k":%s}', '["a:b",%s,1.0e1]']), max_size=5), writers)
def test_a_repeated_name_is_refused_wherever_it_stands(
    one: Any, other: Any, name: str, around: list[str], write: Callable[[Any], str]
) -> None:
    text = f"{{{write(name)}:{write(one)},{write(name)}:{write(other)}}}"
    for frame in around:
        text = frame.replace("%s", text)
    with pytest.raises(RepeatedName):
        jsontext.loads(text.encode())


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")], ids=["arrays", "objects"])
@pytest.mark.parametrize("bound", [1, 64, 200])
def test_nesting_is_allowed_up_to_the_bound_and_not_beyond(opening: bytes, closing: bytes, bound: int) -> None:
    jsontext.loads(opening * bound + b"1" + closing * bound, max_depth=bound)
    with pytest.raises(TooDeep):
        jsontext.loads(opening * (bound + 1) + b"1" + closing * (bound + 1), max_depth=bound)


@given(values, st.integers(min_value=0, max_value=6))
def test_the_bound_on_nesting_is_exact(value: Any, bound: int) -> None:
    text = json.dumps(value, indent=1).encode()
    if depth(value) > bound:
        with pytest.raises(TooDeep):
            jsontext.loads(text, max_depth=bound)
    else:
        assert jsontext.loads(text, max_depth=bound) == value


def depth(value: Any) -> int:
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if parts is None else 1 + max(map(depth, parts), default=0)


def test_a_wide_value_is_not_a_deep_one() -> None:
    assert len(jsontext.loads(b"[" + b"[]," * 1000 + b"{}]", max_depth=2)) == 1001


@given(values, writers, st.integers(min_value=0, max_value=12))
def test_the_bound_on_values_is_exact_and_counts_brackets_and_commas(
    value: Any, write: Callable[[Any], str], bound: int
) -> None:
    text = write(value).encode()
    if marks(value) > bound:
        with pytest.raises(TooMany):
            jsontext.loads(text, max_values=bound)
    else:
        assert jsontext.loads(text, max_values=bound) == value


def marks(value: Any) -> int:
    """How many brackets open, and how many commas stand, outside strings."""
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if parts is None else max(1, len(parts)) + sum(map(marks, parts))


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"[]," * 1_000_000 + b"[]]",
        b"[" + b'{"a":{}},' * 400_000 + b"{}]",
        b"[" + b"0," * 2_000_000 + b"0]",
        b"[" + b'"",' * 1_000_000 + b'""]',
        b"{" + b'"":0,' * 1_000_000 + b'"":0}',
    ],
    ids=["arrays", "objects", "numbers", "strings", "names"],
)
def test_a_text_of_too_many_values_is_refused_before_it_is_decoded(
    text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsontext, "_DECODER", None)
    with pytest.raises(TooMany):
        jsontext.loads(text, max_values=100_000)


def test_brackets_inside_strings_do_not_nest() -> None:
    text = json.dumps(["[{" * 500, '\\"[[', "]"]).encode()
    assert jsontext.loads(text, max_depth=1) == ["[{" * 500, '\\"[[', "]"]


@pytest.mark.parametrize(
    "text",
    [b"[" * 200_000, b'{"a":' * 200_000, b'["' + b'\\"[' * 200_000],
    ids=["arrays", "objects", "one endless string"],
)
def test_a_hostile_text_is_refused_before_it_is_decoded(text: bytes) -> None:
    with pytest.raises(NotJson):
        jsontext.loads(text)


def test_a_bound_beyond_the_interpreters_own_is_still_no_crash() -> None:
    with pytest.raises(NotJson):
        jsontext.loads(b"[" * 100_000 + b"]" * 100_000, max_depth=1_000_000)


@pytest.mark.parametrize(
    "number", [2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**4299], ids=lambda number: number.bit_length()
)
def test_integers_keep_every_digit(number: int) -> None:
    assert jsontext.loads(str(number).encode()) == number
    assert jsontext.dumps(number) == str(number).encode()


def test_an_integer_beyond_the_interpreters_limit_is_refused() -> None:
    with pytest.raises(NotJson):
        jsontext.loads(b"9" * 4301)


def test_brackets_that_close_before_they_open_are_refused() -> None:
    with pytest.raises(NotJson):
        jsontext.loads(b"]" * 100 + b"[" * 100, max_depth=64)


def test_minus_zero_stays_what_it_is() -> None:
    assert math.copysign(1, jsontext.loads(b"-0.0")) == -1
    assert jsontext.dumps(-0.0) == b"-0.0"


class Holder(msgspec.Struct):
    value: Any
    other: Any = None


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "around",
    [
        lambda number: number,
        lambda number: [number],
        lambda number: {"a": {"b": (1, number)}},
        Holder,
        lambda number: {"a": None, "b": msgspec.Raw(b"null"), "c": [Holder([number])]},
    ],
)
def test_a_number_that_is_not_finite_is_never_written(number: float, around: Callable[[float], Any]) -> None:
    with pytest.raises(NotFinite):
        jsontext.dumps(around(number))


def test_null_and_the_word_null_are_written() -> None:
    assert jsontext.dumps([None, "null", 1.5, Holder("null")]) == b'[null,"null",1.5,{"value":"null","other":null}]'


def test_a_text_that_is_written_already_goes_out_as_it_is() -> None:
    assert jsontext.dumps({"a": msgspec.Raw(b'{"b": null}')}) == b'{"a":{"b": null}}'


def itself() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    "value",
    [object(), "\ud800", {"a": "\udfff"}, {(1,): 2}, 10**5000, itself()],
    ids=["object", "surrogate", "nested", "key", "huge", "loop"],
)
def test_a_value_that_json_cannot_carry_is_refused_by_name(value: Any) -> None:
    with pytest.raises(NotJson):
        jsontext.dumps(value)


def test_a_struct_in_plain_types_is_a_mapping() -> None:
    assert jsontext.plain(Holder([Holder(1)])) == {"value": [{"value": 1, "other": None}], "other": None}


@pytest.mark.parametrize("value", [object(), Holder(object()), itself()])
def test_a_value_without_a_plain_form_is_refused_by_name(value: Any) -> None:
    with pytest.raises(NotJson):
        jsontext.plain(value)
