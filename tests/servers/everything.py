"""A server with something of everything, for the clients of others."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from mcpfleet import (
    AudioContent,
    Context,
    EmbeddedResource,
    Icon,
    ImageContent,
    ResourceLink,
    SamplingMessage,
    Server,
    TextContent,
    ToolAnnotations,
    ToolChoice,
    ToolError,
    ToolResultContent,
    ToolUseContent,
    apps,
)
from mcpfleet.protocol.messages.tools import Tool
from mcpfleet.server.fleet import Kind
from tests.servers import basic, inquisitive, skilled

FEATURE = "com.example/feature"
PAGE = "ui://everything/page"

server = Server(
    "everything",
    version="1.0.0",
    instructions="Ask for anything.",
    switchable=True,
    extensions={**apps.EXTENSION, FEATURE: {"level": 2}},
)
server.include(basic.server)
server.include(inquisitive.server, prefix="ask_")
server.include(skilled.server)


@dataclass
class Weather:
    """How it is somewhere."""

    city: str
    celsius: float
    winds: list[int]


@server.tool(
    title="Weather",
    annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    icons=[Icon(src="https://example.org/icon.png")],
    meta={"version": 1},
)
def weather(city: str) -> Weather:
    """Tell how it is somewhere."""
    return Weather(city, 21.5, [1, 2])


@server.tool
def kinds() -> list[TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink]:
    """Return content of every kind."""
    return [
        TextContent("text"),
        ImageContent.of(b"\x89PNG", "image/png"),
        AudioContent.of(b"RIFF", "audio/wav"),
        EmbeddedResource.of("test://embedded", "inside", "text/plain"),
        ResourceLink("test://linked", "linked"),
    ]


@server.tool
def fail(words: str) -> str:
    """Fail with these words."""
    raise ToolError(words)


@server.tool
def mirrored(region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})], ctx: Context) -> str:
    """Return the argument, and the header that repeats it."""
    return f"{region} {ctx.headers.get('Mcp-Param-Region')}"


@server.tool
async def speak(ctx: Context) -> None:
    """Log something at every third level."""
    await ctx.log("debug", "quiet", logger="speak")
    await ctx.log("warning", {"loud": True}, logger="speak")
    await ctx.log("emergency", ["very", "loud"], logger="speak")


@server.tool
async def reckon(ctx: Context) -> str:
    """Have the client's model use a tool, and tell it what that returned."""
    tool = Tool(name="add", description="Add.", input_schema={"type": "object"})
    question = SamplingMessage("user", TextContent("How much is 1 + 2?"))
    asked = await ctx.sample([question], max_tokens=10, tools=[tool], tool_choice=ToolChoice(mode="required"))
    [use] = [block for block in asked.blocks if isinstance(block, ToolUseContent)]
    result = SamplingMessage("user", [ToolResultContent(tool_use_id=use.id, content=[TextContent("3")])])
    said = await ctx.sample([question, SamplingMessage("assistant", asked.blocks), result], max_tokens=10, tools=[tool])
    return said.text


@server.tool(meta=apps.linked(PAGE))
def shown(ctx: Context) -> bool:
    """Tell whether the client would show the page."""
    return apps.supported(ctx.client_capabilities)


@server.resource(PAGE)
def page() -> str:
    """A page."""
    return "<html></html>"


@server.tool
async def switch(kind: Kind, name: str, on: bool, ctx: Context) -> None:
    """Switch one thing on or off for everybody."""
    await (ctx.fleet.enable(kind, name) if on else ctx.fleet.disable(kind, name))


@server.on_roots_changed
async def roots_changed(ctx: Context) -> None:
    """Note it."""
    basic.journal_entries.append(f"roots changed {ctx.session_id}")
