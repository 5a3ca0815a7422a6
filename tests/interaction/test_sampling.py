"""What a client's model is asked, and to whom it is said ("Sampling")."""

from tests.answer import Json
from tests.fleets import Fleet
from tests.wire import LATEST_HANDSHAKE, LEGACY, MODERN, connected

ABLE: Json = {"sampling": {"tools": {}, "context": {}}}
SAID: Json = {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m", "stopReason": "endTurn"}
ASKED: Json = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Where?"}}],
    "maxTokens": 10,
    "systemPrompt": "Be brief.",
    "modelPreferences": {"hints": [{"name": "small"}], "intelligencePriority": 0.8},
    "includeContext": "none",
    "temperature": 0.5,
    "stopSequences": ["."],
    "metadata": {"trace": 1},
    "tools": [{"name": "map", "inputSchema": {"type": "object"}}],
    "toolChoice": {"mode": "required"},
}


async def test_a_legacy_client_is_asked_with_all_that_a_model_can_be_told(featured: Fleet) -> None:
    """Sampling 2025-11-25, "Creating Messages"."""
    async with (
        connected(featured.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("compose") as stream,
    ):
        while (asked := await stream.message()) is not None and "id" not in asked:
            pass
        assert asked is not None
        assert (asked["method"], asked["params"]) == ("sampling/createMessage", ASKED)
        await client.answer(asked["id"], SAID)
        assert (await stream.answer()).replies[-1]["result"]["content"][0]["text"] == "Paris"


async def test_a_modern_client_is_asked_just_so(featured: Fleet) -> None:
    """Sampling 2026-07-28, "Creating Messages"."""
    async with connected(featured.url, MODERN, capabilities=ABLE) as client:
        first = await client.call("compose")
        [(key, asked)] = first.result["inputRequests"].items()
        assert (asked["method"], asked["params"]) == ("sampling/createMessage", ASKED)
        params: Json = {"name": "compose", "arguments": {}, "inputResponses": {key: SAID}}
        answer = await client.request("tools/call", {**params, "requestState": first.result["requestState"]})
        assert answer.text == "Paris"


async def test_tools_are_offered_only_to_a_model_whose_client_takes_them(featured: Fleet) -> None:
    """Sampling 2025-11-25, "Capabilities": not to those that declared `sampling` alone, nor to older ones."""
    for date, able in ((LATEST_HANDSHAKE, {"sampling": {}}), (MODERN, {"sampling": {}}), (LEGACY[2], ABLE)):
        async with connected(featured.url, date, capabilities=able) as client:
            answer = await client.call("compose")
            assert answer.reply["error"]["data"]["requiredCapabilities"]["sampling"] == {"tools": {}}
