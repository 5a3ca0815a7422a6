"""Requests as clients of both eras send them, to be spoilt one thing at a time."""

import json
from collections.abc import Mapping
from typing import Any

from mcpfleet.protocol.headers import Headers

MODERN = "2026-07-28"
LEGACY = "2025-11-25"

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
INFO_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LEVEL_KEY = "io.modelcontextprotocol/logLevel"

META: Mapping[str, Any] = {VERSION_KEY: MODERN, INFO_KEY: {"name": "c", "version": "1"}, CAPABILITIES_KEY: {}}
CALL: Mapping[str, str] = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": MODERN,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "echo",
}
POST: Mapping[str, str] = {"Content-Type": "application/json"}
HELLO: Mapping[str, Any] = {
    "protocolVersion": LEGACY,
    "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"},
}


def headers(base: Mapping[str, str], **changes: str | None) -> Headers:
    """The headers with changes, `Mcp_Name` for `Mcp-Name`; None takes one away."""
    renamed = {name.replace("_", "-"): value for name, value in changes.items()}
    return Headers.of({name: value for name, value in {**base, **renamed}.items() if value is not None})


def request(method: str = "tools/call", request_id: Any = 1, **params: Any) -> bytes:
    """A request; without params when none are given."""
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return json.dumps({**message, "params": params} if params else message).encode()


def notification(method: str, **params: Any) -> bytes:
    """A notification."""
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


def call(meta: Any = META, **params: Any) -> bytes:
    """A modern call of the tool that the headers `CALL` name."""
    return request(**{"name": "echo", "arguments": {}, "_meta": meta, **params})


def without(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The mapping without one of its keys."""
    return {name: value for name, value in mapping.items() if name != key}
