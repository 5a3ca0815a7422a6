"""A tool that takes its time: it goes on while nobody is connected, and after the death of the process that ran it."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from mcpfleet import Context, Server, ToolAnnotations

server = Server("research", version="1.0.0", instructions="Reports on any topic; they take a while.")


@dataclass
class Scope:
    """What the user is asked."""

    depth: Annotated[int, Meta(ge=1, le=5, description="How many sources to read")]


@server.tool(task="required", annotations=ToolAnnotations(idempotent_hint=True), task_ttl=3600)
async def research(topic: str, ctx: Context, seconds_each: float = 1.0) -> str:
    """Read what there is on a topic, and report on it; asks how thoroughly."""
    asked = await ctx.elicit(f"How many sources shall be read on {topic}?", Scope)
    if asked.content is None:
        return "Nothing was read."
    notes = []
    for source in range(asked.content.depth):
        await ctx.report_progress(source, total=asked.content.depth, message=f"reading source {source + 1}")
        notes.append(await ctx.step(f"read {source}", lambda: read(topic, seconds_each)))
    return f"{topic}: " + " ".join(notes)


async def read(topic: str, seconds: float) -> str:
    """One source; read once, however often the tool is begun again."""
    await asyncio.sleep(seconds)
    return f"A source says that there is much to say about {topic}."
