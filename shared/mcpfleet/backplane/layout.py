"""Where things are in Redis: every key and channel begins with the namespace and the number of the layout.

`namespace:1:{scope}:rest` is a cell. A log has two keys and a channel, a pool one key, told apart by a suffix that no
name can contain. The braces make the scope a hash tag, so that a Cluster keeps together what one script must see.
"""

from typing import Final

from mcpfleet.backplane.base import checked, checked_scope

VERSION: Final = 1
"""Raised when a script changes what it stores; the builds of both numbers then see nothing of each other."""


class Layout:
    """The keys of one namespace; a name that breaks the rules raises `NameRefused`."""

    def __init__(self, namespace: str) -> None:
        self.prefix = f"{checked_scope(namespace)}:{VERSION}:"

    def cell(self, key: str) -> bytes:
        """The string that is a cell."""
        scope, _, rest = checked(key).partition("/")
        return f"{self.prefix}{{{scope}}}:{rest}".encode()

    def entries(self, log: str) -> bytes:
        """The stream of a log's entries, each at the id `offset-0`: data, its mark, the mark before."""
        return self.cell(log) + b"#entries"

    def meta(self, log: str) -> bytes:
        """The hash that says where a log ends: the offset, the mark, the size of the largest entry ever."""
        return self.cell(log) + b"#meta"

    def bell(self, log: str) -> bytes:
        """The channel of a log."""
        return self.cell(log) + b"#bell"

    def pool(self, pool: str) -> bytes:
        """The sorted set of a pool's members by the moment their places end, in Unix milliseconds."""
        return self.cell(pool) + b"#pool"

    def settled(self, scope: str) -> bytes:
        """The string that `settle` writes, so that there is something to wait for."""
        return f"{self.prefix}{{{checked_scope(scope)}}}:#settled".encode()
