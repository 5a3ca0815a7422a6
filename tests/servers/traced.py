"""Tools that do well, badly, and elsewhere, for the tests of traces."""

from mcpfleet import ProtocolError, Server, ToolAnnotations, ToolError

server = Server("traced", version="1.0.0")


@server.tool
def well() -> str:
    """Return."""
    return "well"


@server.tool
async def badly(how: str) -> str:
    """Raise."""
    if how == "told":
        raise ToolError("no such city")
    if how == "refused":
        raise ProtocolError(-32050, "not today")
    raise KeyError("secret")


@server.tool(task="required", queue="far", annotations=ToolAnnotations(idempotent_hint=True))
async def elsewhere() -> str:
    """Return from the worker tier."""
    return "elsewhere"


@server.prompt
def ask() -> str:
    """A prompt."""
    return "Well?"


@server.resource("notes://{name}")
def note(name: str) -> str:
    """A resource."""
    return name
