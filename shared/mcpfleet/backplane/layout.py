"""Where things are in Redis: every key and channel begins with the namespace and the number of the layout.

`namespace:1:{scope}:rest` is a cell. A log has three keys and a channel, a pool one key, told apart by a suffix that no
name can contain. The braces make the scope a hash tag, so that a Cluster keeps together what one script must see.
"""

from typing import Final, NamedTuple

from mcpfleet.backplane.base import checked, checked_scope

VERSION: Final = 1
"""Raised when a script changes what it stores; the builds of both numbers then see nothing of each other."""


class LogKeys(NamedTuple):
    """Where a log is."""

    entries: bytes
    """A stream: each entry at the id `offset-0`, with its data, its mark and the mark before it."""
    meta: bytes
    """A hash that says where the log ends: the offset, the mark, and the size of the largest entry ever."""
    marks: bytes
    """A sorted set of the marks of appends that expected nothing, by offset."""
    bell: bytes
    """A sharded channel."""


class Layout:
    """The keys of one namespace; a name that breaks the rules raises `NameRefused`."""

    def __init__(self, namespace: str) -> None:
        self.prefix = f"{checked_scope(namespace)}:{VERSION}:"

    def cell(self, key: str) -> bytes:
        """The string that is a cell."""
        scope, _, rest = checked(key).partition("/")
        return f"{self.prefix}{{{scope}}}:{rest}".encode()

    def log(self, log: str) -> LogKeys:
        """Where a log is."""
        cell = self.cell(log)
        return LogKeys(cell + b"#entries", cell + b"#meta", cell + b"#marks", cell + b"#bell")

    def pool(self, pool: str) -> bytes:
        """The sorted set of a pool's members by the moment their places end, in Unix milliseconds."""
        return self.cell(pool) + b"#pool"

    def agenda(self, agenda: str) -> bytes:
        """The sorted set of an agenda's members by when they are due, in Unix milliseconds."""
        return self.cell(agenda) + b"#agenda"

    def settled(self, scope: str) -> bytes:
        """The string that `settle` writes, so that there is something to wait for."""
        return f"{self.prefix}{{{checked_scope(scope)}}}:#settled".encode()
