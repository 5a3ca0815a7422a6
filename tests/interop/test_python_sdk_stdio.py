"""The official Python SDK's client and `mcpfleet stdio`, in both eras."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from tests import wire
from tests.processes import ROOT, environment

CALL_SECONDS: Final = 20.0
both_eras = pytest.mark.parametrize("mode", ["legacy", "auto"])


@asynccontextmanager
async def connected(mode: str, server: str = "basic", **callbacks: Any) -> AsyncIterator[Client]:
    """The SDK's client of a process that it has started itself."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "mcpfleet_service.cli", "stdio", f"tests.servers.{server}:server"],
        env=environment({}),
        cwd=ROOT,
    )
    async with Client(command, mode=mode, read_timeout_seconds=CALL_SECONDS, **callbacks) as client:
        assert client.protocol_version == (wire.MODERN if mode == "auto" else wire.LATEST_HANDSHAKE)
        yield client


def text(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


@both_eras
async def test_it_lists_and_calls(mode: str) -> None:
    async with connected(mode) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"echo", "count", "slow"}
        calls = (client.call_tool("echo", {"x": str(turn)}) for turn in range(50))
        assert [text(answer) for answer in await asyncio.gather(*calls)] == [str(turn) for turn in range(50)]


@both_eras
async def test_progress_arrives(mode: str) -> None:
    told: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async with connected(mode) as client:
        answer = await client.call_tool("count", {"n": 3, "delay": 0.05}, progress_callback=note)
    assert text(answer) == "3"
    assert told == [1, 2, 3]


@both_eras
async def test_a_call_that_the_client_gives_up_is_cancelled(mode: str) -> None:
    async with connected(mode) as client:
        calling = asyncio.ensure_future(client.call_tool("slow", {"seconds": 60, "tag": "x"}))
        await noted(client, "began x")
        calling.cancel()
        await noted(client, "cancelled x")


@both_eras
async def test_it_is_asked(mode: str) -> None:
    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert params.message == "Who are you?"
        return ElicitResult(action="accept", content={"name": "Ada", "mood": "cool"})

    async with connected(mode, "inquisitive", elicitation_callback=answer) as client:
        assert text(await client.call_tool("greet", {})) == "cool Ada None"


async def noted(client: Client, entry: str) -> None:
    """Return once a tool has noted this."""
    async with asyncio.timeout(CALL_SECONDS):
        found = ""
        while entry not in found:
            found = text(await client.call_tool("journal", {}))
