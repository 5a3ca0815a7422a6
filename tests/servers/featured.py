"""A server for the tests of what tools learn of their requests: extensions, traces, why they were cancelled."""

import asyncio
import time
from typing import Literal

from mcpfleet import (
    Cancelled,
    Context,
    InputRequiredResult,
    ModelHint,
    ModelPreferences,
    Server,
    ToolChoice,
    apps,
    tracecontext,
)
from mcpfleet.protocol.messages import Tool


class Greeting:
    """Say hello."""

    title = "A greeting"

    def __init__(self, word: str = "Hello") -> None:
        self.word = word

    def __call__(self, name: str) -> str:
        return f"{self.word}, {name}"


class Words(Greeting):
    """All words of greeting."""

    uri = "words://{name}"


server = Server(
    "featured",
    extensions={**apps.EXTENSION, "com.example/feature": {"enabled": True}},
    tools=[Greeting],
    prompts=[Greeting("Hi")],
    resources=[Words("Words of")],
)


@server.resource("ui://clock")
def dial() -> str:
    """The page that shows the time."""
    return "<html>noon</html>"


@server.tool(meta=apps.linked("ui://clock", older_hosts=True))
def clock(ctx: Context) -> str:
    """Tell the time, by a page where there is one."""
    return "see the page" if apps.supported(ctx.client_capabilities) else "noon"


@server.tool
def trace(ctx: Context) -> dict[str, object]:
    """The trace that the request belongs to, and all that its sender said beside it."""
    return {"carrier": tracecontext.carrier(ctx.meta), "meta": dict(ctx.meta)}


journal_entries: list[str] = []
"""What the handlers of this process went through, in order."""


@server.tool
def journal() -> list[str]:
    """What the handlers of this very process went through; pin the request to a process."""
    return journal_entries


async def linger(tag: str) -> str:
    """Wait for long, and note what one is told in the end."""
    journal_entries.append(f"began {tag}")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError as error:
        journal_entries.append(f"cancelled {tag}: {' '.join(error.args)}")
        raise
    return "done"


server.tool(linger)
server.prompt(linger)
server.resource("wait://{tag}")(linger)
server.method("acme/linger")(linger)


@server.completion("prompt", "linger")
async def lingering(value: str) -> list[str]:
    """Suggest nothing for long."""
    return [await linger(value)]


@server.tool
def toil(tag: str, ctx: Context) -> None:
    """Keep a thread busy until nobody wants the answer any more."""
    journal_entries.append(f"began {tag}")
    while not ctx.cancelled:
        time.sleep(0.01)
    try:
        ctx.raise_if_cancelled()
    except Cancelled as error:
        journal_entries.append(f"cancelled {tag}: {error.reason or ''}")
        raise


@server.tool
async def broadcast(level: Literal["debug", "warning", "error"], words: str, ctx: Context, mine: bool = False) -> None:
    """Log something that belongs to no request, for all sessions or those of the caller."""
    await ctx.fleet.log(level, {"words": words}, logger="fleet", only_for=ctx.principal if mine else None)


@server.tool
async def visited(page: str, ctx: Context, session: str | None = None) -> None:
    """Tell a session, or the caller while its call runs, that its user has done what a page was for."""
    if session is None:
        await ctx.complete_elicitation(page)
    else:
        await ctx.fleet.complete_elicitation(page, session)


@server.tool
async def aside(words: str, ctx: Context) -> None:
    """Log something on the way."""
    await ctx.log("error", {"words": words}, logger="call")


@server.tool
async def compose(ctx: Context) -> str:
    """Have the client's model say something, with all that it can be told."""
    said = await ctx.sample(
        "Where?",
        max_tokens=10,
        system_prompt="Be brief.",
        model_preferences=ModelPreferences(hints=[ModelHint(name="small")], intelligence_priority=0.8),
        include_context="none",
        temperature=0.5,
        stop_sequences=["."],
        metadata={"trace": 1},
        tools=[Tool(name="map", input_schema={"type": "object"})],
        tool_choice=ToolChoice(mode="required"),
    )
    return said.text


@server.tool
def whose(ctx: Context) -> str | None:
    """The session that the request belongs to."""
    return ctx.session_id


@server.tool
def not_yet(ctx: Context) -> str | InputRequiredResult:
    """Send the client away twice, with nothing but a state to come back with."""
    turn = int(ctx.request_state or 0)
    return f"done in turn {turn}" if turn == 2 else InputRequiredResult(request_state=str(turn + 1))
