"""A server for the tests of questions: tools that ask their client, and tell what they went through."""

import asyncio
import os
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from mcpfleet import Context, QuestionFailed, Server, ToolError, forms
from mcpfleet.errors import ClientRefused

server = Server("inquisitive", version="1.0.0")

journal_entries: list[str] = []
"""What the tools of this process went through, in order."""


@dataclass
class Person:
    """Who somebody is."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    mood: Literal["warm", "cool"] = "warm"
    age: int | None = None


@server.tool
async def greet(ctx: Context, timeout: float | None = None, tag: str = "") -> str:
    """Ask who is there, and greet."""
    journal_entries.append(f"asked {tag}")
    try:
        answer = await ctx.elicit("Who are you?", Person, timeout=timeout)
    except asyncio.CancelledError:
        journal_entries.append(f"cancelled {tag}")
        raise
    except ClientRefused as error:
        raise ToolError(f"refused: {error.code} {error.message} {error.data}") from None
    if answer.content is None:
        return f"{answer.action}d"
    return f"{answer.content.mood} {answer.content.name} {answer.content.age}"


@server.tool
async def fill_in(ctx: Context) -> dict[str, object]:
    """Ask with every kind of field."""
    form = forms.form(
        name=forms.text(title="Name", default="John"),
        age=forms.integer(minimum=0, default=30),
        score=forms.number(default=95.5),
        agreed=forms.yes_no(default=True),
        single=forms.choice(["a", "b"]),
        titled=forms.choice({"a": "First", "b": "Second"}),
        named=forms.named_choice({"a": "First", "b": "Second"}),
        several=forms.choices(["a", "b"], optional=True),
    )
    answer = await ctx.elicit("All of it", form)
    return {"action": answer.action, "content": answer.content}


@server.tool
async def both(ctx: Context) -> str:
    """Ask two things at once."""
    answer, said = await asyncio.gather(
        ctx.elicit("Who?", forms.form(name=forms.text())), ctx.sample("What is the capital?", max_tokens=10)
    )
    return f"{(answer.content or {}).get('name')} {said.text}"


@server.tool
async def where(ctx: Context) -> list[str]:
    """Ask for the roots."""
    return [root.uri for root in await ctx.list_roots()]


@server.tool
async def ping_back(ctx: Context) -> str:
    """Ping the client."""
    await ctx.ping(timeout=5)
    return "there"


@server.tool
async def patient(ctx: Context) -> str:
    """Ask, and go on without an answer."""
    try:
        await ctx.elicit("Anybody?", Person, timeout=0.3)
    except QuestionFailed as error:
        return f"went on: {type(error).__name__}"
    return "answered"


@server.tool(timeout=0.3)
async def hurried(ctx: Context) -> str:
    """Ask, with less time than an answer takes."""
    await ctx.elicit("Quick!", Person)
    return "answered"


@server.tool
def pid() -> int:
    """Which process this is."""
    return os.getpid()


@server.tool
def journal() -> list[str]:
    """What the tools of this very process went through; pin the request to a process."""
    return journal_entries
