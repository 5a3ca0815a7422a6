"""What is looked at before the era is known, and what holds for every request there is."""

import json
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import Accepted, Limits, ModernRequest, Rejected, classify
from mcpfleet.protocol.jsonrpc import HEADER_MISMATCH, INVALID_REQUEST, PARSE_ERROR
from tests.protocol.inbound.posts import CALL, HELLO, LEGACY, META, MODERN, POST, VERSION_KEY, call, headers, request


def refused(method: str, given: Headers, body: bytes = b"", **options: Any) -> Rejected:
    rejected = classify(method, given, body, **options)
    assert isinstance(rejected, Rejected)
    return rejected


@pytest.mark.parametrize(
    "content_type", [None, "", "text/plain", "application/jsonl", "application/x-www-form-urlencoded"]
)
@pytest.mark.parametrize("base", [CALL, POST])
def test_a_body_of_another_media_type_is_415(base: dict[str, str], content_type: str | None) -> None:
    rejected = refused("POST", headers(base, Content_Type=content_type), call())
    assert (rejected.status, rejected.code, rejected.data) == (415, INVALID_REQUEST, {"reason": "content_type"})


def test_two_media_types_are_none() -> None:
    lines = [(b"content-type", b"application/json"), (b"content-type", b"text/plain")]
    assert refused("POST", Headers(lines)).status == 415


@pytest.mark.parametrize(
    ("method", "accept"), [("POST", "text/plain"), ("GET", "text/plain"), ("GET", "application/json")]
)
@pytest.mark.parametrize("session", [None, "s1"])
def test_a_client_that_takes_nothing_we_have_is_406(method: str, accept: str, session: str | None) -> None:
    rejected = refused(method, headers(POST, Accept=accept, Mcp_Session_Id=session), request("ping"))
    assert (rejected.status, rejected.code, rejected.data) == (406, INVALID_REQUEST, {"reason": "accept"})


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/event-stream", "text/*, image/png"])
def test_a_client_that_takes_any_of_what_we_have_is_served(accept: str | None) -> None:
    assert isinstance(classify("POST", headers(CALL, Accept=accept), call()), ModernRequest)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "PATCH", "TRACE", "post", ""])
def test_another_method_is_405_and_told_the_allowed_ones(method: str) -> None:
    rejected = refused(method, headers(CALL), call())
    assert (rejected.status, rejected.headers) == (405, (("Allow", "GET, POST, DELETE"),))


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_modern_client_has_no_streams_and_no_sessions(method: str) -> None:
    """Streamable HTTP, "Earlier Streamable HTTP Revisions": 405."""
    rejected = refused(method, headers(CALL, Mcp_Session_Id="s1"))
    assert (rejected.status, rejected.headers) == (405, (("Allow", "POST"),))


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_two_versions_at_once_are_refused_before_the_era_is_chosen(method: str) -> None:
    lines = [
        *((name.encode(), value.encode()) for name, value in CALL.items()),
        (b"mcp-protocol-version", LEGACY.encode()),
    ]
    rejected = refused(method, Headers(lines), call())
    assert (rejected.status, rejected.code, rejected.id) == (400, HEADER_MISMATCH, None)


@pytest.mark.parametrize("base", [CALL, {**POST, "Mcp-Session-Id": "s1"}])
@pytest.mark.parametrize(
    ("body", "code", "request_id"),
    [
        (b"", PARSE_ERROR, None),
        (b"{", PARSE_ERROR, None),
        (b"\xff", PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}', PARSE_ERROR, None),
        (b"1", INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":"a"}', INVALID_REQUEST, "a"),
        (b"[" * 65 + b"]" * 65, INVALID_REQUEST, None),
    ],
)
def test_a_body_that_is_no_message_is_400_in_either_era(
    base: dict[str, str], body: bytes, code: int, request_id: str | None
) -> None:
    rejected = refused("POST", headers(base), body)
    assert (rejected.status, rejected.code, rejected.id) == (400, code, request_id)


def test_limits_are_the_operators() -> None:
    deep = {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": {"b": {}}}}
    assert refused("POST", headers(CALL), json.dumps(deep).encode(), limits=Limits(max_depth=3)).code == INVALID_REQUEST
    two = b'[{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","method":"m"}]'
    rejected = refused("POST", headers(POST, Mcp_Session_Id="s"), two, limits=Limits(max_batch=1))
    assert rejected.message == "a batch has more than 1 messages"


names = st.sampled_from([*CALL, "Mcp-Session-Id", "Last-Event-ID", "Mcp-Param-X", "Host"]) | st.text()
header_values = (
    st.sampled_from([*CALL.values(), LEGACY, "2099-01-01", "s1", "*/*", "", "=?base64?ZWNobw==?=", "=?base64?!?="])
    | st.text()
)
lines = st.lists(st.tuples(names.map(str.encode), header_values.map(str.encode) | st.binary()), max_size=8) | st.just(
    [(name.encode(), value.encode()) for name, value in CALL.items()]
)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(MODERN)
json_values = st.recursive(
    scalars,
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(st.sampled_from([*META, "name", "_meta", "progressToken", "x"]), parts, max_size=4)
    ),
    max_leaves=10,
)
messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={
        "id": st.integers() | st.text() | json_values,
        "method": st.sampled_from(["tools/call", "initialize", "ping", "notifications/x"]) | json_values,
        "params": st.just({"name": "echo", "_meta": dict(META)})
        | st.just(dict(HELLO))
        | st.fixed_dictionaries({"_meta": json_values, "name": json_values})
        | json_values,
        "result": json_values,
        "error": json_values,
    },
)
bodies = st.binary() | (messages | st.lists(messages | json_values, max_size=3)).map(
    lambda value: json.dumps(value).encode()
)


@given(st.sampled_from(["POST", "GET", "DELETE", "HEAD"]), lines, bodies)
@example("POST", [(name.encode(), value.encode()) for name, value in CALL.items()], call())
@example("POST", [(b"content-type", b"application/json")], request("ping", _meta={VERSION_KEY: []}))
def test_every_request_there_is_gets_sorted_or_a_clear_refusal(
    method: str, given_lines: list[tuple[bytes, bytes]], body: bytes
) -> None:
    sorted_ = classify(method, Headers(given_lines), body)
    if not isinstance(sorted_, Rejected):
        assert isinstance(sorted_, get_args(Accepted))
        return
    answer = json.loads(sorted_.body())
    assert sorted_.status in {400, 405, 406, 415}
    assert answer["error"]["code"] == sorted_.code
    assert answer["error"]["message"]
    assert "id" not in answer or answer["id"] == json.loads(body)["id"]
