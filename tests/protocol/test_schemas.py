"""Walking a JSON Schema, and moving one into another."""

from typing import Any

import jsonschema_rs
import pytest

from mcpfleet.protocol import schemas


def paths(schema: Any) -> set[tuple[str, ...] | None]:
    return {path for path, node in schemas.walk(schema) if node.get("title") == "here"}


HERE = {"title": "here"}


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (HERE, ()),
        ({"properties": {"a": HERE}}, ("a",)),
        ({"properties": {"a": {"properties": {"b.c": HERE}}}}, ("a", "b.c")),
        ({"properties": {"properties": HERE}}, ("properties",)),
    ],
)
def test_a_schema_below_properties_alone_has_a_path(schema: Any, path: tuple[str, ...]) -> None:
    assert paths(schema) == {path}


@pytest.mark.parametrize(
    "schema",
    [
        {keyword: HERE}
        for keyword in (
            *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items"),
            *("not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
        )
    ]
    + [{keyword: [{}, HERE]} for keyword in ("allOf", "anyOf", "items", "oneOf", "prefixItems")]
    + [
        {keyword: {"a": HERE}}
        for keyword in ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties")
    ]
    + [{"items": {"properties": {"a": HERE}}}],
)
def test_a_schema_below_any_other_keyword_is_found_without_a_path(schema: Any) -> None:
    assert paths(schema) == {None}


@pytest.mark.parametrize(
    "schema",
    [{keyword: HERE} for keyword in ("default", "const", "examples", "enum", "$ref", "x-other", "allOf")]
    + [{"enum": [HERE]}, {"properties": [HERE]}, {"properties": {"a": True}}, {"items": True}, True, None, [HERE]],
)
def test_data_is_never_taken_for_a_schema(schema: Any) -> None:
    assert paths(schema) == set()


INNER: dict[str, Any] = {
    "$defs": {"n": {"type": "integer"}},
    "type": "array",
    "items": {"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#"}]},
    "default": {"$ref": "#/$defs/n"},
}


@pytest.mark.parametrize(
    ("value", "verdict"), [([1, [2, []]], True), ([1, [2, ["x"]]], False), ("x", False), ([[[[1]]]], True)]
)
def test_a_moved_schema_still_finds_its_own_parts(value: Any, verdict: bool) -> None:
    outer = {"properties": {"result": schemas.moved(INNER, "#/properties/result")}}
    assert jsonschema_rs.validator_for(outer, offline=True).is_valid({"result": value}) is verdict


def test_moving_a_schema_leaves_the_original_and_its_data_alone() -> None:
    moved = schemas.moved(INNER, "#/p")
    assert INNER["items"]["anyOf"][1] == {"$ref": "#"}
    assert moved["items"]["anyOf"] == [{"$ref": "#/p/$defs/n"}, {"$ref": "#/p"}]
    assert moved["default"] == {"$ref": "#/$defs/n"}


@pytest.mark.parametrize("reference", ["#anchor", "other.json", "https://example.com/a#/b", 1])
def test_a_reference_to_another_place_stays(reference: Any) -> None:
    assert schemas.moved({"$ref": reference}, "#/p") == {"$ref": reference}


def test_a_schema_that_is_a_document_of_its_own_keeps_its_references() -> None:
    inner = {"$id": "https://example.com/s", "$defs": {"n": {"$ref": "#"}}, "$ref": "#/$defs/n"}
    assert schemas.moved(inner, "#/p") == inner


def test_a_schema_that_is_no_more_than_true_is_moved_as_it_is() -> None:
    assert schemas.moved({"items": True, "$defs": {"a": False}}, "#/p") == {"items": True, "$defs": {"a": False}}
