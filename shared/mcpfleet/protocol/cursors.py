"""Cursors: where in which list the next page begins ("Pagination").

A cursor names the last item that was given and the list that it was given from, and carries a check over both. So one
that was altered, made up, or taken from another list is recognised without keeping anything.
"""

import base64
import binascii
import hashlib
from typing import Final

_PLACE: Final = 4
_CHECK: Final = 14


def write(position: int, of: str) -> str:
    """The cursor for the items from `position` on, in the list whose fingerprint is `of`."""
    place = position.to_bytes(_PLACE, "big")
    return base64.urlsafe_b64encode(place + _check(place, of)).decode()


def read(cursor: str, of: str) -> int | None:
    """The position that a cursor of this list names; None for any other text."""
    try:
        data = base64.b64decode(cursor, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    place, check = data[:_PLACE], data[_PLACE:]
    return int.from_bytes(place, "big") if check == _check(place, of) else None


def _check(place: bytes, of: str) -> bytes:
    return hashlib.blake2b(place + of.encode(), digest_size=_CHECK, person=b"mcpfleet cursor").digest()
