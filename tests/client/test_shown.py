"""What the document of the client shows."""

import sys

from mcpfleet import CallToolResult, Client, ElicitForm, ElicitResult, ElicitUrl


async def kyiv() -> CallToolResult:
    client = Client([sys.executable, "-m", "mcpfleet_service.cli", "stdio", "examples.weather:server"])

    @client.on_elicitation
    async def ask(question: ElicitForm | ElicitUrl) -> ElicitResult:
        return ElicitResult(action="decline")

    async with client:
        tools = [tool.name for tool in await client.list_tools()]
        return await client.call_tool(tools[0], {"city": "Kyiv"}, timeout=10, on_progress=print)


async def test_a_client_asks_a_server_that_it_starts() -> None:
    result = await kyiv()
    assert not result.is_error
    assert isinstance(result.structured_content, dict)
    assert result.structured_content["city"] == "Kyiv"
