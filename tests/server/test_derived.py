import datetime
import decimal
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jsonschema  # type: ignore[import-untyped] # it has no hints, and its stubs are not needed elsewhere
import msgspec
import pydantic
import pytest
import referencing
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpfleet.server import signature
from mcpfleet.server.arguments import Typed
from mcpfleet.server.derived import describe, document
from mcpfleet.server.schema import Schema
from mcpfleet.server.shapes import Direction, Misfit, Native, shape
from tests.server import fresh
from tests.server.samples import READ, Circle, Colour, Filters, Level, Model, Pair, Point, Square, Stay, Tree


def schema_of(hint: Any, direction: Direction = "validation") -> dict[str, Any]:
    schemas, definitions = describe([shape(hint, "x", direction)], direction)
    return document(schemas[0], definitions)


class Context:
    pass


def root_of(function: Callable[..., Any]) -> dict[str, Any]:
    return Typed(signature.read(function, Context, "x"), "x").schema


def independent(schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    """Another implementation's validator; its registry is empty, so it fetches nothing."""
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, registry=referencing.Registry())


HINTS = list({repr(hint): hint for hint, _, _ in READ}.values())


@pytest.mark.parametrize("hint", HINTS, ids=repr)
@pytest.mark.parametrize("direction", ["validation", "serialization"])
def test_a_derived_schema_passes_our_checks_and_the_meta_schema(hint: Any, direction: Direction) -> None:
    schema = schema_of(hint, direction)
    assert Schema(schema, "x").document == schema
    independent(schema)


def is_published(hint: Any, value: Any) -> bool:
    """Whether a value that is read is also one that the schema admits: reading is more lenient, on purpose."""
    sent_as_text = isinstance(value, str) and value.lstrip().startswith(("{", "["))
    return not (sent_as_text and hint is not str) and (hint, value) not in [(set[int], [1, 1, 2]), (decimal.Decimal, 3)]


WELL_FORMED = [(hint, value) for hint, value, _ in READ if is_published(hint, value)]


@pytest.mark.parametrize(("hint", "value"), WELL_FORMED)
def test_a_derived_schema_admits_what_is_read(hint: Any, value: Any) -> None:
    schema = schema_of(hint)
    assert Schema(schema, "x").accepts(value)
    assert independent(schema).is_valid(value)


NAMES = st.sampled_from(
    ["x", "y", "value", "branches", "type", "radius", "side", "city", "nights", "limit", "units", "k"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.sampled_from(["a", "b", "c", "f", "red", "Circle", "Square", "", "123"])
JSON = st.recursive(
    SCALARS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "hint",
    [
        int,
        float,
        bool,
        str,
        int | None,
        int | str,
        list[int],
        tuple[int, ...],
        tuple[int, str],
        dict[str, int],
        Literal["a", "b"],
        Literal[1, 2],
        Colour,
        Level,
        Point,
        Tree,
        Circle | Square,
        Stay,
        Filters,
        Pair,
        Annotated[int, msgspec.Meta(ge=1, lt=10)],
        Annotated[str, msgspec.Meta(min_length=1)],
        Annotated[int, pydantic.Field(ge=1, lt=10)],
        dict[str, object],
    ],
    ids=repr,
)
@settings(max_examples=50, deadline=None)
@given(value=JSON)
def test_what_a_schema_admits_is_read(hint: Any, value: Any) -> None:
    """Never the other way about: a client that keeps to the schema is never refused."""
    if not Schema(schema_of(hint), "x").accepts(value):
        return

    def function(a: Any) -> None: ...

    function.__annotations__["a"] = hint
    assert set(Typed(signature.read(function, Context, "x"), "x").read({"a": value})) == {"a"}


def many(
    city: str,
    when: datetime.datetime,
    days: Annotated[int, msgspec.Meta(ge=1, description="How many.")] = 3,
    units: Literal["c", "f"] = "c",
    near: Point | None = None,
    tree: Tree = Tree(1),  # noqa: B008 - a frozen default is the case
    colour: Colour = Colour.RED,
    opaque: Any = object(),  # noqa: B008 - a default that has no JSON form is the case
    limit: int = None,  # type: ignore[assignment] # noqa: RUF013 - a default that the hint does not admit is the case
    not_json: float = float("inf"),
    tags: set[str] = {"b", "a"},  # noqa: B006 - it is never changed
    model: Model = Model(count=1),  # noqa: B008 - a default that is a model is the case
) -> None:
    """Much.

    Args:
        city: Where.
        days: The hint says it better.
        near: A point.
    """


def test_a_root_says_all_that_a_signature_does() -> None:
    root = root_of(many)
    definitions = root.pop("$defs")
    assert root == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where."},
            "when": {"type": "string", "format": "date-time"},
            "days": {"type": "integer", "minimum": 1, "description": "How many.", "default": 3},
            "units": {"type": "string", "enum": ["c", "f"], "default": "c"},
            "near": {
                "anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}],
                "description": "A point.",
                "default": None,
            },
            "tree": {"$ref": "#/$defs/Tree", "default": {"value": 1, "branches": []}},
            "colour": {"$ref": "#/$defs/Colour", "default": "red"},
            "opaque": {},
            "limit": {"type": "integer"},
            "not_json": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "default": ["a", "b"]},
            "model": {"$ref": "#/$defs/Model", "default": {"count": 1, "when": None}},
        },
        "required": ["city", "when"],
    }
    assert set(definitions) == {"Point", "Tree", "Colour", "Model"}


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    def nothing() -> None: ...

    assert root_of(nothing) == {"type": "object", "properties": {}}


