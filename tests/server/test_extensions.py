"""A server with extensions, and clients with and without them (basic/versioning, "Extension Negotiation")."""

import pytest

from mcpfleet import Server, apps
from tests.answer import Json
from tests.server.world import World

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def extended() -> Server:
    """A server whose tool has a page that some clients show."""
    server = Server("extended", extensions={**apps.EXTENSION, "com.example/feature": {}})

    @server.tool(meta=apps.linked("ui://clock"))
    def clock() -> str:
        """Tell the time."""
        return "noon"

    return server


@pytest.mark.parametrize(
    "extensions", [None, {}, {"com.example/another": {}}, {"com.example/feature": {}}, {**apps.EXTENSION}]
)
async def test_whichever_extensions_a_client_has_the_core_protocol_serves_it(
    memory: World, extensions: Json | None
) -> None:
    """Versioning, "Extension Negotiation": who supports one alone goes back to the core protocol."""
    node = await memory.node(server=extended())
    meta: Json = {CAPABILITIES: {} if extensions is None else {"extensions": extensions}}
    listed = (await node.modern("tools/list", meta=meta).got()).result["tools"]
    assert [tool["name"] for tool in listed] == ["clock"]
    got = await node.modern("tools/call", {"name": "clock"}, meta=meta).got()
    assert (got.text, got.result["resultType"]) == ("noon", "complete")


async def test_a_method_of_an_extension_that_is_not_there_is_not_found(memory: World) -> None:
    """Versioning, "Extension Negotiation": or an error tells that it is not supported."""
    node = await memory.node(server=extended())
    meta: Json = {CAPABILITIES: {"extensions": {"com.example/another": {}}}}
    got = await node.modern("com.example/another/do", meta=meta).got()
    assert (got.status, got.error["code"]) == (404, -32601)


async def test_a_session_without_extensions_is_served_too(memory: World) -> None:
    """It goes back to the core protocol."""
    node = await memory.node(server=extended())
    session = await node.initialize()
    assert (await session.call(node, "clock").got()).text == "noon"
