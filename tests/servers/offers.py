"""Prompts, resources, templates and completions for the tests of the fleet."""

from typing import Annotated, Any, Literal

from mcpfleet import (
    Annotations,
    AudioContent,
    CacheHint,
    Context,
    EmbeddedResource,
    Icon,
    ImageContent,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceContents,
    ResourceLink,
    ResourceTemplate,
    Server,
)

server = Server("offers")

ICON = Icon(src="https://example.org/icon.png")
TOLD = Annotations(audience=["user"], priority=0.5, last_modified="2026-07-28T00:00:00Z")


@server.prompt(
    title="Code review",
    icons=[ICON],
    meta={"version": 1},
    arguments=[
        PromptArgument("code", title="Code", description="What to review.", required=True),
        PromptArgument("depth"),
    ],
)
def review(code: str, depth: int = 1) -> str:
    """Review some code."""
    return f"Review {depth} deep: {code}"


@server.prompt
async def greet(name: Annotated[str, "Whom to greet."], mood: Literal["warm", "cool"] = "warm") -> str:
    """Greet somebody."""
    return f"{mood} {name}"


@server.prompt
async def media(ctx: Context) -> list[Any]:
    """Messages of every kind."""
    return [
        "text",
        ImageContent.of(b"\x89PNG", "image/png"),
        AudioContent.of(b"RIFF", "audio/wav"),
        EmbeddedResource.of("test://embedded", "text", "text/plain"),
        ResourceLink("test://linked", "linked"),
        PromptMessage.assistant(f"in {ctx.protocol_version}"),
    ]


@server.prompt
def fails() -> str:
    """Raise what nobody may read."""
    raise RuntimeError("hunter2")


@server.completion("prompt", "review", argument="code")
def snippets(value: str, arguments: dict[str, str]) -> list[str]:
    """As many snippets as are asked for."""
    return [f"{value}{number}" for number in range(int(arguments.get("depth", "1")))]


@server.resource(
    "config://app",
    title="Settings",
    mime_type="application/json",
    size=14,
    annotations=TOLD,
    icons=[ICON],
    meta={"version": 1},
    cache=CacheHint(60, "public"),
)
def config() -> dict[str, bool]:
    """The settings of the application."""
    return {"debug": True}


@server.resource("test://logo", mime_type="image/png")
async def logo() -> bytes:
    """An image."""
    return b"\x89PNG"


@server.resource("test://several")
def several() -> list[Any]:
    """Two contents."""
    return ["text", ResourceContents("test://other", blob="aGk=", mime_type="image/png", meta={"part": 2})]


@server.resource("users://{user_id}/profile", title="Profile", annotations=TOLD, icons=[ICON], meta={"version": 1})
async def profile(user_id: str, ctx: Context) -> dict[str, str | None]:
    """What is known of a user."""
    return {"user": user_id, "asked_by": None if ctx.principal is None else ctx.principal.subject}


@server.resource("users://me/profile")
def mine() -> str:
    """An exact resource among the users."""
    return "me"


@server.completion("resource", "users://{user_id}/profile", argument="user_id")
def users(value: str) -> list[str]:
    """A hundred and fifty users."""
    return [f"{value}{number}" for number in range(150)]


@server.list_resources
async def notes(ctx: Context) -> list[Resource | ResourceTemplate]:
    """A note for whoever asks, and where all notes are."""
    whose = "nobody" if ctx.principal is None else ctx.principal.subject
    return [
        Resource(uri=f"notes://{whose}/deep/first", name=f"{whose}'s note"),
        ResourceTemplate(uri_template="notes://{+path}", name="notes"),
    ]


@server.read_resource
async def note(uri: str) -> str | None:
    """Any note, however deep."""
    return f"note at {uri}" if uri.startswith("notes://") and uri.endswith("first") else None


@server.method("acme/add")
async def add(a: int, b: int, ctx: Context) -> dict[str, Any]:
    """Add two numbers, and tell what the context knows."""
    return {"sum": a + b, "revision": ctx.protocol_version}


@server.method("acme/length")
def length(text: str) -> int:
    """A result that is no object."""
    return len(text)
