"""Cancellation reaches every kind of function, and a synchronous one can look ("Cancellation")."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcpfleet import Cancelled, Context, Server
from tests.server.methods.desk import Asking, asking
from tests.server.methods.offers import lister, prompt, resource, tool

Offer = Callable[[Server, Callable[..., Any]], None]


def completion(server: Server, function: Callable[..., Any]) -> None:
    server.prompt(name="x")(lambda a: a)
    server.completion("prompt", "x", argument="a")(function)


def method(server: Server, function: Callable[..., Any]) -> None:
    server.method("acme/x")(function)


COMPLETED = {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}}
every_kind = pytest.mark.parametrize(
    ("offer", "asked", "params"),
    [
        (tool, "tools/call", {"name": "x"}),
        (prompt, "prompts/get", {"name": "x"}),
        (resource, "resources/read", {"uri": "x://x"}),
        (lister, "resources/list", {}),
        (completion, "completion/complete", COMPLETED),
        (method, "acme/x", {}),
    ],
    ids=["tool", "prompt", "resource", "list", "completion", "method"],
)


async def cancelled(desk: Asking, asked: str, params: dict[str, Any], begun: Callable[[], Any]) -> bool:
    """Whether a request ends as cancelled when it is cancelled once its function has begun."""
    task = asyncio.ensure_future(desk.outcome(asked, params))
    await asyncio.wait_for(begun(), 10)
    task.cancel()
    await asyncio.wait([task], timeout=10)
    return task.cancelled()


@every_kind
async def test_a_coroutine_is_cancelled(offer: Offer, asked: str, params: dict[str, Any]) -> None:
    server, begun, ended = Server("s"), asyncio.Event(), list[bool]()

    async def function(ctx: Context) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    offer(server, function)
    async with asking(server) as desk:
        assert await cancelled(desk, asked, params, begun.wait)
    assert ended == [True]


@every_kind
async def test_a_synchronous_function_can_see_it(offer: Offer, asked: str, params: dict[str, Any]) -> None:
    server, begun, seen, may_look = Server("s"), threading.Event(), threading.Event(), threading.Event()

    def function(ctx: Context) -> Any:
        begun.set()
        may_look.wait(10)
        try:
            ctx.raise_if_cancelled()
        except Cancelled:
            seen.set()
            raise

    offer(server, function)
    async with asking(server) as desk:
        assert await cancelled(desk, asked, params, lambda: asyncio.to_thread(begun.wait, 10))
        may_look.set()
        assert await asyncio.to_thread(seen.wait, 10)
