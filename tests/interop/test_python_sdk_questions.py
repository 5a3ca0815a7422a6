"""The official Python SDK's client is asked, and answers, in both eras, behind the hostile balancer."""

import json
import sys

import pytest
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp_types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
)
from pydantic import FileUrl

from tests.fleets import Fleet, Launch
from tests.processes import ROOT, environment

both_eras = pytest.mark.parametrize("mode", ["legacy", "auto"])


async def fill_in(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """Fill every required field in, as a user in a hurry does; agree to every page."""
    if not isinstance(params, ElicitRequestFormParams):
        return ElicitResult(action="accept")
    values = {"string": "Ada", "boolean": True, "integer": 3, "number": 1.5}
    properties = dict(params.requested_schema["properties"])
    content: dict[str, str | int | float | bool | list[str] | None] = {}
    for name in params.requested_schema.get("required", ()):
        one = properties[name]
        content[name] = one.get("enum", [values[one["type"]]])[0] if "oneOf" not in one else one["oneOf"][0]["const"]
    return ElicitResult(action="accept", content=content)


async def say(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
    assert params.max_tokens == 10
    return CreateMessageResult(role="assistant", content=TextContent(text="Paris"), model="m")


async def roots(context: ClientRequestContext) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri=FileUrl("file:///home"))])


def asked(fleet: Fleet, mode: str) -> Client:
    """The SDK's client, which can be asked everything."""
    return Client(fleet.url, mode=mode, elicitation_callback=fill_in, sampling_callback=say, list_roots_callback=roots)


@both_eras
async def test_over_stdio_it_is_asked_just_so(mode: str) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "mcpfleet_service.cli", "stdio", "tests.servers.inquisitive:server"],
        env=environment({}),
        cwd=ROOT,
    )
    async with Client(
        command, mode=mode, elicitation_callback=fill_in, sampling_callback=say, list_roots_callback=roots
    ) as client:
        assert text(await client.call_tool("greet")) == "warm Ada None"
        assert text(await client.call_tool("both")) == "Ada Paris"
        assert text(await client.call_tool("by_hand")) == "Hello, Ada!"
        assert text(await client.call_tool("stepwise")) == "after 3 rounds: ['client_roots', 'step']"


@pytest.fixture
def fleet(launch_fleet: Launch) -> Fleet:
    return launch_fleet(3, server="tests.servers.inquisitive:server")


@both_eras
async def test_it_answers_forms_pages_samples_and_roots(fleet: Fleet, mode: str) -> None:
    async with asked(fleet, mode) as client:
        assert text(await client.call_tool("greet")) == "warm Ada None"
        filled = json.loads(text(await client.call_tool("fill_in")))
        assert filled == {"action": "accept", "content": {"single": "a", "titled": "a", "named": "a"}}
        assert text(await client.call_tool("both")) == "Ada Paris"
        assert json.loads(text(await client.call_tool("where"))) == ["file:///home"]
        assert text(await client.call_tool("pay")) == "accept"
        booked = json.loads(text(await client.call_tool("booked", {"room": "12"})))
        assert (booked["name"], booked["paid"]) == ({"name": "Ada"}, {"paid": True})


@both_eras
async def test_handlers_that_speak_of_rounds_themselves_are_served_too(fleet: Fleet, mode: str) -> None:
    async with asked(fleet, mode) as client:
        assert text(await client.call_tool("by_hand")) == "Hello, Ada!"
        assert text(await client.call_tool("stepwise")) == "after 3 rounds: ['client_roots', 'step']"
        prompt = await client.get_prompt("about")
        assert prompt.messages[0].content == TextContent(text="Let us talk about Ada.")
        [content] = (await client.read_resource("secret://plan")).contents
        assert getattr(content, "text", None) == "plan is shown"


def text(result: CallToolResult) -> str:
    assert not result.is_error, result
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text
