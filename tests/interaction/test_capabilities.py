"""What a modern client has not declared is not asked of it, whatever an earlier request said ("Overview", "_meta")."""

import pytest

from tests.answer import Json
from tests.fleets import Fleet
from tests.wire import MODERN, connected

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
ABLE: Json = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}


@pytest.mark.parametrize(
    ("tool", "declared", "required"),
    [
        ("greet", {}, {"elicitation": {"form": {}}}),
        ("greet", {"elicitation": {"url": {}}, "sampling": {}}, {"elicitation": {"form": {}}}),
        ("where", {"elicitation": {}}, {"roots": {}}),
    ],
)
async def test_a_request_that_needs_an_undeclared_capability_is_told_which(
    asking_fleet: Fleet, tool: str, declared: Json, required: Json
) -> None:
    """Overview 2026-07-28, "_meta": -32021 with status 400; what the connection declared before does not count."""
    async with connected(asking_fleet.url, MODERN) as client:
        for capabilities in (ABLE, declared):
            meta = {CAPABILITIES: capabilities}
            answer = await client.request("tools/call", {"name": tool, "arguments": {}, "_meta": meta}, as_id="m")
    assert (answer.status, answer.error["code"], answer.reply["id"]) == (400, -32021, "m")
    assert answer.error["data"] == {"requiredCapabilities": required}
