"""Frontmatter comes to what a host reads out of the same file, which takes YAML 1.2 and has nothing but JSON."""

import re
from typing import Any

import pytest

from mcpfleet.server.frontmatter import MAX_CHARACTERS, MAX_DEPTH, read

VALUES: list[tuple[str, Any]] = [
    *(
        ("text", "text"),
        ("two\n  lines", "two lines"),
        ("'1'", "1"),
        ('"tr\\u00fce"', "trüe"),
        ("|\n  a\n  b\n", "a\nb\n"),
    ),
    *(("~", None), ("", None), ("null", None), ("Null", None), ("nUll", "nUll"), ("'~'", "~"), ("''", "")),
    *(("true", True), ("TRUE", True), ("False", False), ("tRue", "tRue"), ("'true'", "true")),
    *(("12", 12), ("-12", -12), ("+12", 12), ("010", 10), ("0o17", 15), ("0x1F", 31), ("1_000", "1_000")),
    *((str(2**70), 2**70), ("0b11", "0b11"), ("-0x1", "-0x1"), ("1:30", "1:30"), ("0o8", "0o8")),
    *(
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("-1.5E-3", -0.0015),
        ("1.2.3", "1.2.3"),
        (".", "."),
    ),
    *(("inf", "inf"), ("nan", "nan"), ("'.inf'", ".inf")),
    *(("no", "no"), ("yes", "yes"), ("on", "on"), ("y", "y"), ("2026-01-31", "2026-01-31"), ("=", "=")),
    *(
        ("[1, a, [true]]", [1, "a", [True]]),
        ("\n- 1\n- b: c\n", [1, {"b": "c"}]),
        ("{b: {c: 1}, d: []}", {"b": {"c": 1}, "d": []}),
    ),
]
"""Texts, and what each stands for."""


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_a_value_is_what_the_core_schema_makes_of_it(text: str, value: Any) -> None:
    """YAML 1.2, section 10.3.2."""
    found = read(f"a: {text}")
    assert found == {"a": value}
    assert type(found["a"]) is type(value)


def test_names_stay_in_their_order_and_may_be_quoted() -> None:
    assert [*read("b: 1\n'1': 2\na: 3\n<<: 4\n")] == ["b", "1", "a", "<<"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names with their values"),
        ("# nothing", "names with their values"),
        ("text", "names with their values"),
        ("- a", "names with their values"),
        ("a: 1\nb: c: d", "line 3: mapping values are not allowed here"),
        ("a: [1", "line 2: "),
        ("a: 'x", "line 2: "),
        ("\ta: 1", "line 2: "),
        ("a: \x01", "unacceptable character"),
        ("a: 1\na: 2", "line 3: 'a' is there already"),
        ("a:\n  b: 1\n  b: 1", "line 4: 'b' is there already"),
        ("1: a", "line 2: a name must be text"),
        ("true: a", "line 2: a name must be text"),
        ("? [a]\n: 1", "line 2: a name must be text"),
        ("a: &x 1", "line 2: anchors, aliases and tags"),
        ("a: &x [1]\nb: *x", "line 2: anchors, aliases and tags"),
        ("a: &x {b: 1}", "line 2: anchors, aliases and tags"),
        ("a: !!str 1", "line 2: anchors, aliases and tags"),
        ("a: !!python/object:os.system {}", "line 2: anchors, aliases and tags"),
        ("a: !x [1]", "line 2: anchors, aliases and tags"),
        ("&x a: 1", "line 2: anchors, aliases and tags"),
        ("a: .inf", "line 2: JSON has no number .inf"),
        ("a: -.INF", "line 2: JSON has no number -.INF"),
        ("a: .NaN", "line 2: JSON has no number .NaN"),
        ("a: 1e999", "line 2: JSON has no number 1e999"),
        ("a: " + "9" * 5000, "line 2: JSON has no number 99999999999999999999"),
        ("a: 1\n...\n---\nb: 2", "line 5: a second document begins"),
        ("a: " + "[" * 40 + "]" * 40, f"line 2: nested deeper than {MAX_DEPTH} levels"),
        ("a: 1 # " + "x" * MAX_CHARACTERS, f"more than {MAX_CHARACTERS} characters"),
    ],
    ids=lambda value: value[:20],
)
def test_what_is_no_plain_data_is_refused_with_its_line(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        read(text)


def test_data_may_be_nested_up_to_the_bound_and_no_further() -> None:
    inner = MAX_DEPTH - 2
    assert read("a: " + "[" * inner + "1" + "]" * inner)
    with pytest.raises(ValueError, match="nested deeper"):
        read("a: [" + "[" * inner + "1" + "]" * inner + "]")


def test_a_frontmatter_may_be_as_long_as_the_bound() -> None:
    assert read("a: '" + "x" * (MAX_CHARACTERS - 5) + "'")
