"""The bells over Redis: one pub/sub connection for all watched logs of a process, owned by one pair of tasks.

Watchers never touch the socket. They hang a bell and leave the log's name among the changed ones; the writing task
compares what is wanted with what was asked for and sends the difference. The reading task rings. Redis forgets who
listened, so a ring can be lost around the end of a connection; therefore every confirmed subscription rings once, be it
the first of a log or one that is renewed on a new connection. Subscriptions go out in slices with pauses between them,
so that ten thousand followers do not all read in one turn.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from random import SystemRandom
from typing import Final, NoReturn

from mcpfleet.backplane.base import Bell, checked
from mcpfleet.backplane.bells import Bells
from mcpfleet.backplane.dial import Connection, packed, reply_on
from mcpfleet.backplane.layout import Layout
from mcpfleet.backplane.reconnect import Lost, Serving

SLICE: Final = 256
PAUSE: Final = 0.05
"""At most so many logs are subscribed or unsubscribed at once, and at most so many seconds pass before the next."""

_uniform: Final = SystemRandom().uniform


class Switchboard:
    """The pub/sub connection of one process; a `reconnect.Session`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._bells = Bells()
        self._asked: dict[bytes, str] = {}
        self._changed: set[str] = set()
        self._work = asyncio.Event()
        self._serving = Serving()
        self.connected = False
        self.connections = 0
        """How many connections were made; one less is the number of reconnects."""

    @asynccontextmanager
    async def watch(self, log: str, poll: float) -> AsyncIterator[Bell]:
        """See `Backplane.watch`; entering waits for nothing, since the subscription rings when it is confirmed."""
        checked(log)
        try:
            with self._bells.hung(log, poll) as bell:
                self._change(log)
                yield bell
        finally:
            self._change(log)

    def drop(self, reason: str) -> None:
        """Give up the present connection, if there is one; another takes its place and every bell rings."""
        self._serving.give_up(reason)

    async def greet(self, connection: Connection) -> None:
        """Nothing need be said first: any server of the right data will ring."""

    async def serve(self, connection: Connection) -> NoReturn:
        """Subscribe to what is watched, and ring, on a connection until it is lost."""
        self._asked = {}
        self._changed = set(self._bells)
        self._work.set()
        self.connected = True
        self.connections += 1
        await self._serving.run(self._subscribe(connection), self._listen(connection))

    def lost(self, reason: str, *, away: bool) -> None:
        """Nobody is heard now; watchers look by themselves, every `poll`, until the next connection rings."""
        self.connected = False

    def _change(self, log: str) -> None:
        if self.connected:  # a new connection asks for all that is watched then
            self._changed.add(log)
            self._work.set()

    async def _subscribe(self, connection: Connection) -> NoReturn:
        while True:
            await self._work.wait()
            changed = list(islice(self._changed, SLICE))
            self._changed.difference_update(changed)
            channels = {self._layout.log(log).bell: log for log in changed}
            wanted = {c: log for c, log in channels.items() if log in self._bells and c not in self._asked}
            unwanted = [c for c, log in channels.items() if log not in self._bells and c in self._asked]
            self._asked |= wanted
            for channel in unwanted:
                del self._asked[channel]
            commands = (b"SUBSCRIBE", *wanted), (b"UNSUBSCRIBE", *unwanted)
            if wanted or unwanted:
                sent = [packed(*command) for command in commands if len(command) > 1]
                await connection.send_packed_command(sent, check_health=False)
            if self._changed:
                await asyncio.sleep(_uniform(0, PAUSE))
            else:
                self._work.clear()

    async def _listen(self, connection: Connection) -> NoReturn:
        while True:
            match await reply_on(connection):
                case [b"message" | b"subscribe", bytes(channel), _]:
                    if channel in self._asked:
                        self._bells.ring(self._asked[channel])
                case [b"unsubscribe", *_]:
                    pass
                case other:
                    raise Lost(f"not a pub/sub message: {other!r:.100}")
