"""The official Python SDK's client of the oldest transport, against three processes behind the hostile balancer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from tests import wire
from tests.fleets import Fleet, Launch

CALL_SECONDS: Final = 20.0


@asynccontextmanager
async def connected(fleet: Fleet) -> AsyncIterator[Client]:
    """The SDK's client, whose stream is held by any process."""
    transport = sse_client(f"{fleet.balancer.url}/sse")
    async with Client(transport, mode="legacy", read_timeout_seconds=CALL_SECONDS) as client:
        yield client


def text(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.parametrize("date", wire.LEGACY)
async def test_it_lists_and_calls_on_every_process(
    launch_fleet: Launch, date: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.client.session.LATEST_HANDSHAKE_VERSION", date)
    fleet = launch_fleet(3, SSE="true")
    told: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async with connected(fleet) as client:
        assert client.protocol_version == date
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"echo", "count", "slow"}
        calls = (client.call_tool("echo", {"x": str(turn)}) for turn in range(60))
        assert [text(answer) for answer in await asyncio.gather(*calls)] == [str(turn) for turn in range(60)]
        assert text(await client.call_tool("count", {"n": 3, "delay": 0.05}, progress_callback=note)) == "3"
    assert told == [1, 2, 3]
    posts = [served.process for served in fleet.balancer.served if served.method == "POST"]
    assert all(posts.count(process) > 10 for process in range(3))


async def test_a_call_whose_process_is_killed_ends_with_an_error_and_the_session_goes_on(launch_fleet: Launch) -> None:
    fleet = launch_fleet(3, SSE="true", LEASE_SECONDS="1")
    async with connected(fleet) as client, asyncio.TaskGroup() as tasks:
        holder = next(served.process for served in fleet.balancer.served if served.method == "GET")
        calls = [tasks.create_task(outcome(client, tag)) for tag in ("a", "b", "c", "d")]
        begun = {process: await began(fleet, process) for process in range(3) if process != holder}
        victim, lost = next((process, tags) for process, tags in begun.items() if tags)
        fleet.processes[victim].kill()
        ended = {tag: await call for tag, call in zip("abcd", calls, strict=True)}
        assert {tag for tag, what in ended.items() if isinstance(what, MCPError)} == lost
        assert text(await client.call_tool("echo", {"x": "on"})) == "on"


async def outcome(client: Client, tag: str) -> str | MCPError:
    """What becomes of a call that takes three seconds."""
    try:
        return text(await client.call_tool("slow", {"seconds": 3, "tag": tag}))
    except MCPError as failure:
        return failure


async def began(fleet: Fleet, process: int) -> set[str]:
    """Which of the slow calls run in this process, once all of them have begun somewhere."""
    async with wire.connected(fleet.url, wire.MODERN) as asker, asyncio.timeout(CALL_SECONDS):
        while True:
            found = [set((await asker.call("journal", pin=pin)).value) for pin in range(3)]
            if len(set().union(*found)) == 4:
                return {entry.removeprefix("began ") for entry in found[process]}
