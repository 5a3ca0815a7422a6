"""What is switched off at run time, for the whole fleet and never for one session: a cell that every process asks.

Each request for a list reads the cell, so a list that is fetched after the notification shows that change or a later
one, on any process. Everything else goes by what was read last: at the start, whenever the fleet's events tell of a
change, and now and then in between, should an event have been lost. What is switched off is not there: to call it is to
call something unknown.
"""

import asyncio
from contextlib import aclosing, suppress
from typing import Any, Final, NoReturn

import msgspec

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import ABSENT, MAX_TTL, CellExpectation
from mcpfleet.backplane.outage import outlast
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import InDoubt, LogGap, TooLarge, Unavailable
from mcpfleet.server import events
from mcpfleet.server.events import Change
from mcpfleet.server.feed import Feed
from mcpfleet.server.fleet import Kind, Publish
from mcpfleet.server.process import Process
from mcpfleet.server.registry import Registry
from mcpfleet.server.server import Server
from mcpfleet.server.sessions import UPDATE_TRIES
from mcpfleet.server.topics import LISTS, PROMPTS, RESOURCES, TOOLS, Topic

CELL: Final = "registry/off"
TTL: Final = float(MAX_TTL)
"""Nobody renews what is switched off while the fleet is down, so it lives as long as a store can keep anything."""
MAX_OFF: Final = 10_000
LOOK_SECONDS: Final = 30.0
"""How often a process looks although nobody told it to."""

_LIST_OF: Final[dict[Kind, Topic]] = {"tool": TOOLS, "prompt": PROMPTS, "resource": RESOURCES, "template": RESOURCES}
_LIST_KINDS: Final = frozenset(topic.kind for topic in LISTS)


class Off(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the cell holds: the kind and the name, or URI, of everything that is switched off, in order."""

    items: tuple[tuple[str, str], ...] = ()


NOTHING: Final = Off()


class Switches:
    """What a server offers now; if it is switchable, `run` it as a task of the process."""

    def __init__(self, server: Server, process: Process, feed: Feed, publish: Publish) -> None:
        self._server = server
        self._backplane = process.backplane
        self._feed = feed
        self._publish = publish
        self._off: Off | None = None
        self._rest: Registry = server.registry
        self._rest_of: tuple[Any, ...] | None = None

    @property
    def registry(self) -> Registry:
        """All that is not switched off, as far as this process knows."""
        everything = self._server.registry
        if self._off is None or not self._off.items:
            return everything
        source = self._off, *everything.state
        if source != self._rest_of:
            self._rest, self._rest_of = everything.without(self._off.items), source
        return self._rest

    async def ready(self, *, fresh: bool) -> bool:
        """Learn what is switched off, if it must be known `fresh`, or never was; False if it still is not known.

        While the store is away, what was known last remains.
        """
        if self._server.switchable and (fresh or self._off is None):
            with suppress(Unavailable):
                await self._read()
            return self._off is not None
        return True

    async def switch(self, kind: Kind, name: str, *, on: bool) -> None:
        """Switch one thing on or off, on every process, and tell whoever listens.

        `Unavailable`: it may have been done, and not everybody was told, so try again. `ValueError`: this server is not
        switchable, or does not have what is to be switched off.
        """
        if not self._server.switchable:
            raise ValueError(f"{self._server.name} is no switchable server: Server(…, switchable=True)")
        if not on and not self._server.registry.has(kind, name):
            raise ValueError(f"there is no {kind} called {name!r}")
        await self._store((kind, name), on=on)
        await self._publish(Change(_LIST_OF[kind].kind))
        with suppress(Unavailable):  # the event will tell this process too
            await self._read()

    async def run(self) -> NoReturn:
        """Keep what is known near what is true, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._heed())
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                await self.look_again()

    async def look_again(self) -> None:
        """Look, and if an event was lost, let all streams of this process tell that anything may have changed."""
        before = self._off
        with suppress(Unavailable):
            await self._read()
        if before is not None and self._off != before:
            self._feed.doubt()

    async def _heed(self) -> NoReturn:
        while True:
            doubts = self._feed.doubts
            position = await self._feed.end()  # before the cell: what changes later is announced there
            await outlast(self._read)
            with suppress(LogGap):
                async with aclosing(self._feed.after(position, doubts=doubts)) as entries:
                    async for entry in entries:
                        change = events.read(entry.data)
                        if change is not None and change.kind in _LIST_KINDS:
                            await outlast(self._read)

    async def _read(self) -> None:
        found = await self._backplane.get(CELL)
        self._off = NOTHING if found is None else unpack(Off, found)

    async def _store(self, item: tuple[str, str], *, on: bool) -> None:
        """Change the cell by compare-and-set; it is deleted with its last item."""
        backoff = Backoff(first=0.002, most=0.2)
        for _ in range(UPDATE_TRIES):
            found = await self._backplane.get(CELL)
            items = set(() if found is None else unpack(Off, found).items)
            if (item in items) is not on:
                return
            items ^= {item}
            if len(items) > MAX_OFF:
                raise TooLarge(f"{MAX_OFF} things are switched off at most")
            with suppress(InDoubt):  # what is found next tells
                if await self._write(Off(tuple(sorted(items))), found):
                    return
            await asyncio.sleep(backoff.pause())
        raise Unavailable(f"what is switched off changed {UPDATE_TRIES} times meanwhile")

    async def _write(self, off: Off, found: bytes | None) -> bool:
        expect: CellExpectation = ABSENT if found is None else found
        if not off.items:
            return await self._backplane.delete(CELL, expect=expect)
        return await self._backplane.put(CELL, pack(off), ttl=TTL, expect=expect)
