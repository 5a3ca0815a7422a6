"""The Lua scripts: real files beside this one, each of which sees one scope only and says in its header what it takes.

Each begins with `#!lua` and none has the flag `no-writes`, the reading ones included: so a replica, and a master cut
off from its replicas, refuse them all, and nobody is served by a server that may not decide. Those that create nothing
have `allow-oom`, so that what is alive goes on while Redis is full. A life is handed on in the digits it came in: Redis
before 7.2.5 turns a number with eight zeros at its end into 1e+08, which PEXPIRE refuses.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from importlib import resources
from typing import Final


@dataclass(frozen=True, slots=True)
class Script:
    """One script, and the digest by which a server that has loaded it knows it."""

    name: str
    text: bytes
    digest: bytes


WHEN_FULL: Final = {"amend": "commit"}
"""The scripts that are another one, but work on a full Redis."""


def _read(name: str) -> Script:
    file = WHEN_FULL.get(name, name)
    text = resources.files("mcpfleet.backplane").joinpath("lua", f"{file}.lua").read_bytes()
    if name in WHEN_FULL:
        text = text.replace(b"#!lua\n", b"#!lua flags=allow-oom\n", 1)
    return Script(name, text, hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())


@dataclass(frozen=True, slots=True)
class Scripts:
    """All of them."""

    admit: Script
    amend: Script
    append: Script
    commit: Script
    delete: Script
    open: Script
    read: Script
    renew: Script
    reopen: Script
    swap: Script
    take: Script
    count: Script

    @classmethod
    def load(cls) -> "Scripts":
        """Read them from the package."""
        return cls(**{each.name: _read(each.name) for each in fields(cls)})

    def __iter__(self) -> Iterator[Script]:
        return (getattr(self, each.name) for each in fields(self))
