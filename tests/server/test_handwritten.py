from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mcpfleet.errors import ArgumentsRefused, RegistrationError
from mcpfleet.server import signature
from mcpfleet.server.handwritten import HandWritten
from mcpfleet.server.schema import Schema


class Context:
    pass


DOCUMENT: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
}


def by_hand(function: Callable[..., Any], document: Mapping[str, Any] = DOCUMENT) -> HandWritten:
    read = signature.read(function, Context, "tool 'x'")
    return HandWritten(Schema(document, "tool 'x': input_schema"), read, "tool 'x'")


def open_ended(ctx: Context, **kwargs: Any) -> None: ...


def whole(arguments: dict[str, Any], ctx: Context) -> None: ...


def by_name(city: str, days: int = 3) -> None: ...


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (open_ended, {"city": "Rome", "days": 2.0, "more": None}),
        (whole, {"arguments": {"city": "Rome", "days": 2.0, "more": None}}),
        (by_name, {"city": "Rome", "days": 2.0}),
    ],
)
def test_arguments_checked_by_hand_are_handed_over_unconverted(
    function: Callable[..., Any], expected: dict[str, Any]
) -> None:
    assert by_hand(function).read({"city": "Rome", "days": 2.0, "more": None}) == expected


@pytest.mark.parametrize("function", [open_ended, whole, by_name])
def test_arguments_that_break_a_schema_by_hand_are_refused_by_the_name_of_the_field(
    function: Callable[..., Any],
) -> None:
    with pytest.raises(ArgumentsRefused) as refused:
        by_hand(function).read({"days": 0})
    assert sorted(str(refused.value).splitlines()) == [
        "city: required, but missing",
        "days: 0 is less than the minimum of 1",
    ]


@pytest.mark.parametrize(("function", "names"), [(open_ended, ("city", "days")), (by_name, ("city", "days"))])
def test_null_leaves_out_what_is_not_required_and_cannot_be_null(
    function: Callable[..., Any], names: tuple[str, ...]
) -> None:
    nullable = {**DOCUMENT, "properties": {**DOCUMENT["properties"], "days": {"type": ["integer", "null"]}}}
    assert by_hand(function).read({"city": "Rome", "days": None}) == {"city": "Rome"}
    assert by_hand(function, nullable).read({"city": "Rome", "days": None}) == {"city": "Rome", "days": None}


def test_however_many_nulls_are_left_out_and_what_else_is_wrong_is_told() -> None:
    many = {f"p{number}": {"type": "string"} for number in range(50)}
    form = by_hand(whole, {"type": "object", "properties": {"city": {"type": "string"}, **many}, "required": ["city"]})
    nulls = dict.fromkeys(many)
    assert form.read({"city": "Rome", **nulls}) == {"arguments": {"city": "Rome"}}
    with pytest.raises(ArgumentsRefused) as refused:
        form.read({"city": None, **nulls, "p7": 7})
    assert sorted(str(refused.value).splitlines()) == [
        'city: null is not of type "string"',
        'p7: 7 is not of type "string"',
    ]


def test_additional_properties_are_refused_where_the_schema_says_so() -> None:
    closed = by_hand(whole, DOCUMENT | {"additionalProperties": False})
    with pytest.raises(ArgumentsRefused, match="'more' was unexpected"):
        closed.read({"city": "Rome", "more": 1})


def needs_more(city: str, country: str) -> None: ...


def takes_less(city: str) -> None: ...


def clashing(city: str, days: Context) -> None: ...


def open_and_clashing(days: Context, **kwargs: Any) -> None: ...


@pytest.mark.parametrize(
    ("function", "document", "words"),
    [
        (needs_more, DOCUMENT, "parameter 'country' has no default, so input_schema must require it"),
        (takes_less, DOCUMENT, "input_schema has the property 'days', but no parameter takes it"),
        (clashing, DOCUMENT, "input_schema has the property 'days'"),
        (open_and_clashing, DOCUMENT, "input_schema has the property 'days', which the server fills"),
        (whole, {"properties": {}}, 'must have "type": "object"'),
        (whole, {"type": ["object", "null"]}, 'must have "type": "object"'),
        (whole, {"anyOf": [{"type": "object"}]}, 'must have "type": "object"'),
        (whole, {"type": "array"}, 'must have "type": "object"'),
    ],
)
def test_a_schema_by_hand_that_the_function_cannot_serve_is_refused(
    function: Callable[..., Any], document: dict[str, Any], words: str
) -> None:
    with pytest.raises(RegistrationError) as refused:
        by_hand(function, document)
    assert str(refused.value).startswith("tool 'x'")
    assert words in str(refused.value)
