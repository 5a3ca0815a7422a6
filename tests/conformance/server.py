"""What the official suite expects of a server under test, served by `mcpfleet serve tests.conformance.server:server`.

The suite calls these by name; what they say is in its own words.
"""

import asyncio
import base64
from typing import Annotated, Any, Final

from msgspec import Meta

from mcpfleet import AudioContent, Context, EmbeddedResource, ImageContent, Server, TextContent, ToolError, forms

server = Server("conformance", version="1.0.0")

PNG: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
"""One red pixel."""
WAV: Final = base64.b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=")
"""No sound at all."""
STEP_SECONDS: Final = 0.05


@server.tool
def test_simple_text() -> str:
    """Return a text; it is the first tool, since the suite calls the first without arguments."""
    return "This is a simple text response for testing."


@server.tool
def test_image_content() -> ImageContent:
    """Return an image."""
    return ImageContent.of(PNG, "image/png")


@server.tool
def test_audio_content() -> AudioContent:
    """Return a sound."""
    return AudioContent.of(WAV, "audio/wav")


@server.tool
def test_embedded_resource() -> EmbeddedResource:
    """Return a resource."""
    return EmbeddedResource.of("test://embedded-resource", "This is an embedded resource content.", "text/plain")


@server.tool
def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Return a text, an image and a resource."""
    return [
        TextContent("Multiple content types test:"),
        ImageContent.of(PNG, "image/png"),
        EmbeddedResource.of("test://mixed-content-resource", '{"test": "data", "value": 123}', "application/json"),
    ]


@server.tool
def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@server.tool
async def test_tool_with_logging(ctx: Context) -> str:
    """Log while it runs."""
    await ctx.log("info", "Tool execution started")
    await asyncio.sleep(STEP_SECONDS)
    await ctx.log("info", "Tool processing data")
    await asyncio.sleep(STEP_SECONDS)
    await ctx.log("info", "Tool execution completed")
    return "Tool with logging executed successfully"


@server.tool
async def test_tool_with_progress(ctx: Context) -> str:
    """Report progress while it runs."""
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, total=100, message=f"Completed step {progress} of 100")
        await asyncio.sleep(STEP_SECONDS)
    return "Tool with progress executed successfully"


@server.tool
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Ask the client's model."""
    return f"LLM response: {(await ctx.sample(prompt, max_tokens=100)).text}"


@server.tool
async def test_elicitation(message: str, ctx: Context) -> str:
    """Ask the user for two texts."""
    form = forms.form(
        username=forms.text(description="User's response"), email=forms.text(description="User's email address")
    )
    return _told(await ctx.elicit(message, form))


@server.tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask the user with a default for each kind of field."""
    form = forms.form(
        name=forms.text(description="User name", default="John Doe"),
        age=forms.integer(description="User age", default=30),
        score=forms.number(description="User score", default=95.5),
        status=forms.choice(["active", "inactive", "pending"], description="User status", default="active"),
        verified=forms.yes_no(description="Verification status", default=True),
    )
    return _told(await ctx.elicit("Please review and update the form fields with defaults", form))


@server.tool
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask the user with every kind of choice."""
    form = forms.form(
        untitledSingle=forms.choice(["option1", "option2", "option3"]),
        titledSingle=forms.choice({f"value{i}": f"{i}. Option" for i in (1, 2, 3)}),
        legacyEnum=forms.named_choice({f"opt{i}": f"Option {i}" for i in (1, 2, 3)}),
        untitledMulti=forms.choices(["option1", "option2", "option3"]),
        titledMulti=forms.choices({f"value{i}": f"{i}. Choice" for i in (1, 2, 3)}),
    )
    return _told(await ctx.elicit("Please select options from the enum fields", form))


def _told(answer: Any) -> str:
    return f"User response: action={answer.action}, content={answer.content}"


ADDRESS: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@server.tool(input_schema=ADDRESS)
def json_schema_2020_12_tool(arguments: dict[str, Any]) -> str:
    """Take what a hand-written schema describes."""
    return f"JSON Schema 2020-12 tool called with: {arguments}"


@server.tool
def test_x_mcp_header(region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})]) -> str:
    """Take an argument that a header repeats."""
    return f"Region: {region}"


@server.tool
async def test_missing_capability(ctx: Context) -> str:
    """Ask for what the client may not have."""
    return (await ctx.sample("Say something.", max_tokens=10)).text


@server.tool
async def test_logging_tool(ctx: Context) -> str:
    """Log to a client that did not ask for it."""
    await ctx.log("info", "Nobody is to read this")
    return "Logging tool executed"
