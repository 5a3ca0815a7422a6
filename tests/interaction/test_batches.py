"""Batches: one revision has them, every other refuses them ("Transports" 2025-03-26, "Sending Messages")."""

import json

import pytest

from tests.answer import Answer, Json
from tests.fleets import Fleet
from tests.wire import LEGACY, Client, connected

BATCHING = "2025-03-26"


async def test_each_request_of_a_batch_is_answered_in_one_array(fleet: Fleet) -> None:
    """Transports 2025-03-26, "Sending Messages to the Server": requests, notifications and responses may be mixed; what
    is no message is told so."""
    batch = [
        called(1, "first"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        called("1", "second"),
        {"jsonrpc": "2.0", "id": 3, "method": "no/such/method"},
        {"jsonrpc": "2.0", "id": 4, "method": "ping"},
        7,
    ]
    async with connected(fleet.url, BATCHING) as client:
        answer = await posted(client, batch)
    assert isinstance(json.loads(answer.body), list)
    found = {json.dumps(reply.get("id")): reply for reply in answer.replies}
    assert len(answer.replies) == len(found) == 5
    assert found["1"]["result"]["content"][0]["text"] == "first"
    assert found['"1"']["result"]["content"][0]["text"] == "second"
    assert found["3"]["error"]["code"] == -32601
    assert found["4"]["result"] == {}
    assert found["null"]["error"]["code"] == -32600


async def test_a_batch_of_notifications_is_accepted_without_a_body(fleet: Fleet) -> None:
    """Transports 2025-03-26, "Sending Messages to the Server": 202 if the input has no request."""
    async with connected(fleet.url, BATCHING) as client:
        answer = await posted(client, [{"jsonrpc": "2.0", "method": "notifications/initialized"}] * 2)
    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.parametrize("date", [date for date in LEGACY if date != BATCHING])
async def test_a_batch_in_a_session_of_another_revision_is_refused_whole(fleet: Fleet, date: str) -> None:
    """Key Changes 2025-06-18, "Major changes": batching is removed; 2024-11-05 has none over HTTP."""
    async with connected(fleet.url, date) as client:
        answer = await posted(client, [called(1, "first")])
        assert (answer.status, answer.error["code"]) == (400, -32600)
        assert (await client.call("echo", x="lives")).text == "lives"


@pytest.mark.parametrize("batch", [[], [{}] * 101], ids=["empty", "oversized"])
async def test_an_empty_or_oversized_batch_is_refused(fleet: Fleet, batch: list[Json]) -> None:
    """JSON-RPC 2.0, "Batch"."""
    async with connected(fleet.url, BATCHING) as client:
        answer = await posted(client, batch)
    assert (answer.status, answer.error["code"]) == (400, -32600)


async def test_a_batch_may_not_hold_the_handshake(fleet: Fleet) -> None:
    """Lifecycle 2025-03-26, "Initialization": it MUST NOT be part of a batch."""
    hello = {"protocolVersion": BATCHING, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    async with Client(fleet.url, BATCHING) as client:
        answer = await posted(client, [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}])
    assert (answer.status, answer.error["code"]) == (400, -32600)
    assert "Mcp-Session-Id" not in answer.headers


def called(request_id: int | str, text: str) -> Json:
    """A call of the tool `echo`."""
    params = {"name": "echo", "arguments": {"x": text}}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


async def posted(client: Client, batch: list[Json] | list[object]) -> Answer:
    return await client.send("POST", json.dumps(batch))
