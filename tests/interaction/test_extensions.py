"""Extensions in both eras: the set of capabilities is open in every revision (Lifecycle, "Capability Negotiation")."""

import pytest

from mcpfleet import apps
from tests.answer import Json
from tests.fleets import Fleet
from tests.wire import EVERY, connected

DECLARED = {**apps.EXTENSION, "com.example/feature": {"enabled": True}}


@pytest.mark.parametrize("date", EVERY)
async def test_a_server_declares_its_extensions_to_every_client(featured: Fleet, date: str) -> None:
    async with connected(featured.url, date) as client:
        hello = await (client.request("server/discover") if client.modern else client.initialize())
        assert hello.result["capabilities"]["extensions"] == DECLARED


@pytest.mark.parametrize("date", EVERY)
@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"extensions": {**apps.EXTENSION}}, "see the page"),
        ({"extensions": {"com.example/feature": {}}}, "noon"),
        ({}, "noon"),
    ],
)
async def test_a_tool_sees_the_extensions_of_its_client(featured: Fleet, date: str, declared: Json, said: str) -> None:
    async with connected(featured.url, date, capabilities=declared) as client:
        assert (await client.call("clock")).text == said


@pytest.mark.parametrize("date", EVERY)
async def test_the_page_of_a_tool_is_a_resource_of_the_kind_that_hosts_show(featured: Fleet, date: str) -> None:
    async with connected(featured.url, date) as client:
        [page] = (await client.request("resources/read", {"uri": "ui://clock"})).result["contents"]
        assert page == {"uri": "ui://clock", "mimeType": "text/html;profile=mcp-app", "text": "<html>noon</html>"}
        [listed] = (await client.request("resources/list")).result["resources"]
        assert listed["mimeType"] == page["mimeType"]
        tools = (await client.request("tools/list")).result["tools"]
        clock = next(tool for tool in tools if tool["name"] == "clock")
        if date >= "2025-06-18":  # the first that knows `_meta` there
            assert clock["_meta"] == {"ui": {"resourceUri": "ui://clock"}, "ui/resourceUri": "ui://clock"}
