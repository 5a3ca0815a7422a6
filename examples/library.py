"""A library whose shelves change while it serves: who watches a shelf is told, and a tool comes and goes.

The shelves are files, since the processes of a fleet have no memory in common.
"""

import tempfile
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from mcpfleet import Context, Principal, Server, Topic

server = Server("library", version="1.0.0", switchable=True)

SHELVES = Path(tempfile.gettempdir()) / "mcpfleet-library"
Shelf = Annotated[str, Meta(pattern="^[a-z-]+$", max_length=40)]


@server.resource("shelf://{name}")
def shelf(name: Shelf) -> str:
    """The books on a shelf, one a line."""
    file = SHELVES / name
    return file.read_text() if file.exists() else ""


@server.tool
async def shelve(name: Shelf, book: str, ctx: Context) -> str:
    """Put a book on a shelf."""
    SHELVES.mkdir(exist_ok=True)
    with (SHELVES / name).open("a") as file:
        file.write(f"{book}\n")
    await ctx.notify_resource_updated(f"shelf://{name}")  # to whoever watches it, on any process
    return f"{book} is on the shelf {name}."


@server.tool
async def close(closed: bool, ctx: Context) -> str:
    """Let nobody put books on shelves, or let everybody again, on every process."""
    await (ctx.fleet.disable("tool", "shelve") if closed else ctx.fleet.enable("tool", "shelve"))
    return "The library is closed." if closed else "The library is open."


@server.may_watch
def may_watch(principal: Principal | None, topic: Topic) -> bool:
    """Let only the staff watch the staff's shelf."""
    return topic.key != "shelf://staff" or (principal is not None and "staff" in principal.claims.get("roles", ()))
