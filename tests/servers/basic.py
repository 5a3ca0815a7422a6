"""A server for the tests of the fleet: tools that echo, wait, report, block, and tell where they ran."""

import asyncio
import itertools
import os
import time
from typing import Literal

from mcpfleet import Context, Server
from tests.servers import offers

server = Server("basic", version="1.0.0", instructions="Tools for tests.")
server.include(offers.server)

journal_entries: list[str] = []
"""What the tools of this process went through, in order."""


@server.tool
def echo(x: str) -> str:
    """Return the argument."""
    return x


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def slow(seconds: float, tag: str = "") -> str:
    """Wait, then return the tag."""
    journal_entries.append(f"began {tag}")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        journal_entries.append(f"cancelled {tag}")
        raise
    journal_entries.append(f"finished {tag}")
    return tag


@server.tool
async def count(n: int, ctx: Context, delay: float = 0.0) -> int:
    """Count to n, with progress and a log message at each step."""
    for i in range(1, n + 1):
        await ctx.report_progress(i, total=n, message=f"{i} of {n}")
        await ctx.log("info", {"count": i}, logger="count")
        await asyncio.sleep(delay)
    return n


@server.tool
async def flood(n: int, size: int, ctx: Context) -> int:
    """Log n messages of this many characters, as fast as they are taken."""
    for i in range(1, n + 1):
        await ctx.log("info", {"count": i, "padding": "x" * size})
    return n


@server.tool
async def fill(size: int, ctx: Context) -> str:
    """Report progress, then return this many characters."""
    await ctx.report_progress(1)
    return "x" * size


@server.tool
async def report(ctx: Context, tag: str = "") -> None:
    """Report progress without end."""
    try:
        for step in itertools.count(1):
            await ctx.report_progress(step)
            await asyncio.sleep(0.05)
    except asyncio.CancelledError:
        journal_entries.append(f"cancelled {tag}")
        raise


@server.tool
def block(seconds: float, ctx: Context, tag: str = "") -> str:
    """Keep a thread busy, looking now and then whether anybody still wants the answer."""
    journal_entries.append(f"began {tag}")
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if ctx.cancelled:
            journal_entries.append(f"cancelled {tag}")
        ctx.raise_if_cancelled()
        time.sleep(min(left, 0.05))
    journal_entries.append(f"finished {tag}")
    return tag


go: asyncio.Queue[None] = asyncio.Queue()


@server.tool
async def part(turns: int, ctx: Context, more: bool = False) -> str:
    """Hang up on the client several times, whenever this process is told to go on; report `more` progress after it."""
    for turn in range(1, turns + 1):
        await ctx.report_progress(turn)
        await go.get()
        await ctx.hang_up(retry=0.5)
    if more:
        await ctx.report_progress(turns + 1)
    await go.get()
    return "back"


@server.tool
async def flood_twice(first: int, second: int, ctx: Context) -> int:
    """Log so many messages, and so many more when this process is told to go on."""
    for i in range(1, first + 1):
        await ctx.log("info", {"count": i})
    await go.get()
    for i in range(first + 1, first + second + 1):
        await ctx.log("info", {"count": i})
    return first + second


@server.tool
async def go_on() -> None:
    """Let a tool of this very process go on that waits for it; pin the request to a process."""
    go.put_nowait(None)


@server.tool
def whoami(ctx: Context) -> dict[str, str | int | None]:
    """Tell which process this is, and whom it serves."""
    return {
        "pid": os.getpid(),
        "session": ctx.session_id,
        "principal": None if ctx.principal is None else ctx.principal.subject,
        "revision": ctx.protocol_version,
    }


@server.tool
def journal() -> list[str]:
    """What the tools of this very process went through; pin the request to a process."""
    return journal_entries


@server.tool
async def announce(
    what: Literal["tools", "prompts", "resources", "resource"], ctx: Context, uri: str = "", to_me_alone: bool = False
) -> None:
    """Tell all clients of the fleet, or those of the caller alone, that something has changed."""
    match what:
        case "tools":
            await ctx.notify_tools_changed()
        case "prompts":
            await ctx.notify_prompts_changed()
        case "resources":
            await ctx.notify_resources_changed()
        case "resource":
            await ctx.notify_resource_updated(uri, only_for=ctx.principal if to_me_alone else None)


@server.tool
async def tasks() -> int:
    """How many tasks of asyncio this very process has; pin the request to a process."""
    return len(asyncio.all_tasks())
