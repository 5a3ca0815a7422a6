import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpfleet.errors import RegistrationError
from mcpfleet.server.schema import DIALECT, MAX_COMPLAINT, MAX_COMPLAINTS, Schema, path_text


def nested(levels: int) -> dict[str, Any]:
    """A schema of that many nested objects."""
    document: dict[str, Any] = {}
    for _ in range(levels - 1):
        document = {"not": document}
    return document


@pytest.fixture
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """A server that hears whoever fetches its URL."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                heard.append(connection.recv(1000))
                connection.close()

        thread = threading.Thread(target=listen)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/schema", heard
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


REFUSED: dict[str, tuple[Any, str]] = {
    "not an object": (["type"], "must be a JSON object, not list"),
    "null": (None, "must be a JSON object, not NoneType"),
    "true": (True, "must be a JSON object, not bool"),
    "an unknown type": ({"type": "objekt"}, "is no valid JSON Schema: type:"),
    "a wrong keyword value, deep": ({"properties": {"a": {"minimum": "1"}}}, "properties.a.minimum"),
    "a broken pattern": ({"pattern": "("}, "pattern"),
    "a number that is not finite": ({"maximum": float("inf")}, "is not JSON"),
    "what JSON cannot carry": ({"const": object()}, "is not JSON"),
    "draft 7": (
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        "declares the dialect 'http://json-schema.org/draft-07",
    ),
    "an unknown dialect below the root": ({"$defs": {"a": {"$id": "x", "$schema": "urn:x"}}}, "dialect 'urn:x'"),
    "a dialect that is no string": ({"$schema": 7}, "declares the dialect 7"),
    "a remote reference": (
        {"$ref": "http://127.0.0.1:1/x"},
        "$ref 'http://127.0.0.1:1/x'; it must stay in the document",
    ),
    "a reference to a file": ({"items": {"$ref": "file:///etc/hosts"}}, "it must stay in the document"),
    "a relative reference": ({"anyOf": [{"$ref": "other.json"}]}, "it must stay in the document"),
    "a remote dynamic reference": ({"$dynamicRef": "http://127.0.0.1:1/x"}, "$dynamicRef"),
    "a reference that is no string": ({"$ref": 1}, "$ref 1"),
    "a reference to nothing": ({"$ref": "#/$defs/absent"}, "/$defs/absent"),
    "too many levels": (nested(65), "nests deeper than 64 levels"),
    "far too many levels": (nested(900), "nests deeper than 64 levels"),
    "too many subschemas": ({"anyOf": [{} for _ in range(10_000)]}, "holds more than 10000 subschemas"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_schema_that_cannot_be_served_is_refused_by_name(case: str) -> None:
    document, words = REFUSED[case]
    with pytest.raises(RegistrationError) as refused:
        Schema(document, "tool 'x': input_schema")
    assert str(refused.value).startswith("tool 'x': input_schema ")
    assert words in str(refused.value)


SERVED: dict[str, Any] = {
    "empty": {},
    "the dialect by name": {"$schema": DIALECT},
    "the dialect with an empty fragment": {"$schema": DIALECT + "#"},
    "a recursion": {"properties": {"next": {"$ref": "#"}}},
    "an anchor": {"$ref": "#here", "$defs": {"a": {"$anchor": "here"}}},
    "the most levels": nested(64),
    "the most subschemas": {"anyOf": [{} for _ in range(9_999)]},
    "a property called $ref": {"properties": {"$ref": {"type": "string"}, "$schema": {"type": "string"}}},
    "data that looks like a reference": {"const": {"$ref": "http://127.0.0.1:1/x"}, "default": {"$schema": "urn:x"}},
    "an integer beyond 64 bits": {"maximum": 2**70},
}


@pytest.mark.parametrize("case", SERVED)
def test_a_sound_schema_is_served_as_it_is(case: str) -> None:
    assert Schema(SERVED[case], "x").document == SERVED[case]


def test_a_cycle_is_refused() -> None:
    document: dict[str, Any] = {}
    document["not"] = document
    with pytest.raises(RegistrationError, match="is not JSON"):
        Schema(document, "x")


def test_later_changes_to_the_given_document_do_not_reach_the_schema() -> None:
    given: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    schema = Schema(given, "x")
    given["properties"]["a"]["type"] = "string"
    assert schema.document["properties"]["a"] == {"type": "integer"}
    assert schema.accepts({"a": 1})


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$schema", "$id"])
def test_nothing_is_fetched_whatever_a_schema_names(keyword: str, listener: tuple[str, list[bytes]]) -> None:
    url, heard = listener
    for document in ({keyword: url}, {"properties": {"a": {keyword: url}}}, {"$defs": {"a": {keyword: url}}}):
        try:
            Schema(document, "x").accepts({"a": 1})
        except RegistrationError:
            continue
    assert heard == []


VALUES: list[tuple[Any, Any, bool]] = [
    ({"type": "integer"}, 1.0, True),
    ({"type": "integer"}, 1.5, False),
    ({"type": "integer"}, True, False),
    ({"type": "integer"}, "1", False),
    ({"type": "integer", "minimum": 2**63}, 2**63, True),
    ({"type": "integer", "minimum": 2**63}, 2**63 - 1, False),
    ({"const": 2**53 + 1}, 2**53 + 1, True),
    ({"const": 2**53 + 1}, 2**53, False),
    ({"type": "string", "format": "date-time"}, "not a time", True),
    ({"pattern": "^(a+)+$"}, "a" * 60 + "!", False),
    ({"prefixItems": [{"type": "integer"}], "items": False}, [1, 2], False),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, False),
    ({"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}, {"b": 1}, False),
    ({"contains": {"const": 1}, "minContains": 2}, [1, 2], False),
    ({"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n", "minimum": 2}, 1, False),
]


@pytest.mark.parametrize(("document", "value", "valid"), VALUES)
def test_values_are_judged_as_json(document: dict[str, Any], value: Any, valid: bool) -> None:
    assert Schema(document, "x").accepts(value) is valid


WORDS = ["", "#", "#/$defs/a", "a", "object", "integer", "(", "\\d+$", "urn:x", "::", "%", "#a", "#%zz", DIALECT]
KEYWORDS = ["$id", "$anchor", "$ref", "$dynamicRef", "$schema", "$vocabulary", "$defs", "type", "enum", "properties"]
KEYWORDS += ["items", "prefixItems", "contains", "anyOf", "not", "if", "minimum", "multipleOf", "pattern", "required"]
KEYWORDS += ["dependentSchemas", "unevaluatedProperties", "maxLength", "default", "x"]
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(document=st.dictionaries(st.sampled_from(KEYWORDS), DOCUMENTS, max_size=5), value=DOCUMENTS)
def test_any_document_is_either_refused_or_judges_any_value(document: dict[str, Any], value: Any) -> None:
    try:
        schema = Schema(document, "x")
    except RegistrationError:
        return
    assert schema.accepts(value) is not bool(schema.complaints(value))


def test_complaints_name_the_field() -> None:
    document = {
        "type": "object",
        "properties": {"days": {"type": "array", "items": {"properties": {"n": {"type": "integer"}}}}},
        "required": ["city"],
    }
    assert sorted(Schema(document, "x").complaints({"days": [{}, {"n": "1"}]})) == [
        "city: required, but missing",
        'days[1].n: "1" is not of type "integer"',
    ]
    assert Schema({"type": "integer"}, "x").complaints("1", "root") == ['root: "1" is not of type "integer"']


def test_complaints_are_bounded_in_number_and_length() -> None:
    schema = Schema({"items": {"type": "integer"}}, "x")
    complaints = schema.complaints(["x" * 10_000] * 100)
    assert len(complaints) == MAX_COMPLAINTS
    assert all(len(complaint) == MAX_COMPLAINT for complaint in complaints)
    assert schema.complaints([1]) == []


@pytest.mark.parametrize(
    ("path", "text"), [((), ""), (("a",), "a"), ((0,), "[0]"), (("a", 0, "b"), "a[0].b"), ((0, "a"), "[0].a")]
)
def test_a_path_reads_as_people_write_it(path: tuple[str | int, ...], text: str) -> None:
    assert path_text(path) == text
