"""The handshake, and what belongs to a session."""

import json
from typing import Any

import pytest

from mcpfleet.protocol import revisions
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import (
    Initialize,
    LegacyEnd,
    LegacyPost,
    LegacyStream,
    Limits,
    Rejected,
    classify,
    read_handshake,
    refuse_batch,
    refuse_meta,
)
from mcpfleet.protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNSUPPORTED_VERSION,
    Batch,
    ErrorObject,
    Failure,
    Malformed,
    Notification,
    Reply,
    Request,
)
from tests.protocol.inbound.posts import HELLO, LEGACY, META, MODERN, POST, headers, request, without

SESSION = {**POST, "Mcp-Session-Id": "s1"}
BATCHING = "2025-03-26"


def refused(given: Headers, body: bytes = b"", method: str = "POST") -> Rejected:
    rejected = classify(method, given, body)
    assert isinstance(rejected, Rejected)
    assert rejected.status == 400
    return rejected


@pytest.mark.parametrize("changes", [{}, {"MCP_Protocol_Version": LEGACY}, {"Mcp_Session_Id": "of another life"}])
@pytest.mark.parametrize("version", [LEGACY, MODERN, "2099-01-01", ""])
def test_initialize_without_any_modern_sign_is_the_handshake(changes: dict[str, str], version: str) -> None:
    """Versioning, "Backward Compatibility": an `initialize` request selects legacy semantics."""
    hello = {**HELLO, "protocolVersion": version, "capabilities": {"roots": {}}, "_meta": {"progressToken": 1}}
    accepted = classify("POST", headers(POST, **changes), request("initialize", "i", **hello))
    assert isinstance(accepted, Initialize)
    assert accepted.request == Request("i", "initialize", hello)
    assert accepted.requested == version
    assert accepted.client_info == {"name": "c", "version": "1"}
    assert accepted.client_capabilities == {"roots": {}}


@pytest.mark.parametrize(
    "hello",
    [
        without(HELLO, "protocolVersion"),
        without(HELLO, "capabilities"),
        without(HELLO, "clientInfo"),
        {**HELLO, "protocolVersion": 1},
        {**HELLO, "capabilities": []},
        {**HELLO, "clientInfo": "c"},
        {**HELLO, "capabilities": {"elicitation": True}},
    ],
)
def test_a_handshake_that_is_incomplete_is_refused(hello: dict[str, Any]) -> None:
    """Lifecycle, "Initialization": the client MUST send version, capabilities and information."""
    rejected = refused(headers(POST), request("initialize", 5, **hello))
    assert (rejected.code, rejected.id) == (INVALID_PARAMS, 5)


def test_a_transport_without_headers_reads_the_handshake_alone() -> None:
    request_ = Request(1, "initialize", dict(HELLO))
    assert read_handshake(request_) == Initialize(request_)
    assert isinstance(read_handshake(Request(1, "initialize")), Rejected)


@pytest.mark.parametrize("version", ["2099-01-01", ""])
def test_not_even_the_handshake_may_name_an_unknown_version_in_its_header(version: str) -> None:
    """Transports, "Protocol Version Header": an invalid or unsupported version MUST be 400."""
    rejected = refused(headers(POST, MCP_Protocol_Version=version), request("initialize", 5, **HELLO))
    assert (rejected.code, rejected.id) == (UNSUPPORTED_VERSION, 5)


MESSAGES = [
    ({"id": 1, "method": "tools/list"}, Request(1, "tools/list")),
    ({"method": "notifications/initialized"}, Notification("notifications/initialized")),
    ({"method": "initialize", "params": dict(HELLO)}, Notification("initialize", dict(HELLO))),
    ({"id": 1, "result": {}}, Reply(1, {})),
    ({"id": 1, "error": {"code": 1, "message": ""}}, Failure(1, ErrorObject(1, ""))),
]


