"""A request that asks for nothing, and tells its client to come back: a state alone.

Multi Round-Trip Requests, "Server Requirements (Basic Workflow)".
"""

import pytest

from tests.answer import Json
from tests.fleets import Fleet
from tests.wire import LEGACY, MODERN, connected


async def test_a_modern_client_comes_back_with_the_state_to_any_process(featured: Fleet) -> None:
    async with connected(featured.url, MODERN) as client:
        params: Json = {"name": "not_yet", "arguments": {}}
        for turn in range(2):
            answer = await client.request("tools/call", params, as_id=turn)
            assert answer.result["resultType"] == "input_required"
            assert "inputRequests" not in answer.result
            params = {**params, "requestState": answer.result["requestState"]}
        assert (await client.request("tools/call", params, as_id="last")).text == "done in turn 2"


@pytest.mark.parametrize("date", LEGACY)
async def test_for_a_legacy_client_the_server_does_so_itself(featured: Fleet, date: str) -> None:
    async with connected(featured.url, date) as client:
        answer = await client.call("not_yet")
        assert answer.replies[-1]["result"]["content"][0]["text"] == "done in turn 2"
