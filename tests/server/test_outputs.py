import datetime
import decimal
import enum
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Never, TypedDict

import msgspec
import pydantic
import pytest

from mcpfleet.errors import OutputRefused, RegistrationError, ToolError
from mcpfleet.protocol.messages.content import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
)
from mcpfleet.protocol.messages.tools import CallToolResult
from mcpfleet.server.outputs import MAX_DEPTH, Output, from_hint
from mcpfleet.server.schema import Schema


class Forecast(msgspec.Struct):
    city: str
    degrees: float


class Node(msgspec.Struct):
    value: int
    next: "Node | None" = None


@dataclass
class Data:
    at: datetime.datetime
    price: decimal.Decimal


class Dictionary(TypedDict):
    a: int


class Pair(NamedTuple):
    a: int
    b: str


class Colour(enum.Enum):
    RED = "red"


class Text(str):
    __slots__ = ()


class TextColour(enum.StrEnum):
    RED = "red"


class Model(pydantic.BaseModel):
    inner: int = pydantic.Field(alias="out")
    when: datetime.date


class Opaque:
    pass


def declared(hint: Any) -> Output:
    return from_hint(hint, "tool 'x'")


def by_hand(document: dict[str, Any]) -> Output:
    return Output(Schema(document, "tool 'x': output_schema"))


def sent(value: Any) -> Any:
    """What arrives of a JSON value: a tuple is an array like any other."""
    return json.loads(msgspec.json.encode(value))


TEXT = TextContent("hi")
IMAGE = ImageContent.of(b"x", "image/png")
AUDIO = AudioContent.of(b"x", "audio/wav")
LINK = ResourceLink("file:///a", "a")
RESOURCE = EmbeddedResource(ResourceContents.of("file:///a", "text"))

NOTHING: list[Any] = [
    Any,
    object,
    str,
    None,
    str | None,
    Never,
    TextContent,
    ContentBlock,
    list[ImageContent],
    list[ContentBlock],
    list[TextContent | str],
    tuple[TextContent, ImageContent],
    tuple[ImageContent, ...],
    TextContent | None,
    CallToolResult,
    CallToolResult | None,
    CallToolResult | str,
    list,
    list[Any],
    list[object],
    list[Any] | None,
    tuple,
    tuple[Any, ...],
    Sequence[Any],
]


@pytest.mark.parametrize("hint", NOTHING, ids=repr)
def test_what_says_nothing_of_data_has_no_schema(hint: Any) -> None:
    assert declared(hint).schema is None


SHOWN: list[tuple[Any, tuple[Any, ...]]] = [
    (None, ()),
    ("", (TextContent(""),)),
    ("hi", (TEXT,)),
    ('{"a": 1}', (TextContent('{"a": 1}'),)),
    ("a\u2028b\x85c 😀 \r\n data: x", (TextContent("a\u2028b\x85c 😀 \r\n data: x"),)),
    (Text("hi"), (TEXT,)),
    (TextColour.RED, (TextContent("red"),)),
    (TEXT, (TEXT,)),
    (IMAGE, (IMAGE,)),
    (AUDIO, (AUDIO,)),
    (LINK, (LINK,)),
    (RESOURCE, (RESOURCE,)),
    ([TEXT, IMAGE], (TEXT, IMAGE)),
    ((IMAGE, "hi", LINK), (IMAGE, TEXT, LINK)),
]


@pytest.mark.parametrize("hint", [list, list[Any], tuple, Sequence[Any]], ids=repr)
def test_a_list_of_anything_is_content_if_it_holds_blocks_and_data_otherwise(hint: Any) -> None:
    output = declared(hint)
    assert output.result(["hi", IMAGE]).content == (TEXT, IMAGE)
    for value, text in (([], "[]"), (["hi", 1], '["hi",1]')):
        result = output.result(value)
        assert (result.structured_content, result.content) == (value, (TextContent(text),))


