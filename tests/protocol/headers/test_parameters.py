"""Parameters that are mirrored into headers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol.headers import NO_HEADERS, Headers, Mirrored, mismatch, param_headers, parameter_map


def marked(name: Any, **schema: Any) -> dict[str, Any]:
    return {"x-mcp-header": name, **schema}


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": marked("Region", type="string"),
        "limit": marked("Limit", type="integer"),
        "dry": marked("Dry", type="boolean"),
        "deep": {"type": "object", "properties": {"er": marked("Deeper", type="string")}},
        "plain": {"type": "string"},
    },
}
MAP = parameter_map(SCHEMA)


def test_annotated_parameters_are_found_at_any_depth_of_properties() -> None:
    assert {(mirrored.path, mirrored.header, mirrored.type) for mirrored in MAP} == {
        (("region",), "Mcp-Param-Region", "string"),
        (("limit",), "Mcp-Param-Limit", "integer"),
        (("dry",), "Mcp-Param-Dry", "boolean"),
        (("deep", "er"), "Mcp-Param-Deeper", "string"),
    }


def test_a_schema_without_annotations_mirrors_nothing() -> None:
    assert parameter_map({"type": "object", "default": marked("X")}) == ()


@pytest.mark.parametrize("name", ["", "a b", "a:b", "é", "a\n", "\x7f", "(a)", None, 1, ["A"]])
def test_a_name_that_is_no_field_name_is_refused(name: Any) -> None:
    """Streamable HTTP, "Schema Extension": MUST match `1*tchar`."""
    with pytest.raises(RegistrationError, match="is not an HTTP field name"):
        parameter_map({"properties": {"p": marked(name, type="string")}})


@pytest.mark.parametrize("type_", ["number", "object", "array", "null", None, ["string", "null"], ["string"], True])
def test_a_parameter_that_is_not_primitive_is_refused(type_: Any) -> None:
    """Streamable HTTP, "Schema Extension": MUST only be applied to primitive types, `number` not permitted."""
    with pytest.raises(RegistrationError, match="needs type string, integer or boolean"):
        parameter_map({"properties": {"p": marked("P", type=type_)}})


@pytest.mark.parametrize("other", ["Region", "REGION", "region"])
def test_a_name_used_twice_is_refused_whatever_its_case(other: str) -> None:
    """Streamable HTTP, "Schema Extension": MUST be case-insensitively unique."""
    schema = {"properties": {**SCHEMA["properties"], "zone": marked(other, type="string")}}
    with pytest.raises(RegistrationError, match="is used for both"):
        parameter_map(schema)


@pytest.mark.parametrize(
    "schema",
    [
        marked("A", type="string"),
        {"items": {"properties": {"a": marked("A", type="string")}}},
        {"anyOf": [{"properties": {"a": marked("A", type="string")}}]},
        {"$defs": {"a": marked("A", type="string")}},
        {"properties": {"a": {"items": marked("A", type="string")}}},
        {"properties": {"a": {"anyOf": [marked("A", type="string"), {"type": "null"}]}}},
        {"if": {"properties": {"a": marked("A", type="string")}}},
        {"patternProperties": {"a": marked("A", type="string")}},
    ],
)
def test_an_annotation_that_more_than_properties_lead_to_is_refused(schema: dict[str, Any]) -> None:
    """Streamable HTTP, "Schema Extension": MUST only be applied to statically reachable properties."""
    with pytest.raises(RegistrationError, match="not only `properties` lead"):
        parameter_map(schema)


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({}, {}),
        ({"region": None, "deep": None, "plain": "x"}, {}),
        ({"region": "us-west1"}, {"Mcp-Param-Region": "us-west1"}),
        ({"region": ""}, {"Mcp-Param-Region": ""}),
        ({"region": "日本"}, {"Mcp-Param-Region": "=?base64?5pel5pys?="}),
        ({"limit": 42, "dry": False}, {"Mcp-Param-Limit": "42", "Mcp-Param-Dry": "false"}),
        ({"limit": -7.0, "dry": True}, {"Mcp-Param-Limit": "-7", "Mcp-Param-Dry": "true"}),
        ({"limit": 1.5, "region": ["a"], "dry": {}}, {}),
        ({"deep": {"er": "x"}}, {"Mcp-Param-Deeper": "x"}),
        ({"deep": "er"}, {}),
    ],
)
def test_a_client_mirrors_the_values_that_are_there(arguments: dict[str, Any], headers: dict[str, str]) -> None:
    """Streamable HTTP, "Client Behavior"; a conforming server then finds nothing to say."""
    assert param_headers(MAP, arguments) == headers
    assert mismatch(MAP, arguments, Headers.of(headers)) is None


scalars = st.none() | st.text() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1)
given_arguments = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("region", "limit", "dry"), scalars) | {"deep": st.fixed_dictionaries({"er": scalars})},
)


@given(given_arguments)
def test_what_a_client_mirrors_a_server_accepts(arguments: dict[str, Any]) -> None:
    assert mismatch(MAP, arguments, Headers.of(param_headers(MAP, arguments))) is None


@given(given_arguments, given_arguments)
def test_a_server_refuses_what_another_call_would_mirror(arguments: dict[str, Any], others: dict[str, Any]) -> None:
    mirrored, claimed = param_headers(MAP, arguments), param_headers(MAP, others)
    assert (mismatch(MAP, arguments, Headers.of(claimed)) is None) is (mirrored == claimed)


@pytest.mark.parametrize(
    ("arguments", "lines", "words"),
    [
        ({"region": "a"}, [], "is missing"),
        ({"region": "a"}, [(b"mcp-param-region", b"b")], "does not match the body"),
        ({"region": "a"}, [(b"mcp-param-region", b"A")], "does not match the body"),
        ({"region": "a"}, [(b"mcp-param-region", b"a"), (b"mcp-param-region", b"a")], "more than once"),
        ({"region": "a"}, [(b"mcp-param-region", b"caf\xe9")], "not a valid header value"),
        ({"region": "Hello"}, [(b"mcp-param-region", b"=?base64?SGVsbG8?=")], "not a valid header value"),
        ({}, [(b"mcp-param-region", b"a")], "the body has no value"),
        ({"region": None}, [(b"mcp-param-region", b"")], "the body has no value"),
        ({"region": ["a"]}, [(b"mcp-param-region", b"a")], "the body has no value"),
        ({"deep": {"er": "a"}}, [(b"mcp-param-deeper", b"b")], "deep.er"),
        ({"limit": 42}, [(b"mcp-param-limit", b"43")], "does not match the body"),
        ({"limit": 42}, [(b"mcp-param-limit", b"42.5")], "does not match the body"),
        ({"limit": 42}, [(b"mcp-param-limit", b"4.2e1")], "does not match the body"),
        ({"limit": 42}, [(b"mcp-param-limit", b"0x2a")], "does not match the body"),
        ({"limit": 42}, [(b"mcp-param-limit", b"")], "does not match the body"),
        ({"limit": 42}, [(b"mcp-param-limit", b"9" * 5000)], "does not match the body"),
        ({"limit": "42"}, [(b"mcp-param-limit", b"42.0")], "does not match the body"),
        ({"region": 42}, [(b"mcp-param-region", b"42.0")], "does not match the body"),
        ({"limit": True}, [(b"mcp-param-limit", b"1")], "does not match the body"),
        ({"limit": 2**53}, [(b"mcp-param-limit", b"9007199254740992")], "beyond the safe range"),
        ({"limit": 2**53}, [], "beyond the safe range"),
        ({"dry": True}, [(b"mcp-param-dry", b"True")], "does not match the body"),
        ({"dry": True}, [(b"mcp-param-dry", b"1")], "does not match the body"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_header_at_odds_with_the_body_is_named(
    arguments: dict[str, Any], lines: list[tuple[bytes, bytes]], words: str
) -> None:
    """Streamable HTTP, "Server Behavior for Custom Headers"."""
    reason = mismatch(MAP, arguments, Headers(lines))
    assert reason is not None
    assert words in reason


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"limit": 42}, b"42.0"),
        ({"limit": 42.0}, b"42"),
        ({"limit": 42.0}, b"42.00"),
        ({"limit": -1}, b"-1.0"),
        ({"limit": 0}, b"-0"),
        ({"limit": 2**53 - 1}, b"9007199254740991"),
        ({"limit": 42}, b"=?base64?NDI=?="),
    ],
)
def test_integers_are_compared_as_numbers(arguments: dict[str, Any], value: bytes) -> None:
    """Streamable HTTP, "Server Validation": SHOULD compare numerically."""
    assert mismatch(MAP, arguments, Headers([(b"mcp-param-limit", value)])) is None


@pytest.mark.parametrize(
    ("argument", "value", "agree"),
    [
        ("Hello", "=?base64?SGVsbG8=?=", True),
        ("SGVsbG8=", "SGVsbG8=", True),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8=", True),
        ("Hello", "=?base64?SGVs!!!bG8=?=", False),
        ("Hello", "Hello", True),
    ],
)
def test_an_encoded_header_is_decoded_before_it_is_compared(argument: str, value: str, agree: bool) -> None:
    """Streamable HTTP, "Value Encoding": servers MUST decode an encoded value before comparing it."""
    headers = Headers.of({"Mcp-Param-Region": value})
    assert (mismatch(MAP, {"region": argument}, headers) is None) is agree


@pytest.mark.parametrize("number", [2**53, -(2**53), 1e300])
def test_a_client_refuses_an_integer_that_javascript_would_round(number: float) -> None:
    """Streamable HTTP, "Schema Extension": MUST be within the safe range."""
    with pytest.raises(ValueError, match="beyond the safe range"):
        param_headers([Mirrored(("limit",), "Mcp-Param-Limit", "integer")], {"limit": number})


def test_where_there_are_no_headers_none_is_missed() -> None:
    """On stdio, arguments are only in the body."""
    assert mismatch(MAP, {"region": "eu", "limit": 2**60}, NO_HEADERS) is None
