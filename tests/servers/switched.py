"""A server whose tools come and go: each of them switches others, or tells of what has changed."""

from mcpfleet import Context, Server
from mcpfleet.server.fleet import Kind

server = Server("switched", version="1.0.0", switchable=True)


@server.tool
def first() -> str:
    """One that is there, or not."""
    return "first"


@server.tool
def second() -> str:
    """One more."""
    return "second"


@server.tool
async def switch(kind: Kind, name: str, on: bool, ctx: Context) -> None:
    """Switch one thing on or off for everybody."""
    await (ctx.fleet.enable(kind, name) if on else ctx.fleet.disable(kind, name))


@server.tool
async def update(uri: str, ctx: Context) -> None:
    """Tell everybody that something has changed."""
    await ctx.notify_resource_updated(uri)


@server.resource("stars://{name}")
def star(name: str) -> str:
    """A star."""
    return name
