"""A bookshop: resources and templates of them, a prompt with suggestions, and a tool that depends on a catalog."""

from collections.abc import Sequence
from typing import Annotated, Literal

from mcpfleet import CacheHint, Context, Depends, PromptMessage, ResourceLink, Server

server = Server("bookshop", version="1.0.0", cache=CacheHint(ttl=60, scope="public"))

BOOKS = {
    "emma": ("Emma", "Emma Woodhouse, handsome, clever, and rich…"),
    "moby-dick": ("Moby-Dick", "Call me Ishmael…"),
    "ulysses": ("Ulysses", "Stately, plump Buck Mulligan came from the stairhead…"),
}


async def catalog(ctx: Context) -> dict[str, str]:
    """Titles by key; in earnest this would ask a database for what the principal may read."""
    await ctx.log("debug", "opening the catalog")
    return {key: title for key, (title, _) in BOOKS.items()}


@server.resource("bookshop://opening-hours")
def opening_hours() -> str:
    """When the shop is open."""
    return "From nine to five."


@server.resource("bookshop://books/{key}/text", mime_type="text/plain")
def text(key: str) -> str | None:
    """The text of one book."""
    return BOOKS[key][1] if key in BOOKS else None


@server.completion("resource", "bookshop://books/{key}/text", argument="key")
def keys(value: str) -> Sequence[str]:
    """The books whose key begins so."""
    return [key for key in BOOKS if key.startswith(value)]


@server.prompt
def discuss(title: str, tone: Literal["scholarly", "playful"] = "scholarly") -> list[PromptMessage]:
    """Begin a conversation about a book."""
    return [
        PromptMessage.user(f"Let us talk about {title}, and be {tone}."),
        PromptMessage.assistant("Gladly. Which chapter has stayed with you?"),
    ]


@server.completion("prompt", "discuss", argument="title")
def titles(value: str) -> Sequence[str]:
    """The titles that contain what was typed."""
    return [title for title, _ in BOOKS.values() if value.casefold() in title.casefold()]


@server.tool
def search(words: str, books: Annotated[dict[str, str], Depends(catalog)]) -> list[ResourceLink]:
    """Find books by words of their titles."""
    return [
        ResourceLink(f"bookshop://books/{key}/text", title)
        for key, title in books.items()
        if words.casefold() in title.casefold()
    ]
