"""A server for the tests of tasks: tools that may take a while, and tools that ask while they do."""

import asyncio
from typing import Any

from mcpfleet import Context, ProtocolError, Server, ToolAnnotations, ToolError, forms

server = Server("lengthy", version="1.0.0")

REPEATABLE = ToolAnnotations(idempotent_hint=True)
NAME = forms.form(name=forms.text())


@server.tool(task="optional", annotations=REPEATABLE)
async def dig(depth: int, ctx: Context, delay: float = 0.0) -> dict[str, Any]:
    """Dig, and tell how deep."""
    await ctx.report_progress(1, total=2, message="digging")
    await asyncio.sleep(delay)
    return {"depth": depth}


@server.tool(task="required")
async def mine() -> str:
    """Find nothing."""
    raise ToolError("there is nothing")


@server.tool(task="optional")
async def collapse() -> None:
    """Fail as the protocol does."""
    raise ProtocolError(-32602, "it caved in", {"depth": 7})


@server.tool(task="optional", annotations=REPEATABLE)
async def ask_two(ctx: Context) -> list[str]:
    """Ask two things at once."""
    answers = await asyncio.gather(*(ctx.elicit(f"Who is {number}?", NAME) for number in (1, 2)))
    return [str((answer.content or {}).get("name")) for answer in answers]


@server.tool(task="optional", detach=False, annotations=REPEATABLE)
async def ask_first(ctx: Context) -> str:
    """Ask in the call, and go on as a task."""
    answer = await ctx.elicit("Who?", NAME)
    await ctx.detach()
    return f"{(answer.content or {}).get('name')} {'task' if ctx.task_id else 'call'}"
