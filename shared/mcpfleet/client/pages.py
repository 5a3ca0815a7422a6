"""Whole collections, read page by page ("Pagination")."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from mcpfleet.errors import ReplyRefused

MAX_PAGES: Final = 1000

Item = TypeVar("Item")


async def every(page: Callable[[str | None], Awaitable[tuple[Sequence[Item], str | None]]]) -> list[Item]:
    """All items of all pages; `ReplyRefused` for a cursor that was there before, and for more than 1 000 pages."""
    found: list[Item] = []
    seen: set[str] = set()
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        items, cursor = await page(cursor)
        found += items
        if cursor is None:
            return found
        if cursor in seen:
            raise ReplyRefused("the server gives a cursor that it has given before")
        seen.add(cursor)
    raise ReplyRefused(f"the server lists more than {MAX_PAGES} pages")