@pytest.mark.parametrize(("members", "message"), MESSAGES)
@pytest.mark.parametrize("version", [None, LEGACY, "2024-11-05"])
def test_any_message_with_a_session_id_belongs_to_that_session(
    members: dict[str, Any], message: Any, version: str | None
) -> None:
    accepted = classify(
        "POST",
        headers(SESSION, Accept="text/event-stream", MCP_Protocol_Version=version),
        json.dumps({"jsonrpc": "2.0", **members}).encode(),
    )
    named = None if version is None else revisions.find(version)
    assert accepted == LegacyPost("s1", named, message, frozenset({"text/event-stream"}))


@pytest.mark.parametrize(("members", "message"), MESSAGES)
def test_any_message_without_a_session_id_is_told_to_begin_with_the_handshake(
    members: dict[str, Any], message: Any
) -> None:
    """Transports, "Session Management": SHOULD be 400."""
    rejected = refused(headers(POST), json.dumps({"jsonrpc": "2.0", **members}).encode())
    assert (rejected.code, rejected.data) == (INVALID_REQUEST, {"reason": "session_required"})
    assert rejected.id == (message.id if isinstance(message, Request) else None)


@pytest.mark.parametrize("session_id", ["", "a b", "\xe9", "a\x7f", "a\x00", "x" * 257])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_a_session_id_that_none_can_have_is_refused_as_malformed(method: str, session_id: str) -> None:
    """Transports, "Session Management": MUST only contain visible ASCII; 404 is kept for "no such session"."""
    rejected = refused(headers(SESSION, Mcp_Session_Id=session_id), request("ping"), method)
    assert (rejected.code, rejected.data) == (INVALID_REQUEST, {"reason": "session_malformed"})
    assert rejected.id == (1 if method == "POST" else None)


@pytest.mark.parametrize("session_id", ["!", "~", "x" * 256])
def test_any_visible_session_id_may_be_one(session_id: str) -> None:
    accepted = classify("GET", headers({}, Mcp_Session_Id=session_id), b"")
    assert isinstance(accepted, LegacyStream)
    assert accepted.session_id == session_id


def test_two_session_ids_are_none() -> None:
    lines = [(b"content-type", b"application/json"), (b"mcp-session-id", b"a"), (b"mcp-session-id", b"b")]
    assert refused(Headers(lines), request("ping")).data == {"reason": "session_malformed"}


def test_the_length_of_a_session_id_is_a_limit() -> None:
    limits = Limits(max_session_id=2)
    accepted = classify("POST", headers(SESSION), request("ping"), limits=limits)
    assert isinstance(accepted, LegacyPost)
    assert isinstance(
        classify("POST", headers(SESSION, Mcp_Session_Id="s12"), request("ping"), limits=limits), Rejected
    )


@pytest.mark.parametrize("last_event_id", [None, "", "7-0a"])
def test_a_get_opens_a_stream_of_its_session(last_event_id: str | None) -> None:
    given = headers(SESSION, Last_Event_ID=last_event_id, Content_Type=None)
    assert classify("GET", given, b"") == LegacyStream("s1", None, last_event_id)


def test_a_delete_ends_its_session_whatever_it_accepts() -> None:
    given = headers(SESSION, Accept="text/plain", MCP_Protocol_Version=LEGACY)
    assert classify("DELETE", given, b"") == LegacyEnd("s1", revisions.LATEST_LEGACY)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_stream_without_a_session_is_refused(method: str) -> None:
    assert refused(headers({}), method=method).data == {"reason": "session_required"}


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize("version", ["2099-01-01", "", f"{LEGACY}, {MODERN}"])
def test_an_unknown_version_in_the_header_is_refused(method: str, version: str) -> None:
    """Transports, "Protocol Version Header": an invalid or unsupported version MUST be 400."""
    rejected = refused(headers(SESSION, MCP_Protocol_Version=version), request("ping", "p"), method)
    assert rejected.code == UNSUPPORTED_VERSION
    assert rejected.data == {"supported": list(revisions.ALL_DATES), "requested": version}
    assert rejected.id == ("p" if method == "POST" else None)


def batch(*messages: Any) -> bytes:
    return json.dumps([{"jsonrpc": "2.0", **message} if message else message for message in messages]).encode()


