"""What other versions of this server have, while a deploy replaces one by another.

Processes tell each other in their pulse which lists they serve, by a fingerprint. The names behind a fingerprint are in
a cell, put there by whoever serves them, and read only when a client asks for what this process does not have.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, NoReturn

import msgspec

from mcpfleet.backplane.outage import outlast
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import Unavailable, UnknownFormat
from mcpfleet.server.fleet import Kind
from mcpfleet.server.process import Process
from mcpfleet.server.server import Server

TTL: Final = 600.0
MOST: Final = 4
"""So many other versions are asked at most; in a rolling deploy there is one."""

Elsewhere = Callable[[Kind, str], Awaitable[bool]]
"""Whether another version of the server has something of this kind and name."""


class Names(msgspec.Struct, frozen=True):
    """What a cell holds: the kind and name of everything that one version has."""

    items: frozenset[tuple[str, str]]


NONE: Final = Names(frozenset())


class Versions:
    """Says what this process has, and finds out what others have; `run` it as a task of the process."""

    def __init__(self, server: Server, process: Process, alive: Callable[[], frozenset[str]]) -> None:
        """`alive` gives the fingerprints of all living processes."""
        self._server = server
        self._backplane = process.backplane
        self._alive = alive

    async def run(self) -> NoReturn:
        """Keep this version's cell until cancelled."""
        while True:
            await outlast(self._publish)
            await asyncio.sleep(TTL / 3)

    async def elsewhere(self, kind: Kind, name: str) -> bool:
        """Whether a living process of another version has what this one does not; False if nobody can tell."""
        registry = self._server.registry
        others = sorted(self._alive() - {registry.digest})[:MOST]
        if registry.has(kind, name) or not others:
            return False
        with suppress(Unavailable):
            found = await asyncio.gather(*(self._names(each) for each in others))
            return any((kind, name) in names.items for names in found)
        return False

    async def _publish(self) -> None:
        registry = self._server.registry
        await self._backplane.put(_cell(registry.digest), pack(Names(registry.names)), ttl=TTL)

    async def _names(self, fingerprint: str) -> Names:
        found = await self._backplane.get(_cell(fingerprint))
        with suppress(UnknownFormat):  # of a version that is newer than this program
            return NONE if found is None else unpack(Names, found)
        return NONE


def _cell(fingerprint: str) -> str:
    return f"versions/{fingerprint}"


async def nowhere(_kind: Kind, _name: str) -> bool:
    """There is no other version."""
    return False
