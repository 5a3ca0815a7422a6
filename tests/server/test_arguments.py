import datetime
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest

from mcpfleet.errors import ArgumentsRefused, RegistrationError
from mcpfleet.server import signature
from mcpfleet.server.arguments import Typed
from tests.server.samples import READ, Circle, Colour, Constrained, Even, Model, Point, Square, Tree


class Context:
    pass


def typed(function: Callable[..., Any]) -> Typed:
    return Typed(signature.read(function, Context, "tool 'x'"), "tool 'x'")


def of(hint: Any, *default: Any) -> Typed:
    """The arguments of a function with one parameter `a` of this type."""

    def function(a: Any = default[0] if default else signature.REQUIRED) -> None: ...

    function.__annotations__["a"] = hint
    return typed(function)


@pytest.mark.parametrize(("hint", "value", "expected"), READ)
def test_a_value_that_fits_becomes_what_the_hint_says(hint: Any, value: Any, expected: Any) -> None:
    found = of(hint).read({"a": value})
    assert found == {"a": expected}
    assert type(found["a"]) is type(expected)


REFUSED: list[tuple[Any, Any, str]] = [
    (int, "123", "a: Expected int, got str"),
    (int, 1.5, "a: Expected int, got float"),
    (int, True, "a: Expected int, got bool"),
    (int, None, "a: Expected int, got null"),
    (int, "[1]", "a: Expected int, got str"),
    (float, "1.5", "a: Expected float, got str"),
    (float, 10**400, "a: Number out of range"),
    (bool, 1, "a: Expected bool, got int"),
    (bool, "true", "a: Expected bool, got str"),
    (str, 1, "a: Expected str, got int"),
    (str, None, "a: Expected str, got null"),
    (str, ["x"], "a: Expected str, got array"),
    (list[int], "1", "a: Expected array, got str"),
    (list[int], "[1", "a: Expected array, got str"),
    (list[int], '["x"]', "a: Expected array, got str"),
    (list[int], "[" * 100 + "]" * 100, "a: Expected array, got str"),
    (list[int], [1, "x"], "a[1]: Expected int, got str"),
    (dict[str, Point], {"k": {"x": "q"}}, "a[...].x: Expected int, got str"),
    (dict[int, str], {"k": "x"}, "a (a key): Expected int, got str"),
    (Literal["a", "b"], "c", "a: Invalid enum value 'c'"),
    (Colour, "green", "a: Invalid enum value 'green'"),
    (uuid.UUID, "x", "a: Invalid UUID"),
    (datetime.datetime, "tomorrow", "a: Invalid RFC3339 encoded datetime"),
    (Point, {"y": 1}, "a: Object missing required field x"),
    (Tree, {"value": 1, "branches": [{"value": "x"}]}, "a.branches[0].value: Expected int, got str"),
    (Circle | Square, {"type": "Triangle"}, "a.type: Invalid value 'Triangle'"),
    (Even, {"number": 3}, "a: number must be even"),
    (Annotated[int, msgspec.Meta(ge=1)], 0, "a: Expected int >= 1"),
    (Annotated[str, msgspec.Meta(max_length=2)], "abc", "a: Expected str of length <= 2"),
    (Model, {"count": "1"}, 'a.count: "1" is not of type "integer"'),
    (Model, {"count": -1}, "a.count: Value error, count must not be negative"),
    (Model, {}, "a.count: required, but missing"),
    (Model, {"count": 1, "when": "soon"}, "a.when: Input should be a valid datetime"),
    (Model, None, 'a: null is not of type "object"'),
    (Annotated[int, pydantic.Field(ge=1)], 0, "a: 0 is less than the minimum of 1"),
    (Annotated[int, pydantic.Field(ge=1)], "1", 'a: "1" is not of type "integer"'),
    (Annotated[int, pydantic.Field(ge=1)], True, 'a: true is not of type "integer"'),
    (Constrained, {"size": 0}, "a.size: 0 is less than the minimum of 1"),
]


@pytest.mark.parametrize(("hint", "value", "words"), REFUSED)
def test_a_value_that_does_not_fit_is_refused_by_the_name_of_the_field(hint: Any, value: Any, words: str) -> None:
    with pytest.raises(ArgumentsRefused) as refused:
        of(hint).read({"a": value})
    assert str(refused.value).startswith(words)


