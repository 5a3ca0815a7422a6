"""What is looked at before the era is known, and what holds for every request there is."""

import json
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import (
    Accepted,
    Initialize,
    LegacyPost,
    LegacyStream,
    Limits,
    ModernRequest,
    Rejected,
    StatelessPost,
    classify,
)
from mcpfleet.protocol.jsonrpc import HEADER_MISMATCH, INVALID_REQUEST, PARSE_ERROR
from mcpfleet.protocol.revisions import REVISIONS
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
    assert (
        refused("POST", headers(CALL), json.dumps(deep).encode(), limits=Limits(max_values=5)).code == INVALID_REQUEST
    )
    two = b'[{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","method":"m"}]'
    rejected = refused("POST", headers(POST, Mcp_Session_Id="s"), two, limits=Limits(max_batch=1))
    assert rejected.message == "a batch has more than 1 messages"


JSON_ONLY = Limits(json_only=True)
BOTH = frozenset({"application/json", "text/event-stream"})


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "application/json, text/event-stream"])
def test_where_only_json_is_served_nothing_else_is_offered(accept: str | None) -> None:
    modern = classify("POST", headers(CALL, Accept=accept), call(), limits=JSON_ONLY)
    legacy = classify("POST", headers(POST, Accept=accept, Mcp_Session_Id="s"), request("ping"), limits=JSON_ONLY)
    assert isinstance(modern, ModernRequest)
    assert isinstance(legacy, LegacyPost)
    assert modern.accepts == legacy.accepts == {"application/json"}


@pytest.mark.parametrize("base", [CALL, POST])
def test_where_only_json_is_served_a_client_that_takes_none_is_406(base: dict[str, str]) -> None:
    rejected = refused("POST", headers(base, Accept="text/event-stream"), call(), limits=JSON_ONLY)
    assert (rejected.status, rejected.data) == (406, {"reason": "accept"})


def test_where_only_json_is_served_what_is_nothing_but_a_stream_is_one() -> None:
    listening = headers(CALL, Mcp_Method="subscriptions/listen", Mcp_Name=None)
    asked = classify("POST", listening, request("subscriptions/listen", _meta=dict(META)), limits=JSON_ONLY)
    assert isinstance(asked, ModernRequest)
    assert asked.accepts == BOTH
    get = classify("GET", headers({"Accept": "text/event-stream"}, Mcp_Session_Id="s"), b"", limits=JSON_ONLY)
    assert isinstance(get, LegacyStream)


STATELESS = Limits(stateless=True)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_where_there_are_no_sessions_everything_is_posted(method: str) -> None:
    rejected = refused(method, headers(POST, Mcp_Session_Id="s"), limits=STATELESS)
    assert (rejected.status, rejected.headers) == (405, (("Allow", "POST"),))


@pytest.mark.parametrize("session", [None, "s", "\t"])
def test_where_there_are_no_sessions_none_is_asked_for(session: str | None) -> None:
    given = headers(POST, Mcp_Session_Id=session, MCP_Protocol_Version=LEGACY)
    asked = classify("POST", given, request("ping"), limits=STATELESS)
    assert isinstance(asked, StatelessPost)
    assert asked.revision.date == LEGACY


def test_where_there_are_no_sessions_a_revision_that_nobody_names_is_assumed() -> None:
    """Transports, "Protocol Version Header"."""
    asked = classify("POST", headers(POST), request("ping"), limits=STATELESS)
    assert isinstance(asked, StatelessPost)
    assert asked.revision.date == "2025-03-26"
    pinned = classify("POST", headers(POST), request("ping"), limits=Limits(stateless=True, assumed=REVISIONS[0]))
    assert isinstance(pinned, StatelessPost)
    assert pinned.revision is REVISIONS[0]


def test_where_there_are_no_sessions_the_handshake_says_so_and_modern_requests_are_as_ever() -> None:
    asked = classify("POST", headers(POST), request("initialize", **HELLO), limits=STATELESS)
    assert isinstance(asked, Initialize)
    assert asked.stateless
    assert isinstance(classify("POST", headers(CALL), call(), limits=STATELESS), ModernRequest)


def test_where_there_are_no_sessions_batches_are_as_ever() -> None:
    ping = b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]'
    assert isinstance(classify("POST", headers(POST), ping, limits=STATELESS), StatelessPost)
    assert refused("POST", headers(POST, MCP_Protocol_Version=LEGACY), ping, limits=STATELESS).code == INVALID_REQUEST


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
