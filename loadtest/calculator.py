"""The server under load: one tool that adds two integers."""

from mcpfleet import Server

server = Server("calculator", version="1.0.0")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b
