"""The server's own pings (Ping, "Behavior Requirements"): no capability is needed, and the answer is an empty result.

It may be given to any process.
"""

import json

import pytest

from tests.answer import Json
from tests.fleets import Fleet
from tests.wire import LEGACY, Client, Stream, connected


async def pinged(stream: Stream) -> Json:
    """The ping on a call's stream."""
    while (message := await stream.message()) is not None:
        if message.get("method") == "ping":
            return message
    raise AssertionError("the stream ended without a ping")


async def ended(stream: Stream) -> Json:
    """The result of the call."""
    result: Json = (await stream.answer()).replies[-1]["result"]
    return result


@pytest.mark.parametrize("date", LEGACY)
async def test_a_client_that_has_declared_nothing_is_pinged(asking_fleet: Fleet, date: str) -> None:
    """Ping, "Message Format": without parameters; and any party may send one."""
    async with connected(asking_fleet.url, date) as client, client.calling("ping_back", pin=0) as stream:
        ping = await pinged(stream)
        assert ping.keys() == {"jsonrpc", "id", "method"}
        assert (await client.answer(ping["id"], {}, pin=len(asking_fleet.processes) - 1)).status == 202
        assert (await ended(stream))["content"][0]["text"] == "there"


async def test_an_error_in_place_of_an_answer_is_the_tools_to_handle(asking_fleet: Fleet) -> None:
    async with connected(asking_fleet.url, LEGACY[-1]) as client, client.calling("ping_back") as stream:
        await client.answer((await pinged(stream))["id"], error={"code": -32603, "message": "not now"})
        result = await ended(stream)
        assert result["isError"]
        assert "not now (-32603)" in result["content"][0]["text"]


@pytest.mark.parametrize("result", ["pong", None, [], 7])
async def test_what_is_no_result_is_no_answer(asking_fleet: Fleet, result: object) -> None:
    """Overview, "Responses": a result is an object; the ping goes on waiting for one."""
    async with connected(asking_fleet.url, LEGACY[-1]) as client, client.calling("ping_back") as stream:
        ping = await pinged(stream)
        assert (await posted(client, {"jsonrpc": "2.0", "id": ping["id"], "result": result})) == 400
        assert (await posted(client, {"jsonrpc": "2.0", "id": ping["id"], "result": {"any": "thing"}})) == 202
        assert (await ended(stream))["content"][0]["text"] == "there"


async def posted(client: Client, message: Json) -> int:
    return (await client.send("POST", json.dumps(message))).status
