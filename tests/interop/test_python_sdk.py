"""The official Python SDK's client against three processes behind the hostile balancer, in both eras."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from tests import wire
from tests.fleets import Fleet, Launch, Shape

CALLS: Final = 200
AT_ONCE: Final = 12
CALL_SECONDS: Final = 20.0
THREE = pytest.mark.parametrize("fleet", [Shape("redis", 3)], indirect=True, ids=str)
both_eras = pytest.mark.parametrize("mode", ["legacy", "auto"])


@dataclass(slots=True)
class Load:
    """Two hundred calls, a dozen at once, every tenth with progress; what became of each."""

    client: Client
    answers: dict[int, str] = field(default_factory=dict)
    failures: dict[int, MCPError] = field(default_factory=dict)
    under_way: set[int] = field(default_factory=set)
    done: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def run(self) -> None:
        """Make all the calls."""
        turns = iter(range(CALLS))

        async def some() -> None:
            for turn in turns:
                await self._one(turn)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(some())

    async def await_half(self) -> None:
        """Return once half of the calls have been answered."""
        async with self.done, asyncio.timeout(CALL_SECONDS):
            await self.done.wait_for(lambda: len(self.answers) >= CALLS // 2)

    async def _one(self, turn: int) -> None:
        self.under_way.add(turn)
        try:
            async with asyncio.timeout(CALL_SECONDS):
                self.answers[turn] = await (self._counted(turn) if turn % 10 == 0 else self._echoed(turn))
        except MCPError as failure:
            self.failures[turn] = failure
        self.under_way.remove(turn)
        async with self.done:
            self.done.notify_all()

    async def _echoed(self, turn: int) -> str:
        return text(await self.client.call_tool("echo", {"x": str(turn)}))

    async def _counted(self, turn: int) -> str:
        told: list[float] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            assert total == 3
            told.append(progress)

        counted = text(await self.client.call_tool("count", {"n": 3, "delay": 0.01}, progress_callback=note))
        assert counted == "3"
        assert told == sorted(set(told))
        assert told, "no progress came"
        return str(turn)


@THREE
@both_eras
async def test_it_lists_and_calls_and_nothing_is_lost(fleet: Fleet, mode: str) -> None:
    async with connected(fleet, mode) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"echo", "count", "slow"}
        load = Load(client)
        before = len(fleet.balancer.served)
        await load.run()
    assert load.failures == {}
    assert load.answers == {turn: str(turn) for turn in range(CALLS)}
    posts = [served.process for served in fleet.balancer.served[before:] if served.method == "POST"]
    assert len(posts) == CALLS
    assert all(posts.count(process) > CALLS / 4 for process in range(3))


@both_eras
async def test_only_what_ran_in_a_process_that_is_killed_is_lost(launch_fleet: Launch, mode: str) -> None:
    """And what is lost ends with an error, within the lease time."""
    fleet = launch_fleet(3, LEASE_SECONDS="1")
    async with connected(fleet, mode) as client, asyncio.TaskGroup() as tasks:
        long = {tag: tasks.create_task(slow(client, tag)) for tag in ("a", "b", "c")}
        running_in = await begun(fleet, set(long))
        victim = next(process for process, tags in enumerate(running_in) if "a" in tags)
        load = Load(client)
        running = tasks.create_task(load.run())
        await load.await_half()
        at_the_kill = set(load.under_way)
        fleet.processes[victim].kill()
        await running
        ended = {tag: await task for tag, task in long.items()}
    assert load.failures.keys() <= at_the_kill
    assert load.answers == {turn: str(turn) for turn in range(CALLS) if turn not in load.failures}
    assert {tag for tag, outcome in ended.items() if isinstance(outcome, MCPError)} == running_in[victim]
    assert {tag for tag, outcome in ended.items() if outcome == tag} == set(long) - running_in[victim]


@THREE
@pytest.mark.parametrize("date", wire.LEGACY)
async def test_every_revision_that_it_has_ever_shaken_hands_in_is_served(
    fleet: Fleet, date: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handshake that older releases of the SDK offer."""
    monkeypatch.setattr("mcp.client.session.LATEST_HANDSHAKE_VERSION", date)
    async with connected(fleet, "legacy") as client:
        assert client.protocol_version == date
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"echo", "count", "add"}
        answers = await asyncio.gather(*(client.call_tool("add", {"a": turn, "b": 1}) for turn in range(12)))
        assert [text(answer) for answer in answers] == [str(turn + 1) for turn in range(12)]
        assert text(await client.call_tool("slow", {"seconds": 0.5, "tag": "streamed"})) == "streamed"


@asynccontextmanager
async def connected(fleet: Fleet, mode: str) -> AsyncIterator[Client]:
    """The SDK's client in this mode, which has agreed on the revision that it should have."""
    async with Client(fleet.url, mode=mode, read_timeout_seconds=CALL_SECONDS) as client:
        assert (client.protocol_version == wire.MODERN) == (mode == "auto")
        yield client


async def slow(client: Client, tag: str) -> str | MCPError:
    """What becomes of a call that takes four seconds."""
    try:
        async with asyncio.timeout(CALL_SECONDS):
            return text(await client.call_tool("slow", {"seconds": 4, "tag": tag}))
    except MCPError as failure:
        return failure


async def begun(fleet: Fleet, tags: set[str]) -> list[set[str]]:
    """Which of the slow calls each process runs, once all of them have begun somewhere."""
    async with wire.connected(fleet.url, wire.MODERN) as asker, asyncio.timeout(CALL_SECONDS):
        while True:
            journals = [set((await asker.call("journal", pin=pin)).value) for pin in range(len(fleet.processes))]
            found = [{tag for tag in tags if f"began {tag}" in journal} for journal in journals]
            if set().union(*found) == tags:
                return found


def text(result: CallToolResult) -> str:
    """The text that a tool returned."""
    assert not result.is_error, result
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text
