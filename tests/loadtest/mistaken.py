"""A server that does everything wrong, which a load must notice."""

from mcpfleet import Context, Server, ToolAnnotations

server = Server("mistaken", version="1.0.0")


@server.tool
async def add(a: int, b: int) -> int:
    """Add, and add one."""
    return a + b + 1


@server.tool
async def ask(word: str) -> str:
    """Ask nobody."""
    return word


@server.tool
async def touch(ctx: Context) -> None:
    """Tell nobody."""


@server.resource("load://topic")
def topic() -> str:
    """What streams watch."""
    return "topic"


@server.tool(task="required", annotations=ToolAnnotations(idempotent_hint=True))
async def reverse(word: str) -> str:
    """Return the word as it is."""
    return word