def test_the_root_is_an_object_whatever_the_parameters_are() -> None:
    def function(a: int | str | None, b: Circle | Square) -> None: ...

    root = root_of(function)
    assert root["type"] == "object"
    assert not {"anyOf", "oneOf", "allOf", "$ref"} & set(root)


class Times(msgspec.Struct):
    naive: datetime.datetime
    aware: Annotated[datetime.datetime, msgspec.Meta(tz=True)]
    clock: datetime.time
    maybe: datetime.datetime | None
    several: list[datetime.datetime]
    pair: tuple[datetime.datetime, int]
    by_name: dict[str, Annotated[datetime.datetime, msgspec.Meta(description="x")]]
    mixed: int | datetime.datetime | list[datetime.datetime]
    within: "Times | None" = None


class Row(msgspec.Struct, array_like=True):
    number: int
    when: datetime.datetime


WHEN = {"type": "string", "format": "date-time"}


def test_every_time_to_send_has_its_format() -> None:
    schema = schema_of(list[Times])
    assert schema["$defs"]["Times"]["properties"] == {
        "naive": WHEN,
        "aware": WHEN,
        "clock": {"type": "string", "format": "time"},
        "maybe": {"anyOf": [WHEN, {"type": "null"}]},
        "several": {"type": "array", "items": WHEN},
        "pair": {
            "type": "array",
            "prefixItems": [WHEN, {"type": "integer"}],
            "minItems": 2,
            "maxItems": 2,
            "items": False,
        },
        "by_name": {"type": "object", "additionalProperties": WHEN | {"description": "x"}},
        "mixed": {"anyOf": [{"type": "integer"}, WHEN, {"type": "array", "items": WHEN}]},
        "within": {"anyOf": [{"$ref": "#/$defs/Times"}, {"type": "null"}], "default": None},
    }
    assert schema_of(Row)["prefixItems"] == [{"type": "integer"}, WHEN]
    assert schema_of(datetime.datetime | int) == {"anyOf": [WHEN, {"type": "integer"}]}


def test_a_time_to_return_promises_a_zone_only_if_its_hint_does() -> None:
    properties = schema_of(Times, "serialization")["properties"]
    assert (properties["naive"], properties["aware"]) == ({"type": "string"}, WHEN)


@dataclass
class Sizes:
    one: Literal["small", "large", "huge"]
    many: list[Literal["x", "b"] | None]
    by_colour: dict[Colour, int]


def test_choices_stand_in_the_order_of_their_author() -> None:
    """In which people are shown them; also of what is inside of something else."""
    document = schema_of(Sizes)
    assert document["properties"]["one"]["enum"] == ["small", "large", "huge"]
    assert document["properties"]["many"]["items"]["anyOf"][0]["enum"] == ["x", "b"]
    assert document["$defs"]["Colour"]["enum"] == ["red", "blue"]


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (Literal["b", "a"], {"type": "string", "enum": ["b", "a"]}),
        (Literal[2, 1], {"type": "integer", "enum": [2, 1]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Literal["b", None, "a"], {"enum": ["b", None, "a"]}),  # noqa: PYI061  # as authors write it
        (Literal["a"] | None, {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        (Colour, {"title": "Colour", "type": "string", "enum": ["red", "blue"]}),
        (Level, {"title": "Level", "type": "integer", "enum": [1, 2]}),
    ],
)
def test_an_enum_of_one_type_names_it(hint: Any, expected: dict[str, Any]) -> None:
    assert schema_of(hint) == expected


@pytest.mark.parametrize("hint", [Point, Stay, Filters, Tree, Model, Circle])
def test_a_document_that_is_one_class_has_an_object_at_its_root(hint: Any) -> None:
    schema = schema_of(hint)
    assert schema["type"] == "object"
    assert "$ref" not in schema


def test_a_recursive_class_at_the_root_is_still_found_by_its_references() -> None:
    schema = schema_of(Tree)
    assert list(schema["$defs"]) == ["Tree"]
    tree = {"value": 1, "branches": [{"value": 2, "branches": [{"value": "x"}]}]}
    assert not Schema(schema, "x").accepts(tree)
    assert not independent(schema).is_valid(tree)


def test_classes_of_one_name_keep_apart() -> None:
    native = msgspec.defstruct("Point", [("z", int)])
    foreign = pydantic.create_model("Point", w=(int, ...))
    for hints, names in [((Point, native, foreign), "xzw"), ((Point, foreign), "xw"), ((foreign, native), "wz")]:
        schemas, definitions = describe([shape(hint, "x") for hint in hints])
        for schema, name in zip(schemas, names, strict=True):
            one = Schema(document(schema, definitions), "x")
            assert one.accepts({name: 1})
            assert not one.accepts({name: "1"})


def test_foreign_and_native_hints_keep_their_order() -> None:
    shapes = [shape(hint, "x") for hint in (Model, int, Annotated[str, pydantic.Field(max_length=3)], bool)]
    assert [isinstance(one, Native) for one in shapes] == [False, True, False, True]
    assert describe(shapes)[0] == [
        {"$ref": "#/$defs/Model"},
        {"type": "integer"},
        {"type": "string", "maxLength": 3},
        {"type": "boolean"},
    ]


def test_a_misfit_names_the_path() -> None:
    with pytest.raises(Misfit) as misfit:
        shape(list[Point], "x").read([{"x": 1}, {"x": ""}], "points")
    assert misfit.value.complaints == ("points[1].x: Expected int, got str",)


SCRIPT = """
import json
from tests.server.test_derived import many, root_of
print(json.dumps(root_of(many)))
"""


def test_every_process_derives_the_same_schema() -> None:
    outputs = {fresh.run(SCRIPT, PYTHONHASHSEED=str(seed)) for seed in range(3)}
    assert [json.loads(output) for output in outputs] == [root_of(many)]
