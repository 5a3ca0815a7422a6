"""The modern ladder, rung by rung, in the order in which a client is told what is wrong."""

import json
from typing import Any

import pytest

from mcpfleet.protocol import revisions
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import ModernNotification, ModernRequest, Rejected, classify
from mcpfleet.protocol.jsonrpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNSUPPORTED_VERSION,
    Notification,
    Request,
)
from tests.protocol.inbound.posts import (
    CALL,
    CAPABILITIES_KEY,
    INFO_KEY,
    LEGACY,
    LEVEL_KEY,
    META,
    MODERN,
    VERSION_KEY,
    call,
    headers,
    notification,
    request,
    without,
)


def refused(given: Headers, body: bytes) -> Rejected:
    rejected = classify("POST", given, body)
    assert isinstance(rejected, Rejected)
    assert rejected.status == 400
    return rejected


def test_a_request_that_says_all_about_its_sender_is_accepted() -> None:
    meta = {**META, LEVEL_KEY: "info", "progressToken": 0, CAPABILITIES_KEY: {"elicitation": {}, "acme": 1}}
    accepted = classify("POST", headers(CALL, Accept="application/json"), call(meta))
    assert accepted == ModernRequest(
        revision=revisions.LATEST,
        request=Request(1, "tools/call", {"name": "echo", "arguments": {}, "_meta": meta}),
        client_info={"name": "c", "version": "1"},
        client_capabilities={"elicitation": {}, "acme": 1},
        log_level="info",
        progress_token=0,
        accepts=frozenset({"application/json"}),
    )


@pytest.mark.parametrize("unknown", ["initialize", "ping", "logging/setLevel", "acme/x"])
def test_whether_a_method_exists_is_not_asked_at_the_door(unknown: str) -> None:
    accepted = classify("POST", headers(CALL, Mcp_Method=unknown), request(unknown, _meta=META))
    assert isinstance(accepted, ModernRequest)


def test_the_client_need_not_say_who_it_is() -> None:
    """Overview, "_meta": `clientInfo` is not required."""
    accepted = classify("POST", headers(CALL), call(without(META, INFO_KEY)))
    assert isinstance(accepted, ModernRequest)
    assert accepted.client_info is None
    assert (accepted.log_level, accepted.progress_token) == (None, None)


@pytest.mark.parametrize(
    "meta",
    [
        {},
        None,
        [],
        "x",
        without(META, VERSION_KEY),
        without(META, CAPABILITIES_KEY),
        {**META, VERSION_KEY: None},
        {**META, VERSION_KEY: 20260728},
        {**META, CAPABILITIES_KEY: None},
        {**META, CAPABILITIES_KEY: []},
    ],
)
def test_a_request_that_leaves_out_what_is_required_is_refused(meta: Any) -> None:
    """Overview, "_meta": MUST be rejected with -32602, and over HTTP with 400."""
    rejected = refused(headers(CALL), call(meta))
    assert (rejected.code, rejected.id) == (INVALID_PARAMS, 1)


@pytest.mark.parametrize("method", ["server/discover", "initialize", "tools/list"])
def test_a_request_without_any_meta_is_modern_by_its_header_alone(method: str) -> None:
    rejected = refused(headers(CALL, Mcp_Method=method), request(method, "x"))
    assert (rejected.code, rejected.id) == (INVALID_PARAMS, "x")


@pytest.mark.parametrize(
    "changes",
    [
        {"MCP_Protocol_Version": None},
        {"MCP_Protocol_Version": LEGACY},
        {"MCP_Protocol_Version": "v999.0.0"},
        {"MCP_Protocol_Version": ""},
        {"Mcp_Method": None},
        {"Mcp_Method": "tools/list"},
        {"Mcp_Method": "TOOLS/CALL"},
        {"Mcp_Method": ""},
        {"Mcp_Name": None},
        {"Mcp_Name": "other"},
        {"Mcp_Name": "ECHO"},
        {"Mcp_Name": ""},
        {"Mcp_Name": "=?base64?ZWNobw?="},
        {"Mcp_Name": "\xe9cho"},
    ],
)
def test_a_header_that_is_missing_or_at_odds_with_the_body_is_a_mismatch(changes: dict[str, str | None]) -> None:
    """Streamable HTTP, "Server Validation": MUST be 400 with -32020."""
    rejected = refused(headers(CALL, **changes), call())
    assert (rejected.code, rejected.id) == (HEADER_MISMATCH, 1)