def forecast(city: str, days: int = 3, units: Literal["c", "f"] = "c", near: Point | None = None) -> None: ...


def test_every_argument_that_does_not_fit_is_named() -> None:
    with pytest.raises(ArgumentsRefused) as refused:
        typed(forecast).read({"days": "3", "units": "k", "near": {"y": 1}})
    assert str(refused.value).splitlines() == [
        "city: required, but missing",
        "days: Expected int, got str",
        "units: Invalid enum value 'k'",
        "near: Object missing required field x",
    ]


def test_a_refusal_does_not_repeat_a_large_value() -> None:
    long = "x" * 100_000
    for hint in (Literal["a"], Annotated[Literal["a"], pydantic.Field()], dict[str, Literal["a"]]):
        with pytest.raises(ArgumentsRefused) as refused:
            of(hint).read({"a": {long: long} if hint == dict[str, Literal["a"]] else long})
        assert len(str(refused.value)) <= 300


def test_one_argument_read_leniently_leaves_the_others_as_they_are() -> None:
    def function(a: int, b: Any, c: Point) -> None: ...

    assert typed(function).read({"a": 1.0, "b": 1.0, "c": '{"x": 1}'}) == {"a": 1, "b": 1.0, "c": Point(1)}


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (int, 3),
        (str, "x"),
        (Literal["a"], "a"),
        (list[int], [1]),
        (Point, Point(1)),
        (int, None),
        (Model, Model(count=1)),
        (Annotated[int, pydantic.Field(ge=1)], 3),
        (int | None, None),
        (Model | None, None),
    ],
)
def test_null_and_omission_both_give_the_default_itself(hint: Any, default: Any) -> None:
    arguments = of(hint, default)
    for given in ({}, {"a": None}):
        assert arguments.read(given)["a"] is default


def test_null_is_a_value_where_the_hint_admits_it() -> None:
    assert of(int | None, 5).read({"a": None}) == {"a": None}
    assert of(int | None, 5).read({}) == {"a": 5}
    assert of(Any, 5).read({"a": None}) == {"a": None}


def test_null_does_not_stand_for_an_argument_without_default() -> None:
    with pytest.raises(ArgumentsRefused, match="a: Expected int, got null"):
        of(int).read({"a": None})


def test_a_default_is_not_checked() -> None:
    assert of(int, "not an int").read({}) == {"a": "not an int"}
    assert of(Annotated[int, pydantic.Field(ge=5)], 1).read({}) == {"a": 1}


def test_what_no_parameter_takes_is_ignored() -> None:
    assert typed(forecast).read({"city": "Rome", "random_string": None, "x": {}})["city"] == "Rome"

    def nothing() -> None: ...

    assert typed(nothing).read({"random_string": ""}) == {}


def test_the_given_arguments_are_not_changed() -> None:
    given = {"city": "Rome", "days": None, "near": {"x": 1.0}}
    typed(forecast).read(given)
    assert given == {"city": "Rome", "days": None, "near": {"x": 1.0}}


def test_parameters_may_have_any_name_that_python_allows() -> None:
    def function(self: int, cls: int, copy: int, model: int, _under: int) -> None: ...

    names = {"self": 1, "cls": 2, "copy": 3, "model": 4, "_under": 5}
    assert typed(function).read(names) == names


class Opaque:
    pass


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (Opaque, "Opaque"),
        (Point | Opaque, "Opaque"),
        (Callable[[int], int], "Callable"),
        (Point | Tree, "tagged"),
        (list[Opaque], "Opaque"),
        (Annotated[Opaque, pydantic.Field(description="x")], "Opaque"),
    ],
)
def test_a_hint_that_nobody_can_read_is_refused_at_registration(hint: Any, words: str) -> None:
    with pytest.raises(RegistrationError, match=f"tool 'x': parameter 'a': .*{words}"):
        of(hint)


def test_keywords_of_any_name_need_a_schema() -> None:
    def function(**kwargs: int) -> None: ...

    with pytest.raises(RegistrationError, match=r"\*\*kwargs need a hand-written input_schema"):
        typed(function)
