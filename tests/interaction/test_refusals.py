"""What is refused at the door: the right status and code, and nothing that outlives the refusal.

Every request of the table is one that no process may serve. After each, the Redis of the fleet holds exactly the keys
that it held before, and no session id was handed out.
"""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
import pytest

from tests.answer import Answer
from tests.fleets import Fleet, Launch
from tests.wire import BOTH, CLIENT_INFO, LATEST_HANDSHAKE, MODERN, Client, connected

MAX_BODY: Final = 4000
POST: Final = {"Accept": BOTH, "Content-Type": "application/json"}
GET: Final = {"Accept": "text/event-stream"}
DEAD: Final = {"Mcp-Session-Id": "0" * 32}
LIST: Final = {"jsonrpc": "2.0", "id": 5, "method": "tools/list"}
OPENING: Final = {"protocolVersion": LATEST_HANDSHAKE, "capabilities": {}, "clientInfo": CLIENT_INFO}
VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META: Final = {
    VERSION: MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}
MODERN_POST: Final = {**POST, "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that is refused, and how; `code` is None where the answer has no body."""

    name: str
    status: int
    code: int | None
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: POST)
    method: str = "POST"
    reason: str | None = None

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def hello(**changes: Any) -> bytes:
    """A handshake that would be served, but for these changes of its parameters; None takes one away."""
    params = {name: value for name, value in {**OPENING, **changes}.items() if value is not None}
    return json.dumps({"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": params}).encode()


def modern(meta: Mapping[str, Any] = META, method: str = "tools/list", **params: Any) -> bytes:
    """A modern request."""
    return json.dumps({"jsonrpc": "2.0", "id": 5, "method": method, "params": {**params, "_meta": meta}}).encode()


def plain(value: Any) -> bytes:
    return json.dumps(value).encode()


def without(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}


BODIES: Final = [
    Refused("no body", 400, -32700),
    Refused("half a body", 400, -32700, hello()[:-1]),
    Refused("not UTF-8", 400, -32700, hello(clientInfo={"name": "ä"}).replace(b"\\u00e4", b"\xe4")),
    Refused("NaN", 400, -32700, hello(clientInfo={"name": float("nan")})),
    Refused("a name given twice", 400, -32700, hello().replace(b'"id": 5', b'"id": 5, "id": 6')),
    Refused("nested too deep", 400, -32600, hello(clientInfo=json.loads('{"a":' * 70 + "1" + "}" * 70))),
    Refused("a number", 400, -32600, b"7"),
    Refused("null", 400, -32600, b"null"),
    Refused("no jsonrpc", 400, -32600, hello().replace(b'"jsonrpc": "2.0", ', b"")),
    Refused("another jsonrpc", 400, -32600, hello().replace(b'"2.0"', b'"1.0"', 1)),
    Refused("null id", 400, -32600, hello().replace(b'"id": 5', b'"id": null')),
    Refused("fractional id", 400, -32600, hello().replace(b'"id": 5', b'"id": 5.5')),
    Refused("boolean id", 400, -32600, hello().replace(b'"id": 5', b'"id": true')),
    Refused("id of an array", 400, -32600, hello().replace(b'"id": 5', b'"id": [5]')),
    Refused("method is a number", 400, -32600, plain({**LIST, "method": 1})),
    Refused("a request with a result", 400, -32600, plain({**LIST, "result": {}})),
    Refused("params are an array", 400, -32602, plain({**LIST, "method": "initialize", "params": [OPENING]})),
    Refused("empty batch", 400, -32600, b"[]"),
    Refused("batch without session", 400, -32600, plain([LIST, LIST])),
    Refused("batch with the handshake", 400, -32600, b"[" + hello() + b"]", reason="batch"),
    Refused("body too large", 413, -32600, hello(padding="x" * MAX_BODY), reason="body_too_large"),
    Refused("handshake without version", 400, -32602, hello(protocolVersion=None)),
    Refused("handshake with a number for version", 400, -32602, hello(protocolVersion=2025)),
    Refused("handshake without client", 400, -32602, hello(clientInfo=None)),
    Refused("handshake without capabilities", 400, -32602, hello(capabilities=None)),
    Refused("capabilities that are none", 400, -32602, hello(capabilities={"sampling": True})),
]
"""Bodies that are no message, or no handshake."""