@pytest.mark.parametrize("name", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
@pytest.mark.parametrize("order", [1, -1])
def test_a_routing_header_given_twice_with_different_values_is_a_mismatch(name: str, order: int) -> None:
    pair = [(name.encode(), CALL[name].encode()), (name.encode(), b"other")][::order]
    rest = [(other.encode(), value.encode()) for other, value in CALL.items() if other != name]
    assert refused(Headers(rest + pair), call()).code == HEADER_MISMATCH


@pytest.mark.parametrize("name", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
def test_a_routing_header_given_twice_with_one_value_is_that_value(name: str) -> None:
    lines = [(other.encode(), value.encode()) for other, value in [*CALL.items(), (name, CALL[name])]]
    assert isinstance(classify("POST", Headers(lines), call()), ModernRequest)


@pytest.mark.parametrize(
    ("changes", "params"),
    [
        ({"Mcp_Name": "  echo\t"}, {}),
        ({"Mcp_Name": "=?base64?ZWNobw==?="}, {}),
        ({"Mcp_Name": "=?base64?5pel5pys?="}, {"name": "日本"}),
        ({"Mcp_Name": None}, {"name": None}),
        ({"Mcp_Name": None}, {"name": 7}),
    ],
)
def test_a_name_is_compared_after_decoding(changes: dict[str, str | None], params: dict[str, Any]) -> None:
    """Streamable HTTP, "Server Validation": encoded values MUST be decoded before comparing; a name that the body
    does not have is for the method to miss."""
    assert isinstance(classify("POST", headers(CALL, **changes), call(**params)), ModernRequest)


@pytest.mark.parametrize("name", ["echo", "", "=?base64?!!?="])
def test_a_name_for_a_body_that_has_none_is_a_mismatch(name: str) -> None:
    assert refused(headers(CALL, Mcp_Name=name), call(name=None)).code == HEADER_MISMATCH


@pytest.mark.parametrize(
    ("method", "key"),
    [
        ("tools/call", "name"),
        ("prompts/get", "name"),
        ("resources/read", "uri"),
        ("tasks/get", "taskId"),
        ("tasks/update", "taskId"),
        ("tasks/cancel", "taskId"),
    ],
)
def test_each_named_method_mirrors_its_own_parameter(method: str, key: str) -> None:
    """Streamable HTTP, "Standard Request Headers"."""
    body = request(method, **{"_meta": META, key: "file:///a b"})
    assert isinstance(classify("POST", headers(CALL, Mcp_Method=method, Mcp_Name="file:///a b"), body), ModernRequest)
    assert refused(headers(CALL, Mcp_Method=method, Mcp_Name="file:///a%20b"), body).code == HEADER_MISMATCH


@pytest.mark.parametrize("name", [None, "anything"])
def test_a_method_without_a_name_needs_no_name(name: str | None) -> None:
    given = headers(CALL, Mcp_Method="tools/list", Mcp_Name=name)
    assert isinstance(classify("POST", given, request("tools/list", _meta=META)), ModernRequest)


@pytest.mark.parametrize("version", ["v999.0.0", "2099-01-01", "1900-01-01", ""])
def test_an_unknown_version_is_told_what_is_spoken_here(version: str) -> None:
    """Versioning, "Protocol Version Negotiation": MUST list the supported versions, with 400."""
    rejected = refused(headers(CALL, MCP_Protocol_Version=version), call({**META, VERSION_KEY: version}))
    assert (rejected.code, rejected.id) == (UNSUPPORTED_VERSION, 1)
    assert rejected.data == {"supported": list(revisions.ALL_DATES), "requested": version}


def test_a_legacy_version_is_not_spoken_request_by_request() -> None:
    rejected = refused(headers(CALL, MCP_Protocol_Version=LEGACY), call({**META, VERSION_KEY: LEGACY}))
    assert rejected.code == UNSUPPORTED_VERSION
    assert rejected.data == {"supported": list(revisions.MODERN_DATES), "requested": LEGACY}


def test_a_version_at_odds_with_itself_is_a_mismatch_before_it_is_unsupported() -> None:
    rejected = refused(headers(CALL), call({**META, VERSION_KEY: "v999.0.0"}))
    assert rejected.code == HEADER_MISMATCH


def test_an_unsupported_version_is_told_before_this_revisions_header_rules() -> None:
    given = headers(CALL, MCP_Protocol_Version="2099-01-01", Mcp_Method=None, Mcp_Name=None)
    assert refused(given, call({**META, VERSION_KEY: "2099-01-01"})).code == UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    "changes",
    [
        {LEVEL_KEY: "loud"},
        {LEVEL_KEY: 3},
        {LEVEL_KEY: ["info"]},
        {INFO_KEY: "client"},
        {"progressToken": 1.5},
        {"progressToken": True},
        {"progressToken": {}},
        {CAPABILITIES_KEY: {"sampling": True}},
        {CAPABILITIES_KEY: {"extensions": []}},
    ],
)
def test_what_a_request_may_carry_has_the_right_type_if_it_does(changes: dict[str, Any]) -> None:
    """Logging, "Error Handling"; Progress, "Progress Flow"."""
    rejected = refused(headers(CALL), call({**META, **changes}))
    assert (rejected.code, rejected.id) == (INVALID_PARAMS, 1)


@pytest.mark.parametrize("token", ["", "a", 0, -1, 2**70])
def test_a_progress_token_may_be_any_string_or_integer(token: Any) -> None:
    accepted = classify("POST", headers(CALL), call({**META, "progressToken": token}))
    assert isinstance(accepted, ModernRequest)
    assert accepted.progress_token == token


@pytest.mark.parametrize(
    ("meta", "changes"),
    [
        ({}, {}),
        ({VERSION_KEY: MODERN}, {}),
        ({VERSION_KEY: MODERN}, {"MCP_Protocol_Version": None}),
        ({}, {"Mcp_Method": None, "Mcp_Name": None}),
    ],
)
def test_a_notification_needs_no_more_than_its_version(meta: dict[str, Any], changes: dict[str, str | None]) -> None:
    """Streamable HTTP, "Sending Messages": headers of notifications are not defined by this revision."""
    given = headers({**CALL, "Mcp-Method": "notifications/x"}, **changes)
    assert classify("POST", given, notification("notifications/x", _meta=meta)) == ModernNotification(
        revisions.LATEST, Notification("notifications/x", {"_meta": meta})
    )


@pytest.mark.parametrize(
    ("meta", "changes", "code"),
    [
        ({VERSION_KEY: LEGACY}, {}, HEADER_MISMATCH),
        ({VERSION_KEY: "2099-01-01"}, {"MCP_Protocol_Version": "2099-01-01"}, UNSUPPORTED_VERSION),
        ({VERSION_KEY: "2099-01-01"}, {"MCP_Protocol_Version": None}, UNSUPPORTED_VERSION),
        ({}, {"MCP_Protocol_Version": "2099-01-01"}, UNSUPPORTED_VERSION),
        ({VERSION_KEY: 1}, {}, INVALID_PARAMS),
        ({}, {"Mcp_Method": "tools/call"}, HEADER_MISMATCH),
    ],
)
def test_a_notification_that_contradicts_itself_is_refused_without_an_id(
    meta: dict[str, Any], changes: dict[str, str | None], code: int
) -> None:
    """Streamable HTTP, "Sending Messages": an error status, and an error response that has no `id`."""
    given = headers({**CALL, "Mcp-Method": "notifications/x"}, **changes)
    rejected = refused(given, notification("notifications/x", _meta=meta))
    assert rejected.code == code
    assert "id" not in json.loads(rejected.body())


def test_a_notification_with_two_methods_is_refused() -> None:
    lines = [(name.encode(), value.encode()) for name, value in without(CALL, "Mcp-Method").items()]
    lines += [(b"mcp-method", b"notifications/x"), (b"mcp-method", b"notifications/y")]
    assert refused(Headers(lines), notification("notifications/x")).code == HEADER_MISMATCH


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"id": 1, "result": {}}, "response"),
        ({"id": 1, "error": {"code": 1, "message": ""}}, "response"),
        ([{"id": 1, "method": "ping"}], "batch"),
    ],
)
def test_a_modern_client_sends_no_responses_and_no_batches(message: Any, reason: str) -> None:
    """Streamable HTTP, "Sending Messages": the body MUST be a single request or notification."""
    one = message[0] if isinstance(message, list) else message
    one["jsonrpc"] = "2.0"
    rejected = refused(headers(CALL), json.dumps(message).encode())
    assert (rejected.code, rejected.data, rejected.id) == (INVALID_REQUEST, {"reason": reason}, None)


def test_a_session_id_means_nothing_to_a_modern_request() -> None:
    """Streamable HTTP, "Earlier Streamable HTTP Revisions": ignore it."""
    assert isinstance(classify("POST", headers(CALL, Mcp_Session_Id="\xff"), call()), ModernRequest)
