"""The bells over Redis: one pub/sub connection for all logs a process watches at a server, owned by one pair of tasks.

Watchers never touch the socket. They hang a bell and leave the log's name among the changed ones; the writing task
compares what is wanted with what was asked for and sends the difference. The reading task rings. Redis forgets who
listened, so a ring can be lost around the end of a connection; therefore every confirmed subscription rings once, be it
the first of a log or one that is renewed on a new connection. Subscriptions go out in slices with pauses between them,
so that ten thousand followers do not all read in one turn.

Channels are sharded ones, on a single server too, where they are as good as any: so the scripts ring in one way only,
and in a Cluster a ring costs only the node of its log. A node that gives a slot away unsubscribes its channels unasked.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from random import SystemRandom
from typing import Final, NoReturn

from mcpfleet.backplane.base import Bell, checked
from mcpfleet.backplane.bells import Bells
from mcpfleet.backplane.dial import REFUSALS, Connection, code_and_text, packed, reply_on
from mcpfleet.backplane.layout import Layout
from mcpfleet.backplane.reconnect import Lost, Serving

SLICE: Final = 256
PAUSE: Final = 0.05
"""At most so many logs are subscribed or unsubscribed at once, and at most so many seconds pass before the next."""

_uniform: Final = SystemRandom().uniform


class Switchboard:
    """The pub/sub connection of one process to one server; a `reconnect.Session`.

    In a Cluster the nodes' switchboards share their `bells`, `mine` says whether a log is at this node, and `astray`
    is told of a log that this node no longer rings for.
    """

    def __init__(
        self,
        layout: Layout,
        bells: Bells | None = None,
        *,
        mine: Callable[[str], bool] = lambda _: True,
        astray: Callable[[str], None] | None = None,
    ) -> None:
        self._layout = layout
        self._bells = Bells() if bells is None else bells
        self._mine = mine
        self._astray = astray or self.change
        self._asked: dict[bytes, str] = {}
        self._leaving: Counter[bytes] = Counter()
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
                self.change(log)
                yield bell
        finally:
            self.change(log)

    def drop(self, reason: str) -> None:
        """Give up the present connection, if there is one; another takes its place and every bell rings."""
        self._serving.give_up(reason)

    async def greet(self, connection: Connection) -> None:
        """Nothing need be said first: any server of the right data will ring."""

    async def serve(self, connection: Connection) -> NoReturn:
        """Subscribe to what is watched, and ring, on a connection until it is lost."""
        self._asked, self._leaving = {}, Counter()
        self._changed = {log for log in self._bells if self._mine(log)}
        self._work.set()
        self.connected = True
        self.connections += 1
        await self._serving.run(self._subscribe(connection), self._listen(connection))

    def lost(self, reason: str, *, away: bool) -> None:
        """Nobody is heard now; watchers look by themselves, every `poll`, until the next connection rings."""
        self.connected = False

    def change(self, log: str) -> None:
        """Look again whether this server is to ring for the log."""
        if self.connected:  # a new connection asks for all that is watched then
            self._changed.add(log)
            self._work.set()

    async def _subscribe(self, connection: Connection) -> NoReturn:
        while True:
            await self._work.wait()
            changed = list(islice(self._changed, SLICE))
            self._changed.difference_update(changed)
            commands = [command for log in changed for command in self._difference(log)]
            if commands:
                await connection.send_packed_command(commands, check_health=False)
            if self._changed:
                await asyncio.sleep(_uniform(0, PAUSE))
            else:
                self._work.clear()

    def _difference(self, log: str) -> Iterator[bytes]:
        """What must be sent so that what is asked for is wanted: one channel a command, as a Cluster demands."""
        channel, mine = self._layout.log(log).bell, self._mine(log)
        if mine and log in self._bells:
            if channel not in self._asked:
                self._asked[channel] = log
                yield packed(b"SSUBSCRIBE", channel)
        elif self._asked.pop(channel, None) and mine:  # what is not ours any more, the server unsubscribes by itself
            self._leaving[channel] += 1
            yield packed(b"SUNSUBSCRIBE", channel)

    async def _listen(self, connection: Connection) -> NoReturn:
        while True:
            try:
                message = await reply_on(connection)
            except REFUSALS as refusal:
                raise Lost(code_and_text(refusal)[1]) from refusal
            match message:
                case [b"smessage" | b"ssubscribe", bytes(channel), _]:
                    if channel in self._asked:
                        self._bells.ring(self._asked[channel])
                case [b"sunsubscribe", bytes(channel), _]:
                    self._unsubscribed(channel)
                case other:
                    raise Lost(f"not a pub/sub message: {other!r:.100}")

    def _unsubscribed(self, channel: bytes) -> None:
        if self._leaving[channel]:
            self._leaving[channel] -= 1
        elif channel in self._asked:
            self._astray(self._asked.pop(channel))
