"""Strings become what a function's hints want."""

import datetime
import enum
from typing import Annotated, Any, Literal

import pytest

from mcpfleet.errors import ArgumentsRefused, RegistrationError
from mcpfleet.server import signature
from mcpfleet.server.texts import Texts, choices


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


class Context:
    pass


def texts(function: Any) -> Texts:
    return Texts(signature.read(function, Context, "f"), "f")


READ: list[tuple[Any, str, Any]] = [
    (str, "5", "5"),
    (str, '{"a": 1}', '{"a": 1}'),
    (Any, "[1]", "[1]"),
    (object, "null", "null"),
    (Annotated[str, "a description"], "true", "true"),
    (int, "5", 5),
    (int, "5.0", 5),
    (int, str(2**80), 2**80),
    (float, "1.5", 1.5),
    (float, "1", 1.0),
    (bool, "true", True),
    (int | None, "null", None),
    (int | str, "5", "5"),
    (list[int], "[1, 2]", [1, 2]),
    (dict[str, int], '{"a": 1}', {"a": 1}),
    (Colour, "red", Colour.RED),
    (Level, "1", Level.LOW),
    (Literal["a", "b"], "b", "b"),
    (datetime.date, "2026-07-28", datetime.date(2026, 7, 28)),
]


@pytest.mark.parametrize(("hint", "text", "value"), READ)
def test_a_text_is_read_as_the_hint_wants_it(hint: Any, text: str, value: Any) -> None:
    def function(x: Any) -> None: ...

    function.__annotations__["x"] = hint
    read = texts(function).read({"x": text})["x"]
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (int, "five"),
        (int, "1.5"),
        (int, ""),
        (int, '"5"'),
        (bool, "yes"),
        (list[int], "[1"),
        (Colour, "green"),
    ],
)
def test_a_text_that_does_not_fit_is_told_by_name(hint: Any, text: str) -> None:
    def function(x: Any) -> None: ...

    function.__annotations__["x"] = hint
    with pytest.raises(ArgumentsRefused, match=r"^x: "):
        texts(function).read({"x": text})


def function(a: str, b: int, c: str = "c", d: int | None = None) -> None: ...


def test_what_is_left_out_or_null_is_the_default_and_what_is_unknown_is_ignored() -> None:
    read = texts(function).read
    assert read({"a": "1", "b": "2"}) == {"a": "1", "b": 2, "c": "c", "d": None}
    assert read({"a": "", "b": "2", "c": None, "e": "5"}) == {"a": "", "b": 2, "c": "c", "d": None}


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(ArgumentsRefused) as refused:
        texts(function).read({"b": "x", "c": 5, "e": []})
    lines = str(refused.value).splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["c", "e", "a", "b"]
    assert lines[0] == "c: must be a string"
    assert lines[2] == "a: required, but missing"


def test_an_open_function_takes_every_other_string() -> None:
    def open_ended(a: int, **rest: str) -> None: ...

    assert texts(open_ended).read({"a": "1", "b": "2", "c": None}) == {"a": 1, "b": "2"}


def test_a_hint_that_nobody_can_read_is_found_at_registration() -> None:
    def unreadable(x: Context | int) -> None: ...

    unreadable.__annotations__["x"] = type("Odd", (), {"__slots__": ()})
    with pytest.raises(RegistrationError, match="parameter 'x'"):
        texts(unreadable)


@pytest.mark.parametrize(
    ("hint", "found"),
    [
        (Literal["a", "b"], ("a", "b")),
        (Literal["a", 1], ("a",)),
        (Annotated[Literal["a"] | None, "one"], ("a",)),
        (Colour, ("red", "blue")),
        (Colour | Literal["green"], ("red", "blue", "green")),
        (Level, ()),
        (str, ()),
        (None, ()),
    ],
)
def test_literals_and_enumerations_tell_their_choices(hint: Any, found: tuple[str, ...]) -> None:
    assert choices(hint) == found


def test_an_argument_without_choices_has_none() -> None:
    def mood(kind: Literal["warm", "cool"], name: str) -> None: ...

    made = texts(mood)
    assert (made.names, made.choices("kind")) == (("kind", "name"), ("warm", "cool"))
    assert made.choices("name") == made.choices("absent") == ()