@pytest.mark.parametrize(("value", "content"), SHOWN, ids=repr)
def test_text_and_blocks_are_shown_and_are_no_data(value: Any, content: tuple[Any, ...]) -> None:
    result = declared(Any).result(value)
    assert result == CallToolResult(content=content)
    assert result.structured_content is msgspec.UNSET
    assert all(type(block.text) is str for block in result.content if isinstance(block, TextContent))


NOW = datetime.datetime(2026, 7, 28, 12, 30, tzinfo=datetime.UTC)
ID = uuid.UUID(int=1)

STRUCTURED: list[tuple[Any, Any, Any, dict[str, Any]]] = [
    (int, 3, 3, {"type": "integer"}),
    (int, 2**53 + 1, 2**53 + 1, {"type": "integer"}),
    (int, 2**63, 2**63, {"type": "integer"}),
    (int, -(2**100), -(2**100), {"type": "integer"}),
    (float, 1.5, 1.5, {"type": "number"}),
    (float, -0.0, -0.0, {"type": "number"}),
    (float, 1, 1, {"type": "number"}),
    (bool, True, True, {"type": "boolean"}),
    (int | None, None, None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (int | str, "a", "a", {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    (list[int], [1, 2], [1, 2], {"type": "array", "items": {"type": "integer"}}),
    (list[str], [], [], {"type": "array", "items": {"type": "string"}}),
    (list[int], (1, 2), [1, 2], {"type": "array", "items": {"type": "integer"}}),
    (dict[str, int], {"a": 1}, {"a": 1}, {"type": "object", "additionalProperties": {"type": "integer"}}),
    (dict[str, object], {"a": [None]}, {"a": [None]}, {"type": "object"}),
    (dict[int, int], {1: 2}, {"1": 2}, {"type": "object", "additionalProperties": {"type": "integer"}}),
    (dict, {"a": None}, {"a": None}, {"type": "object"}),
    (bytes, b"hi", "aGk=", {"type": "string", "contentEncoding": "base64"}),
    (datetime.datetime, NOW, "2026-07-28T12:30:00Z", {"type": "string"}),
    (datetime.date, NOW.date(), "2026-07-28", {"type": "string", "format": "date"}),
    (uuid.UUID, ID, str(ID), {"type": "string", "format": "uuid"}),
    (decimal.Decimal, decimal.Decimal("1.10"), "1.10", {"type": "string", "format": "decimal"}),
    (Literal["a", "b"], "a", "a", {"type": "string", "enum": ["a", "b"]}),
    (Colour, Colour.RED, "red", {"title": "Colour", "type": "string", "enum": ["red"]}),
]


@pytest.mark.parametrize(("hint", "value", "expected", "schema"), STRUCTURED, ids=repr)
def test_data_is_structured_with_its_text_beside_it(
    hint: Any, value: Any, expected: Any, schema: dict[str, Any]
) -> None:
    output = declared(hint)
    assert output.schema == schema
    result = output.result(value)
    assert sent(result.structured_content) == expected
    assert not result.is_error
    [block] = result.content
    assert isinstance(block, TextContent)
    assert json.loads(block.text) == expected
    assert block.text == msgspec.json.encode(expected).decode()


OBJECTS: list[tuple[Any, Any, Any]] = [
    (Forecast, Forecast("Rome", 21), {"city": "Rome", "degrees": 21}),
    (Forecast, {"city": "Rome", "degrees": 21.5}, {"city": "Rome", "degrees": 21.5}),
    (Node, Node(1, Node(2)), {"value": 1, "next": {"value": 2, "next": None}}),
    (Data, Data(NOW, decimal.Decimal("1.10")), {"at": "2026-07-28T12:30:00Z", "price": "1.10"}),
    (Dictionary, {"a": 2**70}, {"a": 2**70}),
    (Model, Model(out=1, when=NOW.date()), {"out": 1, "when": "2026-07-28"}),
]


@pytest.mark.parametrize(("hint", "value", "expected"), OBJECTS, ids=repr)
def test_the_schema_of_a_class_has_an_object_at_its_root(hint: Any, value: Any, expected: Any) -> None:
    output = declared(hint)
    assert output.schema is not None
    assert output.schema["type"] == "object"
    assert output.result(value).structured_content == expected


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (list[Model], [Model(out=1, when=NOW.date())], [{"out": 1, "when": "2026-07-28"}]),
        (dict[str, Model], {"a": Model(out=1, when=NOW.date())}, {"a": {"out": 1, "when": "2026-07-28"}}),
        (Any, [Model(out=1, when=NOW.date())], [{"out": 1, "when": "2026-07-28"}]),
        (Pair, Pair(1, "a"), [1, "a"]),
        (Forecast | None, None, None),
        (Forecast | None, Forecast("Rome", 21.0), {"city": "Rome", "degrees": 21.0}),
        (pydantic.HttpUrl, pydantic.HttpUrl("https://example.com/"), "https://example.com/"),
        (Any, {"a": NOW, 2: {1}}, {"a": "2026-07-28T12:30:00Z", "2": [1]}),
        (Any, 5, 5),
        (Any, False, False),
        (Any, [], []),
    ],
    ids=repr,
)
def test_values_of_any_make_become_json(hint: Any, value: Any, expected: Any) -> None:
    assert sent(declared(hint).result(value).structured_content) == expected


BROKEN: list[tuple[Any, Any]] = [
    (int, "3"),
    (int, 1.5),
    (int, True),
    (int, None),
    (int, TEXT),
    (float, "nan"),
    (list[int], ["a"]),
    (Forecast, {"city": "Rome"}),
    (Forecast, Forecast("Rome", "hot")),  # type: ignore[arg-type] # what a struct holds is not checked by it
    (Forecast, None),
    (Forecast, "text"),
    (Dictionary, {"a": "1"}),
    (Model, {"inner": 1, "when": "2026-07-28"}),
    (Literal["a"], "b"),
    (Colour, "green"),
]


@pytest.mark.parametrize(("hint", "value"), BROKEN, ids=repr)
def test_a_value_that_breaks_the_declared_type_is_the_tools_fault(hint: Any, value: Any) -> None:
    with pytest.raises(OutputRefused):
        declared(hint).result(value)


def test_a_refused_output_says_where_it_breaks() -> None:
    with pytest.raises(OutputRefused, match=r'result\[0\].degrees: "hot" is not of type "number"'):
        declared(list[Forecast]).result([Forecast("Rome", "hot")])  # type: ignore[arg-type] # it is the case


NO_JSON: list[Any] = [Opaque(), 1j, {(1, 2): 3}, [Opaque()], (number for number in [1]), ValueError("secret")]


@pytest.mark.parametrize("value", NO_JSON)  # no `ids=repr`: an address in a name breaks pytest-xdist
def test_what_has_no_json_form_is_the_tools_fault(value: Any) -> None:
    with pytest.raises(OutputRefused, match="no JSON form"):
        declared(Any).result(value)


def test_a_cycle_is_the_tools_fault() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(OutputRefused, match="no JSON form"):
        declared(Any).result(cycle)


@pytest.mark.parametrize(("hint", "value"), [(Any, [TEXT, 1]), (list[TextContent], [1])])
def test_blocks_do_not_mix_with_data(hint: Any, value: Any) -> None:
    with pytest.raises(OutputRefused, match="int in a list of content blocks"):
        declared(hint).result(value)


def test_a_declared_list_of_blocks_may_be_empty_or_text_only() -> None:
    assert declared(list[ContentBlock]).result([]) == CallToolResult(content=())
    assert declared(list[TextContent | str]).result(["hi"]) == CallToolResult(content=(TEXT,))
    assert declared(Any).result([]).structured_content == []


NOT_FINITE: list[tuple[Any, Any]] = [
    (float, float("nan")),
    (float, float("inf")),
    (float, float("-inf")),
    (list[float], [1.0, float("nan")]),
    (Any, {"a": {"b": [None, float("nan")]}}),
    (Forecast, Forecast("Rome", float("inf"))),
    (dict[str, float], {"a": float("nan")}),
]


@pytest.mark.parametrize(("hint", "value"), NOT_FINITE, ids=repr)
def test_a_number_that_is_not_finite_is_a_clear_error(hint: Any, value: Any) -> None:
    with pytest.raises(ToolError, match="not finite"):
        declared(hint).result(value)


def test_null_in_a_result_is_no_number() -> None:
    assert declared(Any).result({"a": None, "b": 1.5, "c": "null"}).structured_content == {
        "a": None,
        "b": 1.5,
        "c": "null",
    }


@pytest.mark.parametrize("value", ["\ud800", ["\ud800"], {"\ud800": 1}, [TEXT, "\ud800"]], ids=ascii)
def test_half_a_character_is_a_clear_error(value: Any) -> None:
    with pytest.raises(ToolError, match="surrogates not allowed"):
        declared(Any).result(value)


def test_a_result_is_not_nested_without_bound() -> None:
    def chain(length: int) -> Node:
        node = Node(0)
        for value in range(1, length):
            node = Node(value, node)
        return node

    assert declared(Node).result(chain(MAX_DEPTH)).content
    for length in (MAX_DEPTH + 1, 500):
        with pytest.raises(ToolError, match="nested deeper"):
            declared(Node).result(chain(length))
    wide = [[] for _ in range(1000)]  # type: ignore[var-annotated] # empty lists of anything
    assert declared(Any).result(wide).structured_content == wide


NUMBERS = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}


