"""One tool call over HTTP, in the simplest way that works against any process."""

import json
from typing import Any

import httpx2

from mcpfleet.protocol.revisions import LATEST
from tests.balancer import PIN


def call(url: str, tool: str, pin: int | None = None, **arguments: Any) -> Any:
    """What the tool returns, asked in one request that stands alone."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": LATEST.date,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": LATEST.date,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
        **({} if pin is None else {PIN: str(pin)}),
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = httpx2.post(url, json=body, headers=headers, timeout=20)
    answer.raise_for_status()
    return json.loads(answer.json()["result"]["content"][0]["text"])
