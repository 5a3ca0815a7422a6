"""The official clients and tools, in every era and over every transport."""

import asyncio
from typing import Any

import pytest

from tests.fleets import Fleet
from tests.interop.conftest import PAGE_SIZE, Drivers, where
from tests.interop.driver import Connection, Json, Refused, noted
from tests.interop.subjects import Subject, shows

LEVEL = "io.modelcontextprotocol/logLevel"


@shows("tools")
async def test_it_lists_them_page_by_page(client: Connection) -> None:
    tools = await listed(client)
    assert len(tools) > 3 * PAGE_SIZE
    assert {"add", "ask_greet", "weather", "switch"} <= {*tools}


@shows("tools")
async def test_it_is_refused_a_page_that_does_not_exist(client: Connection) -> None:
    with pytest.raises(Refused) as refused:
        await client.request("tools/list", {"cursor": "garbage"})
    assert refused.value.code == -32602


@shows("tools")
async def test_it_sees_all_that_a_tool_says_of_itself(client: Connection) -> None:
    tool = (await listed(client))["weather"]
    assert (tool["title"], tool["description"]) == ("Weather", "Tell how it is somewhere.")
    assert tool["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    assert tool["icons"] == [{"src": "https://example.org/icon.png"}]
    assert tool["_meta"] == {"version": 1}
    assert tool["inputSchema"]["properties"]["city"]["type"] == "string"
    assert tool["outputSchema"]["required"] == ["city", "celsius", "winds"]


@shows("tools")
async def test_it_finds_structured_output_to_fit_its_schema(client: Connection) -> None:
    """These clients check it themselves once they have listed the tool."""
    await listed(client)
    result = await client.request("tools/call", {"name": "weather", "arguments": {"city": "Oslo"}})
    assert result["structuredContent"] == {"city": "Oslo", "celsius": 21.5, "winds": [1, 2]}


@shows("tools")
async def test_it_gets_content_of_every_kind(client: Connection) -> None:
    result = await client.request("tools/call", {"name": "kinds", "arguments": {}})
    text, image, audio, embedded, link = result["content"]
    assert text == {"type": "text", "text": "text"}
    assert image == {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}
    assert (audio["type"], audio["mimeType"]) == ("audio", "audio/wav")
    assert embedded["resource"] == {"uri": "test://embedded", "text": "inside", "mimeType": "text/plain"}
    assert (link["type"], link["uri"], link["name"]) == ("resource_link", "test://linked", "linked")


@shows("tools")
async def test_it_is_told_what_went_wrong_in_a_tool(client: Connection) -> None:
    result = await client.request("tools/call", {"name": "fail", "arguments": {"words": "no such city"}})
    assert result["isError"]
    assert result["content"] == [{"type": "text", "text": "no such city"}]


@shows("tools")
async def test_it_is_told_which_argument_is_wrong(client: Connection) -> None:
    result = await client.request("tools/call", {"name": "add", "arguments": {"a": "one", "b": 2}})
    assert result["isError"]
    assert "a" in result["content"][0]["text"]


@shows("tools")
async def test_it_is_refused_a_tool_that_does_not_exist(client: Connection) -> None:
    with pytest.raises(Refused) as refused:
        await client.call("nothing")
    assert refused.value.code == -32602


@shows("tools")
async def test_calls_at_once_are_not_mixed_up(client: Connection) -> None:
    answers = await asyncio.gather(*(client.call("echo", x=f"no. {turn}") for turn in range(30)))
    assert answers == [f"no. {turn}" for turn in range(30)]


@shows("several processes")
async def test_its_calls_run_on_every_process(client: Connection) -> None:
    assert len({(await client.call("whoami"))["pid"] for _ in range(6)}) == 3


@shows("progress")
async def test_it_follows_the_progress_of_a_call(client: Connection) -> None:
    told: list[Json] = []
    call = {"name": "count", "arguments": {"n": 3, "delay": 0.05}}
    await client.request("tools/call", call, progress=told)
    assert told == [{"progress": step, "total": 3, "message": f"{step} of 3"} for step in (1, 2, 3)]


@shows("log levels of a session")
async def test_it_hears_what_is_logged_once_it_has_said_how_much(client: Connection) -> None:
    await client.call("speak")
    await client.request("logging/setLevel", {"level": "warning"})
    await client.call("speak")
    assert [await client.heard("notifications/message") for _ in range(2)] == LOUD
    await client.request("logging/setLevel", {"level": "emergency"})
    await client.call("speak")
    assert await client.heard("notifications/message") == LOUD[1]
    with pytest.raises(Refused) as refused:
        await client.request("logging/setLevel", {"level": "loud"})
    assert refused.value.code in {-32602, "ValidationError"}  # some look at it themselves


@shows("log levels of a request")
async def test_it_hears_of_a_request_what_it_wants_to_hear(client: Connection) -> None:
    for level, wanted in (("warning", LOUD), ("emergency", LOUD[1:])):
        await client.request("tools/call", {"name": "speak", "arguments": {}, "_meta": {LEVEL: level}})
        assert [await client.heard("notifications/message") for _ in wanted] == wanted
    await client.call("speak")
    assert [method for method, _ in client.told] == []


@shows("cancellation")
async def test_a_call_that_it_gives_up_ends_where_it_runs(client: Connection, subject: Subject) -> None:
    tag = f"given up by {subject}"
    calling = asyncio.create_task(client.call("slow", seconds=60, tag=tag))
    await noted(client, f"began {tag}")
    calling.cancel()
    await noted(client, f"cancelled {tag}")


@shows("timeouts")
async def test_a_call_that_takes_too_long_for_it_ends_where_it_runs(client: Connection, subject: Subject) -> None:
    tag = f"too long for {subject}"
    with pytest.raises(Refused) as refused:
        await client.request("tools/call", {"name": "slow", "arguments": {"seconds": 60, "tag": tag}}, timeout=0.2)
    assert refused.value.code in {-32001, "REQUEST_TIMEOUT", 408}
    await noted(client, f"cancelled {tag}")


@shows("arguments in headers")
async def test_it_repeats_in_headers_what_a_tool_wants_repeated(client: Connection) -> None:
    await listed(client)
    assert await client.call("mirrored", region="Zürich") == "Zürich =?base64?WsO8cmljaA==?="


@shows("tools that come and go")
async def test_it_does_not_see_what_is_switched_off(client: Connection) -> None:
    try:
        await client.call("switch", kind="tool", name="flood", on=False)
        assert "flood" not in await listed(client)
        with pytest.raises(Refused) as refused:
            await client.call("flood", n=1, size=1)
        assert refused.value.code == -32602
    finally:
        await client.call("switch", kind="tool", name="flood", on=True)
    assert "flood" in await listed(client)


@shows("pages of tools", "http")
async def test_it_can_say_that_it_shows_pages(subject: Subject, drivers: Drivers, served: Fleet) -> None:
    """The extension for MCP Apps: what a tool links to, and what a client declares."""
    ui = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
    for extensions in (None, ui):
        driver = drivers[subject.client]
        async with driver.connected(where(subject, served), era=subject.era, extensions=extensions) as client:
            assert (await listed(client))["shown"]["_meta"]["ui"] == {"resourceUri": "ui://everything/page"}
            [page] = (await client.request("resources/read", {"uri": "ui://everything/page"}))["contents"]
            assert page["mimeType"] == "text/html;profile=mcp-app"
            assert await client.call("shown") is (extensions is not None)


LOUD: list[Json] = [
    {"level": "warning", "logger": "speak", "data": {"loud": True}},
    {"level": "emergency", "logger": "speak", "data": ["very", "loud"]},
]


async def listed(client: Connection) -> dict[str, Any]:
    """Every tool by its name; some clients walk through the pages themselves."""
    page = await client.request("tools/list")
    tools = page["tools"]
    while cursor := page.get("nextCursor"):
        page = await client.request("tools/list", {"cursor": cursor})
        tools += page["tools"]
    assert len(tools) == len({tool["name"] for tool in tools})
    return {tool["name"]: tool for tool in tools}
