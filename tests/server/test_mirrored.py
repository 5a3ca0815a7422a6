"""Parameters that a tool mirrors into headers, on real calls ("Custom Headers from Tool Parameters")."""

from typing import Annotated, Any

import msgspec
import pytest

from tests.server.wire import Node
from tests.server.world import World

REGION = Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})]


async def serving(memory: World) -> Node:
    """A process with a tool that mirrors its region."""
    node = await memory.node()

    @node.engine.server.tool
    def query(region: REGION = "everywhere") -> str:
        """Say which region was asked for."""
        return region

    return node


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        ({"region": "eu"}, "eu"),
        ({"region": "Köln"}, "=?base64?S8O2bG4=?="),
        ({}, None),
        ({"region": None}, None),
    ],
)
async def test_a_mirrored_parameter_whose_header_agrees_is_served(
    memory: World, arguments: dict[str, Any], header: str | None
) -> None:
    """Streamable HTTP, "Server Behavior for Custom Headers": none is expected for what is absent or null."""
    node = await serving(memory)
    got = await node.modern("tools/call", {"name": "query", "arguments": arguments}, Mcp_Param_Region=header).got()
    assert (got.status, got.text) == (200, arguments.get("region") or "everywhere")


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        ({"region": "eu"}, "us"),
        ({"region": "eu"}, "EU"),
        ({"region": "eu"}, None),
        ({"region": "eu"}, "=?base64?!!?="),
        ({"region": "caf\xe9"}, "caf\xe9"),
        ({"region": "a\x00b"}, "a\x00b"),
        ({}, "eu"),
        ({"region": None}, "eu"),
    ],
)
async def test_a_mirrored_parameter_at_odds_with_its_header_is_refused(
    memory: World, arguments: dict[str, Any], header: str | None
) -> None:
    """Streamable HTTP, "Server Behavior for Custom Headers": 400 and -32020."""
    node = await serving(memory)
    got = await node.modern("tools/call", {"name": "query", "arguments": arguments}, Mcp_Param_Region=header).got()
    assert (got.status, got.error["code"]) == (400, -32020)


async def test_a_legacy_client_mirrors_nothing(memory: World) -> None:
    """The headers came with the modern era."""
    node = await serving(memory)
    session = await node.initialize()
    assert (await session.call(node, "query", region="eu").got()).text == "eu"


async def test_the_list_tells_which_parameters_are_mirrored(memory: World) -> None:
    """Tools, "x-mcp-header"."""
    node = await serving(memory)
    listed = (await node.modern("tools/list").got()).result["tools"]
    (query,) = (tool for tool in listed if tool["name"] == "query")
    assert query["inputSchema"]["properties"]["region"]["x-mcp-header"] == "Region"
