"""The server under load: one tool that adds two integers, and one that is a task and does nothing."""

import os
import time

from mcpfleet import Server

server = Server("calculator", version="1.0.0")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@server.tool(task="required")
async def begin() -> str:
    """Tell when it began, in Unix seconds, and in which process."""
    return f"{time.time()} {os.getpid()}"