HEADERS: Final = [
    Refused("nothing acceptable", 406, -32600, hello(), {**POST, "Accept": "text/plain"}, reason="accept"),
    Refused("JSON with weight zero", 406, -32600, hello(), {**POST, "Accept": "application/json;q=0"}, reason="accept"),
    Refused("plain text", 415, -32600, hello(), {**POST, "Content-Type": "text/plain"}, reason="content_type"),
    Refused("no content type", 415, -32600, hello(), {"Accept": BOTH}, reason="content_type"),
    Refused("foreign host", 403, -32600, hello(), {**POST, "Host": "evil.example"}, reason="host"),
    Refused("host of a subdomain", 403, -32600, hello(), {**POST, "Host": "127.0.0.1.evil.example"}, reason="host"),
    Refused("foreign origin", 403, -32600, hello(), {**POST, "Origin": "https://evil.example"}, reason="origin"),
    Refused("null origin", 403, -32600, hello(), {**POST, "Origin": "null"}, reason="origin"),
    Refused("GET from elsewhere", 403, -32600, b"", {**GET, **DEAD, "Origin": "https://evil.example"}, "GET", "origin"),
    Refused("DELETE from elsewhere", 403, -32600, b"", {**DEAD, "Origin": "https://evil.example"}, "DELETE", "origin"),
    Refused("unknown version", 400, -32022, hello(), {**POST, "MCP-Protocol-Version": "1999-01-01"}),
    Refused("unknown version later", 400, -32022, plain(LIST), {**POST, **DEAD, "MCP-Protocol-Version": "x"}),
]
"""Requests that are refused for their headers: handshakes that would be served but for them, and strangers'."""

SESSIONS: Final = [
    Refused("request without session", 400, -32600, plain(LIST), reason="session_required"),
    Refused("notification without session", 400, -32600, plain(without(LIST, "id")), reason="session_required"),
    Refused("reply without session", 400, -32600, plain({"jsonrpc": "2.0", "id": 5, "result": {}})),
    Refused("unknown session", 404, -32600, plain(LIST), {**POST, **DEAD}, reason="session_not_found"),
    Refused("notification of an unknown session", 404, -32600, plain(without(LIST, "id")), {**POST, **DEAD}),
    Refused("reply of an unknown session", 404, -32600, b'{"jsonrpc":"2.0","id":5,"result":{}}', {**POST, **DEAD}),
    Refused("batch of an unknown session", 404, -32600, plain([LIST]), {**POST, **DEAD}),
    Refused("session id with a blank", 400, -32600, plain(LIST), {**POST, "Mcp-Session-Id": "a b"}),
    Refused("session id without end", 400, -32600, plain(LIST), {**POST, "Mcp-Session-Id": "0" * 300}),
    Refused("GET without session", 400, -32600, method="GET", headers=GET, reason="session_required"),
    Refused("GET of an unknown session", 404, -32600, method="GET", headers={**GET, **DEAD}),
    Refused("GET of JSON", 406, -32600, method="GET", headers={"Accept": "application/json", **DEAD}, reason="accept"),
    Refused("DELETE without session", 400, -32600, method="DELETE", headers={}, reason="session_required"),
    Refused("DELETE of an unknown session", 404, -32600, method="DELETE", headers=DEAD),
]
"""What belongs to a session that does not exist."""

METHODS: Final = [
    Refused("HEAD", 405, None, method="HEAD", headers={}),
    Refused("OPTIONS", 405, -32600, method="OPTIONS", headers={}, reason="method"),
    Refused("PUT", 405, -32600, hello(), method="PUT", reason="method"),
    Refused("PATCH", 405, -32600, hello(), method="PATCH", reason="method"),
    Refused("modern GET", 405, -32600, method="GET", headers={**GET, "MCP-Protocol-Version": MODERN}, reason="method"),
    Refused("modern DELETE", 405, -32600, method="DELETE", headers={"MCP-Protocol-Version": MODERN}, reason="method"),
]
"""Methods of HTTP that are not served."""

OTHER_METHOD: Final = {**MODERN_POST, "Mcp-Method": "notifications/cancelled"}
NOTHING_KNOWN: Final = {"jsonrpc": "2.0", "method": "x", "params": {"_meta": {**META, VERSION: 7}}}
OTHER_VERSION: Final = {"jsonrpc": "2.0", "method": "x", "params": {"_meta": {**META, VERSION: "2099-01-01"}}}

