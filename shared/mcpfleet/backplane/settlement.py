"""Waiting until what was written is on replicas or on disk.

Replication and the append-only file are one ordered stream each, so the acknowledgement of a later write covers all
earlier ones: a round is one dummy write and a WAIT behind it, in one write to a connection that nothing else uses,
since WAIT blocks it and counts only from the connection's own last write. All who ask while a round is running share
the next one.
"""

import asyncio
from typing import Final

from mcpfleet.backplane.dial import Argument
from mcpfleet.backplane.greeting import Greeting
from mcpfleet.backplane.layout import Layout
from mcpfleet.backplane.link import Link
from mcpfleet.backplane.serverinfo import Durability
from mcpfleet.errors import InDoubt, Unavailable

TAKEOVER: Final = 5.0
"""So many seconds after another server was met, no earlier write can be vouched for; settle sooner after writing."""


class Settlement:
    """Rounds of waiting, on a `link` of their own, for what was written over the connections that `there` greeted.

    `timeout` bounds a `settle` in seconds, `limit` how many commands may be under way at once.
    """

    def __init__(self, layout: Layout, durability: Durability, there: Greeting, *, timeout: float, limit: int) -> None:
        self._layout = layout
        self._durability = durability
        self._there = there
        self._here = Greeting(durability)
        self._timeout = timeout
        self.link = Link(self._here, timeout=timeout, limit=limit)
        self._turn = asyncio.Lock()
        self._begun = 0
        self._reached = 0

    async def settle(self, scope: str) -> None:
        """See `Backplane.settle`."""
        key = self._layout.settled(scope)
        needed = self._begun + 1
        try:
            async with asyncio.timeout(self._timeout), self._turn:
                if self._reached < needed:
                    await self._round(key)
        except TimeoutError:
            raise InDoubt(f"not settled within {self._timeout} s") from None

    async def _round(self, key: bytes) -> None:
        self._begun += 1
        number = self._begun
        _, reply = await asyncio.gather(
            self.link.submit(b"SET", key, b"", b"PX", 60_000), self.link.submit(*self._wait())
        )
        self._demand_one_history()
        match reply:
            case int(replicas) | [_, int(replicas)] if replicas < self._durability.replicas:
                raise InDoubt(f"only {replicas} of {self._durability.replicas} replicas have it")
            case [0, _]:
                raise InDoubt("it is not on disk yet")
        self._reached = number

    def _wait(self) -> tuple[Argument, ...]:
        # Redis notices the end of a WAIT ten times a second, and its answer must come before our own deadline.
        milliseconds = int(1000 * max(self._timeout / 2, self._timeout - 0.25))
        if self._durability.fsync:
            return b"WAITAOF", 1, 0, milliseconds
        return b"WAIT", self._durability.replicas, milliseconds

    def _demand_one_history(self) -> None:
        """Raise unless the writes went to the server that is asked, and it was not replaced a moment ago."""
        if self._here.run_id != self._there.run_id:
            raise Unavailable("two connections to Redis ended at two servers")
        if asyncio.get_running_loop().time() < self._there.changed_at + TAKEOVER:
            raise InDoubt("another Redis took over a moment ago, and may lack the last writes")
