"""Who uses the server of a chaos run."""

from typing import Final

from mcpfleet.protocol.headers import Headers
from mcpfleet.server.auth import Principal

PRINCIPALS: Final = ("alice", "bob", "carol")


def authenticate(headers: Headers) -> Principal | None:
    """The principal whose name is the token."""
    name = (headers.get("Authorization") or "").removeprefix("Bearer ")
    return Principal(name) if name in PRINCIPALS else None
