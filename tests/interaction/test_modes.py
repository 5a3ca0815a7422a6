"""What operators can switch: answers that are always JSON, no sessions, one version for every handshake.

The protocol leaves it to a server: Transports, "Sending Messages to the Server" and "Session Management"; Lifecycle,
"Version Negotiation".
"""

import asyncio
import json
from typing import Any

import pytest

from tests import wire
from tests.answer import Answer, Json
from tests.fleets import Fleet, Launch
from tests.wire import LEGACY, MODERN, Client, connected


@pytest.fixture(scope="module")
def json_only(launch_for_module: Launch) -> Fleet:
    """Two processes that answer with JSON, and would soon do otherwise if they could."""
    return launch_for_module(2, JSON_RESPONSE="true", KEEPALIVE_SECONDS="0.1", SSE_AFTER_MS="50")


@pytest.fixture(scope="module")
def stateless(launch_for_module: Launch) -> Fleet:
    """Two processes without sessions."""
    return launch_for_module(2, STATELESS="true")


@pytest.fixture(scope="module")
def asking_json_only(launch_for_module: Launch) -> Fleet:
    """Two processes that answer with JSON, and whose tools would ask."""
    return launch_for_module(2, server=ASKING, JSON_RESPONSE="true")


@pytest.fixture(scope="module")
def asking_stateless(launch_for_module: Launch) -> Fleet:
    """Two processes without sessions, whose tools would ask."""
    return launch_for_module(2, server=ASKING, STATELESS="true")


ASKING = "tests.servers.inquisitive:server"
ABLE: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
QUESTIONS = ("greet", "where", "pay", "ping_back", "both")
"""Tools that ask in every way there is."""

both_eras = pytest.mark.parametrize("date", [wire.LATEST_HANDSHAKE, MODERN])


@both_eras
async def test_json_only_answers_with_one_object_whatever_the_call_says_meanwhile(json_only: Fleet, date: str) -> None:
    async with connected(json_only.url, date) as client:
        if date != MODERN:
            assert (await client.request("logging/setLevel", {"level": "debug"})).result == {}
        counted = await client.call("count", n=3, delay=0.2, token="t")
        assert (counted.headers["content-type"], counted.text) == ("application/json", "3")
        assert counted.notifications == []


@both_eras
async def test_json_only_needs_no_client_that_takes_streams(json_only: Fleet, date: str) -> None:
    async with connected(json_only.url, date, headers={"Accept": "application/json"}) as client:
        assert (await client.call("echo", x="json")).text == "json"
    async with Client(json_only.url, date, {"Accept": "text/event-stream"}) as client:
        assert (await client.request("tools/list")).status == 406


async def test_json_only_leaves_the_sessions_own_stream(json_only: Fleet) -> None:
    async with connected(json_only.url, wire.LATEST_HANDSHAKE) as client, client.listening() as stream:
        assert stream.status == 200
        assert (event := await stream.event()) is not None
        assert event.id


async def test_json_only_questions_fail_at_once_where_they_would_be_requests(asking_json_only: Fleet) -> None:
    """A tool may go on without an answer, and a handler of rounds has nobody who could ask for it."""
    async with connected(asking_json_only.url, wire.LATEST_HANDSHAKE, capabilities=ABLE) as client:
        for tool in QUESTIONS:
            answer = await client.call(tool)
            assert (answer.headers["content-type"], answer.messages) == ("application/json", [answer.reply])
            assert answer.result["isError"]
            assert "cannot be asked anything" in answer.result["content"][0]["text"]
        assert (await client.call("patient")).text == "went on: CannotAsk"
        assert "cannot be asked anything" in (await client.call("by_hand")).error["message"]
    async with connected(asking_json_only.url, MODERN, capabilities=ABLE) as client:
        assert (await client.call("greet")).result["resultType"] == "input_required"


async def test_without_sessions_questions_fail_at_once_and_say_why(asking_stateless: Fleet) -> None:
    """Whatever the client has declared is forgotten by then, and so is not held against it."""
    async with Client(asking_stateless.url, wire.LATEST_HANDSHAKE, capabilities=ABLE) as client:
        await handshake(client)
        for tool in QUESTIONS:
            answer = await client.call(tool)
            assert answer.messages == [answer.reply]
            assert answer.result["content"][0]["text"] == "Without sessions, a client cannot be asked anything."
        assert (await client.call("patient")).text == "went on: CannotAsk"
        for method, params in (
            ("tools/call", {"name": "by_hand"}),
            ("tools/call", {"name": "connect"}),
            ("prompts/get", {"name": "about"}),
            ("resources/read", {"uri": "secret://x"}),
        ):
            error = (await client.request(method, params)).error
            assert (error["code"], error["message"]) == (-32603, "Without sessions, a client cannot be asked anything.")


async def test_a_cancel_still_reaches_a_call_that_is_answered_with_json(json_only: Fleet) -> None:
    async with connected(json_only.url, wire.LATEST_HANDSHAKE) as client, asyncio.TaskGroup() as tasks:
        calling = tasks.create_task(client.call("slow", as_id="long", pin=0, seconds=60, tag="x"))
        await noted(client, 0, "began x")
        assert (await client.cancel("long", pin=1)).status == 202
        assert (await calling).body == b""