def test_a_schema_by_hand_goes_before_the_annotation() -> None:
    output = by_hand({"type": "string", "minLength": 2})
    assert output.result("hi") == CallToolResult(content=(TextContent('"hi"'),), structured_content="hi")
    with pytest.raises(OutputRefused, match="shorter"):
        output.result("h")


@pytest.mark.parametrize("value", [None, "text", {"n": 0}, {"n": "1"}, [], TEXT, [TEXT], {}])
def test_a_value_that_breaks_a_schema_by_hand_is_the_tools_fault(value: Any) -> None:
    with pytest.raises(OutputRefused, match="breaks its output schema"):
        by_hand(NUMBERS).result(value)


def test_a_result_of_the_authors_own_passes() -> None:
    own = CallToolResult(content=(TEXT,), meta={"a": 1})
    assert declared(CallToolResult).result(own) is own


def test_the_structured_content_of_an_own_result_is_checked_too() -> None:
    output = by_hand(NUMBERS)
    own = CallToolResult(content=(TEXT,), structured_content={"n": 1}, meta={"a": 1})
    assert output.result(own) == own
    with pytest.raises(OutputRefused, match=r"result\.n: 0 is less than the minimum"):
        output.result(CallToolResult(content=(), structured_content={"n": 0}))
    with pytest.raises(OutputRefused, match="no structured content"):
        output.result(CallToolResult(content=(TEXT,)))
    with pytest.raises(ToolError, match="not finite"):
        declared(CallToolResult).result(CallToolResult(content=(), structured_content=float("nan")))


def test_the_structured_content_of_an_own_result_becomes_json_and_gets_a_text() -> None:
    own = CallToolResult(content=(), structured_content=Forecast("Rome", 21.5))
    assert declared(CallToolResult).result(own) == CallToolResult(
        content=(TextContent('{"city":"Rome","degrees":21.5}'),), structured_content={"city": "Rome", "degrees": 21.5}
    )


def test_null_is_structured_content() -> None:
    own = CallToolResult(content=(TEXT,), structured_content=None)
    assert by_hand({"type": "null"}).result(own).structured_content is None


def test_an_error_is_never_checked_against_the_schema() -> None:
    error = CallToolResult(content=(TEXT,), is_error=True)
    assert by_hand(NUMBERS).result(error) is error
    odd = CallToolResult(content=(TEXT,), structured_content={"n": "odd"}, is_error=True)
    assert by_hand(NUMBERS).result(odd) is odd


@pytest.mark.parametrize(
    "hint", [Opaque, list[Opaque], Callable[[int], int], Iterator[Opaque], Forecast | Node, type], ids=repr
)
def test_a_return_type_that_cannot_be_described_is_refused_at_registration(hint: Any) -> None:
    with pytest.raises(RegistrationError, match="tool 'x': return type: "):
        declared(hint)
