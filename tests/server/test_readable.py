"""What a function puts together that no client could read is its own fault, found before it is sent."""

from collections.abc import Callable
from typing import Any

import pytest

from mcpfleet import (
    CallToolResult,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceContents,
    ResourceLink,
    ResourceTemplate,
    Server,
    TextContent,
)
from mcpfleet.errors import OutputRefused
from mcpfleet.server.readable import readable
from tests.server.methods.desk import asking
from tests.server.methods.offers import lister, prompt, resource, tool

MUTE: Any = TextContent(5)  # type: ignore[arg-type]  # the case
NAMELESS: Any = ResourceLink("test://a", None)  # type: ignore[arg-type]  # the case
SYSTEM: Any = PromptMessage("system", TextContent("hi"))  # type: ignore[arg-type]  # the case
UNTYPED: Any = ResourceContents("test://a", "hi", meta=[1])  # type: ignore[arg-type]  # the case


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (MUTE, "a TextContent that no client could read: text: Expected `str`, got `int`"),
        (NAMELESS, "a ResourceLink that no client could read: name: Expected `str`, got `null`"),
        (TextContent("hi", meta={"a": object()}), "a TextContent has no JSON form"),
        (EmbeddedResource(UNTYPED), "resource._meta: Expected"),
        (SYSTEM, "role: Invalid enum value 'system'"),
        (CallToolResult(content=(TextContent("hi"), MUTE)), r"content\[1\]\.text"),
    ],
)
def test_what_no_client_could_read_is_told_by_its_member(made: Any, words: str) -> None:
    with pytest.raises(OutputRefused, match=words):
        readable(made)


@pytest.mark.parametrize("made", [TextContent("hi"), ImageContent.of(b"hi", "image/png"), PromptMessage.user("hi")])
def test_what_clients_can_read_is_handed_on_as_it_is(made: Any) -> None:
    assert readable(made) is made


@pytest.mark.parametrize(
    ("offer", "asked", "params", "value"),
    [
        (tool, "tools/call", {"name": "x"}, MUTE),
        (tool, "tools/call", {"name": "x"}, [TextContent("hi"), MUTE]),
        (tool, "tools/call", {"name": "x"}, CallToolResult(content=(MUTE,), structured_content={"a": 1})),
        (tool, "tools/call", {"name": "x"}, CallToolResult(content=(MUTE,), is_error=True)),
        (prompt, "prompts/get", {"name": "x"}, MUTE),
        (prompt, "prompts/get", {"name": "x"}, ["hi", SYSTEM]),
        (prompt, "prompts/get", {"name": "x"}, GetPromptResult(messages=[SYSTEM])),
        (resource, "resources/read", {"uri": "x://x"}, UNTYPED),
        (resource, "resources/read", {"uri": "x://x"}, ReadResourceResult(contents=[UNTYPED])),
        (lister, "resources/list", {}, [Resource(uri="x://y", name=5)]),  # type: ignore[arg-type]  # the case
        (lister, "resources/list", {}, [Resource(uri="y", name="y")]),
        (lister, "resources/templates/list", {}, [ResourceTemplate(uri_template=5, name="y")]),  # type: ignore[arg-type]  # the case
    ],
)
async def test_it_does_not_go_out_whatever_returned_it(
    offer: Callable[..., None], asked: str, params: dict[str, Any], value: Any
) -> None:
    server = Server("s")
    offer(server, lambda: value)
    async with asking(server) as desk:
        if asked == "tools/call":
            result = await desk.result(asked, params)
            assert result["isError"]
            assert "Correlation id" in result["content"][0]["text"]
        else:
            assert (await desk.refusal(asked, params)).code == -32603
