"""Lists, page by page."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from mcpfleet.errors import ProtocolError
from mcpfleet.protocol import cursors
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS
from mcpfleet.protocol.wire import CacheHint
from mcpfleet.server.auth import Principal, owner_of
from mcpfleet.server.catalog import fingerprint

Item = TypeVar("Item")


def page(
    items: Sequence[Item], params: Mapping[str, Any], *, of: str, size: int | None
) -> tuple[Sequence[Item], str | None]:
    """The page that the params ask for, and the cursor of the next; `of` is the list's fingerprint.

    Raises `ProtocolError` for a cursor that this very list did not give.
    """
    cursor = params.get("cursor")
    start = 0 if cursor is None else _position(cursor, of)
    end = len(items) if size is None else start + size
    return items[start:end], cursors.write(end, of) if end < len(items) else None


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
