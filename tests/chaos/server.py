"""The server that a chaos run breaks: tools that say whose call they serve, in everything they say.

As a program it serves its application, with one fault planted in it if `CHAOS_PLANT` names one.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

from fastapi import FastAPI
from msgspec import Meta

from mcpfleet import Context, Server, forms
from mcpfleet_service.app import create_app
from mcpfleet_service.serving import serve
from mcpfleet_service.settings import Settings
from mcpfleet_service.tether import end_with_parent
from tests.chaos.planted import PLANT, plant
from tests.chaos.principals import authenticate
from tests.chaos.tasks.server import server as tasks

ANSWER_SECONDS: Final = 30.0

Whose = dict[str, str]

server = Server("chaos", version=os.environ.get("CHAOS_VERSION", "1.0.0"))
server.include(tasks)
at_work: set[str] = set()
"""The tags of the calls that run in this process."""


@server.tool
def echo(tag: str, ctx: Context) -> Whose:
    """Return at once."""
    return _whose(tag, ctx)


@server.tool
async def count(tag: str, n: Annotated[int, Meta(ge=0)], delay: float, ctx: Context) -> Whose:
    """Say the numbers from 1 to n."""
    with _working(tag):
        for number in range(1, n + 1):
            await ctx.log("info", {**_whose(tag, ctx), "number": number})
            await asyncio.sleep(delay)
    return _whose(tag, ctx)


@server.tool
async def ask(tag: str, ctx: Context) -> Whose:
    """Ask the user for a value, or the model where users cannot be asked, and return it."""
    with _working(tag):
        step = await ctx.step("once", lambda: os.urandom(8).hex())
        question = f"{step} {tag}"
        if "elicitation" in ctx.client_capabilities:
            form = forms.form(value=forms.text())
            filled = await ctx.elicit(question, form, timeout=ANSWER_SECONDS)
            value = str((filled.content or {}).get("value"))
        else:
            value = (await ctx.sample(question, max_tokens=10, timeout=ANSWER_SECONDS)).text
    return {**_whose(tag, ctx), "step": step, "value": value}


@server.tool
async def wait(tag: str, seconds: float, ctx: Context) -> Whose:
    """Return after a while."""
    with _working(tag):
        await asyncio.sleep(seconds)
    return _whose(tag, ctx)


@server.tool
async def publish(tag: str, uri: str, to_me_alone: bool, ctx: Context) -> Whose:
    """Tell everybody that a resource has changed, or the streams of the caller alone."""
    await ctx.notify_resource_updated(uri, only_for=ctx.principal if to_me_alone else None)
    return _whose(tag, ctx)


@server.tool
def left(ctx: Context) -> list[str]:
    """The calls that still run in this very process."""
    return sorted(at_work)


@server.resource("chaos://{owner}/{number}")
def resource(owner: str, number: str) -> str:
    """What the events are about."""
    return f"{owner}'s {number}"


def _whose(tag: str, ctx: Context) -> Whose:
    return {"principal": "" if ctx.principal is None else ctx.principal.subject, "tag": tag}


@contextmanager
def _working(tag: str) -> Iterator[None]:
    at_work.add(tag)
    try:
        yield
    finally:
        at_work.discard(tag)


def application() -> FastAPI:
    """The application of one serving process."""
    end_with_parent()
    plant(os.environ.get(PLANT, ""))
    return create_app(server, settings=Settings.from_environment(os.environ), authenticate=authenticate)


if __name__ == "__main__":
    sys.exit(serve(Settings.from_environment(os.environ), factory="tests.chaos.server:application"))
