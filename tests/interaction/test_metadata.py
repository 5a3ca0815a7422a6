"""`_meta` is an open place: whoever has something to say to others may put it there ("Overview", "_meta")."""

import pytest

from tests.answer import Json
from tests.fleets import Fleet
from tests.wire import EVERY, connected

OF_OTHERS: Json = {
    "io.modelcontextprotocol/of-another-revision": [{"taskId": 7}],
    "io.modelcontextprotocol/related-task": "no object",
    "dev.mcp/x": None,
    "com.example/": {"deep": {"er": [10**40]}},
    "traceparent": 7,
    "not a key": True,
    "": {},
}


@pytest.mark.parametrize("date", EVERY)
async def test_metadata_that_means_nothing_here_changes_nothing(fleet: Fleet, date: str) -> None:
    """Overview, "_meta": nothing is assumed of values under keys that this server does not know."""
    async with connected(fleet.url, date) as client:
        params: Json = {"name": "echo", "arguments": {"x": "hi"}, "_meta": OF_OTHERS}
        answer = await client.request("tools/call", params)
        assert (answer.status, answer.text) == (200, "hi")
        assert not OF_OTHERS.keys() & answer.result.get("_meta", {}).keys()
        assert (await client.request("tools/list", {"_meta": OF_OTHERS})).result["tools"]
