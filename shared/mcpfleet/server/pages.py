"""Lists, page by page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from mcpfleet.errors import ProtocolError
from mcpfleet.protocol import cursors
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS
from mcpfleet.protocol.wire import CacheHint
from mcpfleet.server.auth import Principal, owner_of
from mcpfleet.server.catalog import fingerprint

Item = TypeVar("Item")


def page(
    items: Sequence[Item], params: Mapping[str, Any], *, of: Callable[[], str], size: int | None
) -> tuple[Sequence[Item], str | None]:
    """The page that the params ask for, and the cursor of the next; `of` gives the list's fingerprint, if need be.

    Raises `ProtocolError` for a cursor that this very list did not give.
    """
    cursor = params.get("cursor")
    if cursor is None and (size is None or size >= len(items)):
        return items, None
    list_ = of()
    start = 0 if cursor is None else _position(cursor, list_)
    end = len(items) if size is None else start + size
    return items[start:end], cursors.write(end, list_) if end < len(items) else None


def identity(method: str, digest: str, hint: CacheHint, principal: Principal | None) -> str:
    """The fingerprint of one list.

    What is private belongs to whom it was given, cursors included; pages that anybody may be given out of a cache lead
    on for anybody.
    """
    return fingerprint([method, digest, None if hint.scope == "public" else owner_of(principal)])


def _position(cursor: Any, of: str) -> int:
    position = cursors.read(cursor, of) if isinstance(cursor, str) else None
    if position is None:
        raise ProtocolError(INVALID_PARAMS, "Invalid cursor; begin again without one", {"reason": "cursor"})
    return position
