"""Hooks are around every message (JSON-RPC 2.0), over every transport, in every revision, on whichever process.

None of this is asked of a server by the protocol.
"""

import asyncio
import secrets
from collections.abc import Iterator

import pytest

from tests.fleets import SHAPES, Fleet, Launch, standing_fleet
from tests.pair import opened
from tests.wire import EVERY, LATEST_HANDSHAKE, LEGACY, MODERN, Client, connected

every_revision = pytest.mark.parametrize("date", EVERY)
HOOKED = "tests.servers.hooked:server"
SECRET = "hunter2"


@pytest.fixture(scope="module", params=SHAPES, ids=str)
def hooked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet whose server has hooks."""
    with standing_fleet(request, tmp_path_factory, HOOKED) as started:
        yield started


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch) -> str:
    """What the test's client is called, and no other."""
    name = secrets.token_hex(4)
    monkeypatch.setattr("tests.wire.CLIENT_INFO", {"name": name, "version": "1"})
    return name


async def journal(client: Client, processes: int) -> list[str]:
    """What all processes have noted."""
    found: list[str] = []
    for process in range(processes):
        found += (await client.call("journal", pin=process)).value
    return found


async def noted(client: Client, fleet: Fleet, entry: str) -> None:
    """Return once one process has noted it."""
    async with asyncio.timeout(20):
        while entry not in await journal(client, len(fleet.processes)):
            pass


@every_revision
async def test_a_hook_changes_what_a_tool_is_given_and_leaves_it_something(hooked: Fleet, date: str) -> None:
    async with connected(hooked.url, date) as client:
        for _ in range(3):
            assert (await client.call("guarded", mood="warm")).text == f"changed by tools/call in {date}"


@every_revision
async def test_a_hook_answers_or_refuses_in_the_words_of_the_revision(hooked: Fleet, date: str) -> None:
    async with connected(hooked.url, date) as client:
        assert (await client.call("guarded", mood="answer")).text == "from the hook"
        told = (await client.call("guarded", mood="tell")).result
        assert (told["isError"], told["content"][0]["text"]) == (True, "Only in office hours.")
        refused = await client.call("guarded", mood="refuse")
        assert refused.error == {"code": -31000, "message": "Not now", "data": {"retry": True}}
        assert (await client.call("lived")).value["entered"] == 1, "the next message is served"


@every_revision
async def test_what_breaks_in_a_hook_is_logged_and_reported_and_not_told(hooked: Fleet, date: str) -> None:
    async with connected(hooked.url, date) as client:
        broken = await client.call("guarded", mood="break")
        text = broken.result["content"][0]["text"]
        assert broken.result["isError"]
        assert SECRET not in broken.body.decode()
        correlation = text.rpartition(" ")[2]
        await noted(client, hooked, f"reported RuntimeError in tools/call guarded: {correlation}")
        logs = hooked.processes[broken.process].log_tail(40_000)
        assert f"correlation id {correlation}" in logs
        assert SECRET in logs


@every_revision
async def test_every_message_passes_through(hooked: Fleet, date: str, name: str) -> None:
    async with connected(hooked.url, date) as client:
        asked = ["tools/list", "resources/read 'config://app'", "no/such"]
        await client.request("tools/list")
        await client.request("resources/read", {"uri": "config://app"})
        await client.request("no/such")
        if not client.modern:
            asked += ["initialize", "logging/setLevel", "resources/subscribe 'config://app'", "ping"]
            await client.request("logging/setLevel", {"level": "info"})
            await client.request("resources/subscribe", {"uri": "config://app"})
            await client.request("ping")
            await noted(client, hooked, f"notifications/initialized of {name}")
        else:
            asked.append("server/discover")
            await client.request("server/discover")
        found = await journal(client, len(hooked.processes))
    assert [each for each in asked if found.count(f"{each} of {name}") != 1] == []
    assert "no/such raised ProtocolError" in found