ENVELOPES: Final = [
    Refused("modern batch", 400, -32600, b"[" + modern() + b"]", MODERN_POST, reason="batch"),
    Refused("modern reply", 400, -32600, b'{"jsonrpc":"2.0","id":5,"result":{}}', MODERN_POST),
    Refused("modern without meta", 400, -32602, plain(LIST), MODERN_POST),
    Refused(
        "modern without capabilities",
        400,
        -32602,
        modern(without(META, "io.modelcontextprotocol/clientCapabilities")),
        MODERN_POST,
    ),
    Refused("modern without version header", 400, -32020, modern(), without(MODERN_POST, "MCP-Protocol-Version")),
    Refused("modern without method header", 400, -32020, modern(), without(MODERN_POST, "Mcp-Method")),
    Refused("modern with another method", 400, -32020, modern(method="tools/call"), MODERN_POST),
    Refused("modern unknown method", 404, -32601, modern(method="no/such"), {**MODERN_POST, "Mcp-Method": "no/such"}),
    Refused("modern null id", 400, -32600, modern().replace(b'"id": 5', b'"id": null'), MODERN_POST),
    Refused(
        "modern notification with another method", 400, -32020, plain(without(json.loads(modern()), "id")), OTHER_METHOD
    ),
    Refused("modern notification of no version", 400, -32602, plain(NOTHING_KNOWN), MODERN_POST),
    Refused("modern notification of another version", 400, -32020, plain(OTHER_VERSION), MODERN_POST),
    Refused("modern nothing acceptable", 406, -32600, modern(), {**MODERN_POST, "Accept": "image/png"}),
    Refused("modern foreign origin", 403, -32600, modern(), {**MODERN_POST, "Origin": "https://evil.example"}),
]
"""Modern requests that are incomplete, or at odds with their headers."""


@pytest.fixture(scope="module")
def guarded(launch_for_module: Launch) -> Fleet:
    """Three processes in a namespace of their own, which take only small bodies."""
    return launch_for_module(3, MAX_BODY_BYTES=str(MAX_BODY))


@pytest.mark.parametrize("case", [*BODIES, *HEADERS, *SESSIONS, *METHODS, *ENVELOPES], ids=str)
async def test_a_refused_request_gets_a_clear_error_and_leaves_no_trace(guarded: Fleet, case: Refused) -> None:
    """Transports, "Sending Messages", "Session Management", "Protocol Version Header"; JSON-RPC 2.0, "Error object"."""
    before = guarded.stored_keys()
    async with Client(guarded.url, LATEST_HANDSHAKE) as client:
        for _ in guarded.processes:
            answer = await client.send(case.method, case.body, headers=exact(case.headers), bare=True)
            assert answer.status == case.status
            assert "Mcp-Session-Id" not in answer.headers
            check_error(answer, case)
    assert guarded.stored_keys() <= before


async def test_a_body_too_large_is_refused_although_its_size_was_not_announced(guarded: Fleet) -> None:
    """RFC 9110, section 15.5.14: 413."""

    async def parts() -> AsyncIterator[bytes]:
        yield hello(padding="x" * MAX_BODY)

    before = guarded.stored_keys()
    async with httpx2.AsyncClient(timeout=20) as http:
        answer = await http.post(guarded.url, content=parts(), headers=POST)
    assert answer.status_code == 413
    assert answer.json()["error"]["data"] == {"reason": "body_too_large"}
    assert guarded.stored_keys() <= before


async def test_what_is_served_does_leave_keys_and_its_end_takes_them_away(guarded: Fleet) -> None:
    """Transports, "Session Management": only a handshake creates, and DELETE removes all that it created."""
    async with connected(guarded.url, LATEST_HANDSHAKE) as client:
        opened = guarded.stored_keys()
        assert (await client.call("count", n=2, token="t")).text == "2"
        assert {key for key in opened if str(client.session_id).encode() in key}
        assert (await client.end()).status == 204
        left = {key for key in guarded.stored_keys() if str(client.session_id).encode() in key}
    streams = {key for key in left if b"/x/" in key or b":x/" in key}
    assert left == streams, "but for the streams of its calls, which end by themselves"


async def test_a_refused_last_event_id_leaves_no_trace_in_its_session(guarded: Fleet) -> None:
    """Transports, "Resumability and Redelivery"."""
    async with connected(guarded.url, LATEST_HANDSHAKE) as client:
        before = guarded.stored_keys()
        for forged in ("1", "c.0.0", "x" * 5000, "s.0-0.0-0.0"):
            assert (await client.resume(forged)).status == 400
        assert guarded.stored_keys() <= before


def exact(headers: Mapping[str, str]) -> dict[str, str | None]:
    """These headers, and none that the HTTP library would add where the case has none."""
    return {"Content-Type": None, "Accept": "", **headers}


def check_error(answer: Answer, case: Refused) -> None:
    if case.status == 405:
        assert "POST" in answer.headers["Allow"]
    if case.code is None:
        assert answer.body == b""
        return
    assert answer.error["code"] == case.code
    assert answer.reply.get("id", 5) == 5
    if case.reason is not None:
        assert answer.error["data"]["reason"] == case.reason
    if case.code == -32022:
        assert MODERN in answer.error["data"]["supported"]
        assert LATEST_HANDSHAKE in answer.error["data"]["supported"]