TWO = batch({"id": 1, "method": "ping"}, {"method": "notifications/x"}, None)


@pytest.mark.parametrize("version", [None, BATCHING])
def test_a_batch_is_kept_where_the_session_may_have_them(version: str | None) -> None:
    """Transports of the revision with batches, "Sending Messages to the Server"."""
    accepted = classify("POST", headers(SESSION, MCP_Protocol_Version=version), TWO)
    assert isinstance(accepted, LegacyPost)
    assert isinstance(accepted.message, Batch)
    first, second, third = accepted.message.messages
    assert (first, second) == (Request(1, "ping"), Notification("notifications/x"))
    assert isinstance(third, Malformed)


@pytest.mark.parametrize("version", [revision.date for revision in revisions.REVISIONS if not revision.batches])
def test_a_batch_is_refused_at_once_if_the_header_names_a_revision_without_them(version: str) -> None:
    rejected = refused(headers(SESSION, MCP_Protocol_Version=version), TWO)
    assert (rejected.code, rejected.data) == (INVALID_REQUEST, {"reason": "batch"})


@pytest.mark.parametrize("revision", revisions.REVISIONS, ids=lambda revision: revision.date)
def test_a_batch_is_refused_once_the_session_tells_its_revision(revision: revisions.Revision) -> None:
    rejected = refuse_batch(revision)
    assert (rejected is None) is (revision.date == BATCHING)
    if rejected is not None:
        assert (rejected.status, rejected.code) == (400, INVALID_REQUEST)


@pytest.mark.parametrize("changes", [{}, {"Mcp_Session_Id": "s1"}, {"MCP_Protocol_Version": BATCHING}])
def test_a_batch_never_holds_the_handshake(changes: dict[str, str]) -> None:
    """Lifecycle of the revision with batches: `initialize` MUST NOT be part of a batch."""
    body = batch({"id": 1, "method": "ping"}, {"id": 2, "method": "initialize", "params": dict(HELLO)})
    rejected = refused(headers(POST, **changes), body)
    assert (rejected.code, rejected.data) == (INVALID_REQUEST, {"reason": "batch"})


def test_a_batch_without_a_session_is_refused() -> None:
    assert refused(headers(POST), TWO).data == {"reason": "session_required"}


@pytest.mark.parametrize("body", [b"[]", b"[" + b"1," * 100 + b"1]"])
@pytest.mark.parametrize("version", [None, BATCHING, LEGACY, MODERN])
def test_an_empty_or_oversized_batch_is_refused_everywhere(body: bytes, version: str | None) -> None:
    """JSON-RPC 2.0, "Batch": an empty array is an invalid request."""
    assert refused(headers(SESSION, MCP_Protocol_Version=version), body).code == INVALID_REQUEST


def test_a_request_with_modern_meta_is_not_of_its_session() -> None:
    """Versioning, "Backward Compatibility": modern `_meta` is served statelessly."""
    given = headers(SESSION, MCP_Protocol_Version=MODERN, Mcp_Method="tools/list")
    assert not isinstance(classify("POST", given, request("tools/list", _meta=dict(META))), LegacyPost)


@pytest.mark.parametrize("meta", [{}, {"progressToken": 0}, {"progressToken": ""}, {"progressToken": None}])
def test_meta_is_an_object_with_a_token_that_can_be_named_or_none(meta: dict[str, Any]) -> None:
    """Progress, "Progress Flow"."""
    assert refuse_meta(Request(1, "ping", {"_meta": meta})) is None


def test_a_request_needs_no_meta() -> None:
    assert refuse_meta(Request(1, "ping")) is None


@pytest.mark.parametrize("meta", [None, [], "", 1, {"progressToken": 1.5}, {"progressToken": True}])
def test_any_other_meta_is_refused_as_the_request_of_its_id(meta: Any) -> None:
    """Progress, "Progress Flow": a token is a string or an integer."""
    rejected = refuse_meta(Request("r", "ping", {"_meta": meta}))
    assert rejected is not None
    assert (rejected.status, rejected.code, rejected.id) == (400, INVALID_PARAMS, "r")