@every_revision
async def test_a_notification_of_ones_own_is_heeded_and_never_answered(hooked: Fleet, date: str) -> None:
    word = secrets.token_hex(4)
    async with connected(hooked.url, date) as client:
        for params in ({"word": word}, {"word": "fail"}, {"word": 7}, {}):
            answer = await client.notify("acme/noted", params)
            assert (answer.status, answer.body) == (202, b"")
        await noted(client, hooked, f"noted {word} in {'modern' if client.modern else 'legacy'}")
        await noted(client, hooked, "acme/noted raised RuntimeError")
        assert (await client.call("lived")).value["entered"] == 1


async def test_a_listen_stream_passes_through(hooked: Fleet, name: str) -> None:
    async with connected(hooked.url, MODERN) as client:
        asked = {"notifications": {"toolsListChanged": True}}
        async with client.asking("subscriptions/listen", asked) as stream:
            message = await stream.message()
            assert message is not None
            assert message["method"] == "notifications/subscriptions/acknowledged"
            await noted(client, hooked, f"subscriptions/listen of {name}")


@pytest.mark.parametrize("date", [date for date in LEGACY if date == "2025-03-26"])
async def test_each_message_of_a_batch_passes_through(hooked: Fleet, date: str, name: str) -> None:
    word = secrets.token_hex(4)
    async with connected(hooked.url, date) as client:
        batch = (
            f'[{{"jsonrpc": "2.0", "method": "acme/noted", "params": {{"word": "{word}"}}}},'
            ' {"jsonrpc": "2.0", "id": 5, "method": "prompts/list"}]'
        )
        [reply] = (await client.send("POST", batch)).messages
        assert (reply["id"], reply["error"]["code"]) == (5, -32601)
        await noted(client, hooked, f"noted {word} in legacy")
        assert (await journal(client, len(hooked.processes))).count(f"prompts/list of {name}") == 1


async def test_the_oldest_transport_passes_through_too(launch_fleet: Launch, name: str) -> None:
    fleet = launch_fleet(1, server=HOOKED, SSE="true")
    async with opened(fleet.balancer.url) as pair:
        await pair.shake_hands()
        await pair.call("guarded", as_id=1, mood="warm")
        assert await pair.text(1) == "changed by tools/call in 2024-11-05"
        await pair.post({"jsonrpc": "2.0", "method": "acme/noted", "params": {"word": name}})
        async with connected(fleet.url, MODERN) as client:
            await noted(client, fleet, f"noted {name} in legacy")
            found = await journal(client, 1)
    assert found[:2] == [f"initialize of {name}", f"notifications/initialized of {name}"]


@pytest.mark.parametrize("date", LEGACY)
async def test_what_comes_without_a_session_passes_through_too(launch_fleet: Launch, date: str, name: str) -> None:
    fleet = launch_fleet(1, server=HOOKED, STATELESS="true")
    async with Client(fleet.url, date, {"MCP-Protocol-Version": date}) as client:
        params = {"protocolVersion": date, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
        assert (await client.request("initialize", params)).result["protocolVersion"] == date
        assert (await client.call("guarded", mood="warm")).text == f"changed by tools/call in {date}"
        assert (await client.notify("acme/noted", {"word": name})).status == 202
        await noted(client, fleet, f"noted {name} in legacy")
        assert (await journal(client, 1))[0] == f"initialize of {name}"


async def test_a_hook_changes_a_handshake_over_every_transport(
    launch_fleet: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.wire.CLIENT_INFO", {"name": "old", "version": "1"})
    fleet = launch_fleet(1, server=HOOKED, SSE="true")
    async with connected(fleet.url, LATEST_HANDSHAKE) as client:
        assert client.date == "2025-03-26"
        assert (await client.call("guarded", mood="warm")).text == "changed by tools/call in 2025-03-26"
    async with opened(fleet.balancer.url) as pair:
        assert (await pair.shake_hands(LATEST_HANDSHAKE))["protocolVersion"] == "2025-03-26"
    fleet = launch_fleet(1, server=HOOKED, STATELESS="true")
    params = {"protocolVersion": LATEST_HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    async with Client(fleet.url, LATEST_HANDSHAKE, {"MCP-Protocol-Version": LATEST_HANDSHAKE}) as client:
        assert (await client.request("initialize", params)).result["protocolVersion"] == "2025-03-26"
