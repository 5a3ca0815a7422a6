"""A small ASGI application, to see what the processes of `serve` do without any MCP in them."""

import asyncio
import os
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from mcpfleet_service.tether import end_with_parent


def application() -> ASGIApp:
    end_with_parent()
    return _answer


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer `/readyz`, `/pid`, `/redis` and `/slow`, whose first byte is sent a second before its last."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
        return
    answers: dict[str, str] = {
        "/pid": str(os.getpid()),
        "/redis": os.environ.get("MCPFLEET_REDIS_URL", ""),
        "/headers": str(scope["headers"]) + str(scope["client"]),
    }
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if scope["path"] == "/slow":
        await send({"type": "http.response.body", "body": b"begun ", "more_body": True})
        await asyncio.sleep(1)
    await send({"type": "http.response.body", "body": answers.get(scope["path"], "ended").encode()})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        event: dict[str, Any] = dict(await receive())
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