@pytest.mark.parametrize("date", LEGACY)
async def test_without_sessions_every_request_stands_alone(stateless: Fleet, date: str) -> None:
    async with Client(stateless.url, date) as client:
        for _ in range(2):
            hello = await handshake(client)
            assert hello.status == 200
            assert "mcp-session-id" not in hello.headers
            assert hello.result["protocolVersion"] == date
            able = hello.result["capabilities"]
            assert able["tools"] == able["prompts"] == able["resources"] == {}, "nobody could tell of changes"
            assert "logging" not in able
        assert (await client.notify("notifications/initialized")).status == 202
        version = {"MCP-Protocol-Version": date}
        listed = await client.request("tools/list", headers=version)
        assert "echo" in {tool["name"] for tool in listed.result["tools"]}
        told = (await client.request("tools/call", {"name": "whoami", "arguments": {}}, headers=version)).value
        assert (told["session"], told["revision"]) == (None, date)
    scopes = {key.split(b"{")[1].split(b"}")[0] for key in stateless.stored_keys()}
    assert scopes <= {b"events", b"keepers", b"versions"}, "something was kept of a client"


async def test_without_sessions_there_is_nothing_to_open_or_to_end(stateless: Fleet) -> None:
    async with Client(stateless.url, wire.LATEST_HANDSHAKE) as client:
        for method in ("GET", "DELETE"):
            answer = await client.send(method, headers={"Mcp-Session-Id": "0" * 32})
            assert (answer.status, answer.headers["allow"]) == (405, "POST")
        level = await client.request("logging/setLevel", {"level": "debug"})
        assert (level.status, level.error["code"]) == (200, -32601)
        counted = await client.call("count", n=1)
        assert counted.notifications == []


async def test_without_sessions_progress_comes_on_the_response(stateless: Fleet) -> None:
    async with Client(stateless.url, wire.LATEST_HANDSHAKE) as client:
        counted = await client.call("count", n=3, token=0)
        assert [each["params"]["progress"] for each in counted.notifications] == [1, 2, 3]
        assert counted.text == "3"


async def test_without_sessions_a_client_that_takes_only_streams_gets_one(stateless: Fleet) -> None:
    async with Client(stateless.url, wire.LATEST_HANDSHAKE, {"Accept": "text/event-stream"}) as client:
        answer = await client.call("echo", x="streamed")
        assert answer.is_stream
        assert answer.text == "streamed"


async def test_without_sessions_nothing_of_one_request_reaches_another(stateless: Fleet) -> None:
    """Not even a cancel: closing the connection is the only one there is."""
    async with Client(stateless.url, wire.LATEST_HANDSHAKE) as client:
        async with asyncio.TaskGroup() as tasks:
            calling = tasks.create_task(client.call("slow", as_id=7, pin=0, seconds=0.5, tag="kept"))
            await noted(client, 0, "began kept")
            assert (await client.cancel(7)).status == 202
            assert (await calling).text == "kept"
        async with client.calling("report", as_id=8, pin=0, token="t", tag="left") as stream:
            assert await stream.message()
        await noted(client, 0, "cancelled left")


async def test_without_sessions_batches_are_served_where_there_are_any(stateless: Fleet) -> None:
    batch: list[Any] = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "no/such"},
        {"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"_meta": 7}},
        7,
    ]
    async with Client(stateless.url, "2025-03-26") as client:
        answer = await client.send("POST", json.dumps(batch))
        assert [each.get("result", each.get("error", {}).get("code")) for each in answer.replies] == [
            {},
            -32601,
            -32602,
            -32600,
        ]
        assert (await client.send("POST", json.dumps(batch[1:2]))).status == 202
        later = {"MCP-Protocol-Version": wire.LATEST_HANDSHAKE}
        refused = await client.send("POST", json.dumps(batch), headers=later)
        assert (refused.status, refused.error["code"]) == (400, -32600)


async def test_without_sessions_nobody_was_asked_anything(stateless: Fleet) -> None:
    async with Client(stateless.url, wire.LATEST_HANDSHAKE) as client:
        answer = await client.send("POST", json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}))
        assert (answer.status, answer.error["data"]) == (400, {"reason": "nobody_asked"})


@pytest.mark.parametrize("stateless", ["true", "false"])
async def test_every_handshake_agrees_on_the_pinned_version(launch_fleet: Launch, stateless: str) -> None:
    fleet = launch_fleet(1, HANDSHAKE_VERSION="2025-03-26", STATELESS=stateless)
    for asked in (*wire.EVERY, "1999-01-01"):
        async with Client(fleet.url, wire.LATEST_HANDSHAKE) as client:
            assert (await handshake(client, asked)).result["protocolVersion"] == "2025-03-26"
    async with Client(fleet.url, MODERN) as client:
        assert (await client.call("echo", x="modern")).text == "modern"
        assert (await client.request("server/discover")).result["supportedVersions"] == [MODERN, "2025-03-26"]
        for params in ({}, client.enveloped({})):  # the header names a version, or the envelope does too
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": params})
            unknown = {"MCP-Protocol-Version": "1999-01-01", "Mcp-Method": "ping"}
            refused = await client.send("POST", body.replace(MODERN, "1999-01-01"), headers=unknown)
            assert (refused.error["code"], refused.error["data"]["supported"]) == (-32022, [MODERN, "2025-03-26"])


async def handshake(client: Client, asked: str | None = None) -> Answer:
    """Initialize, and keep nothing of it."""
    params = {"protocolVersion": asked or client.date, "capabilities": {}, "clientInfo": wire.CLIENT_INFO}
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    return await client.send("POST", json.dumps(message))


async def noted(client: Client, process: int, entry: str) -> None:
    """Return once a tool of the process has noted this."""
    async with asyncio.timeout(wire.DEADLINE):
        found: list[str] = []
        while entry not in found:
            found = (await client.call("journal", as_id="journal", pin=process)).value
