"""The masters of a Cluster: a command goes to the one that owns the slot of its key, a bell rings from there.

Theory of operation. One task keeps the map: it asks any node that answers for CLUSTER SLOTS whenever the map may be
stale, and never twice within `PAUSE`. Each master has connections of its own, so one that is lost is an outage for its
scopes only. A node that says MOVED or ASK has not done the command, so it is sent again, where it belongs; that, and
no doubt, is the only reason for sending anything twice. MOVED corrects the map at once, and has it asked for again.

A log is watched at the owner of its slot. When the owner changes, by the map or because a node unsubscribes us unasked,
the new owner is asked to ring; its confirmation rings, so nothing that was appended in between goes unnoticed.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from random import SystemRandom
from typing import Final, NoReturn

from redis.crc import key_slot
from redis.exceptions import RedisError

from mcpfleet.backplane.base import Bell, checked
from mcpfleet.backplane.bells import Bells
from mcpfleet.backplane.dial import Argument, Dial, Reply, dialer, exchange
from mcpfleet.backplane.greeting import Greeting
from mcpfleet.backplane.layout import Layout
from mcpfleet.backplane.link import Refused
from mcpfleet.backplane.node import Node, Terms
from mcpfleet.backplane.scripts import Scripts
from mcpfleet.backplane.seeds import Seeds
from mcpfleet.backplane.serverinfo import Durability, ServerInfo
from mcpfleet.backplane.switchboard import Switchboard
from mcpfleet.backplane.topology import SLOTS, Address, Redirection, owners, shares, slot_of
from mcpfleet.errors import SettingsError, Unavailable

PAUSE: Final = 0.5
"""At least half of so many seconds, and at most all of them, pass between two looks at the map."""

HOPS: Final = 3
"""To so many nodes a command is sent that none of them has done: one that was wrong, its successor, and an ASK."""

_jitter: Final = SystemRandom().uniform


@dataclass(frozen=True, slots=True)
class _Master:
    node: Node
    tasks: tuple[asyncio.Task[NoReturn], ...]

    def leave(self) -> None:
        for task in self.tasks:
            task.cancel()
        self.node.close("this node has left the Cluster")


class Cluster:
    """The masters behind some seeds; `Servers` for whoever wants no durability."""

    def __init__(self, url: str, namespace: str, layout: Layout, scripts: Scripts, terms: Terms) -> None:
        self._seeds = Seeds.parse(url)
        self._namespace = namespace
        self._layout = layout
        self._scripts = scripts
        self._terms = terms
        for seed in self._seeds.addresses:
            self._dial(seed)  # which refuses what cannot be used
        self._bells = Bells()
        self._astray: set[str] = set()
        self._masters: dict[Address, _Master] = {}
        self._owners: list[Address | None] = [None] * SLOTS
        self._group: asyncio.TaskGroup | None = None
        self._stale = asyncio.Event()
        self._stale.set()
        self._knowing: Address | None = None
        self._away = "no node of the Cluster was asked yet"
        self._asked = asyncio.Event()
        self._objection: str | None = None

    @property
    def nodes(self) -> Sequence[Node]:
        """See `Servers.nodes`."""
        return tuple(master.node for master in self._masters.values())

    def endless(self) -> Sequence[Coroutine[None, None, NoReturn]]:
        """See `Servers.endless`."""
        return (self._keep(),)

    async def tried(self) -> None:
        """See `Servers.tried`."""
        await self._asked.wait()
        nodes = self.nodes
        for node in nodes:
            await node.link.tried.wait()
        for objection in (self._objection, *(node.greeting.objection for node in nodes)):
            if objection:
                raise SettingsError(objection)

    async def submit(self, key: bytes, *arguments: Argument) -> Reply:
        """See `Servers.submit`."""
        address, asking = self._owner(key_slot(key)), False
        for _ in range(HOPS):
            try:
                return await self._at(address).link.submit(*arguments, asking=asking)
            except Refused as refusal:
                redirection = Redirection.parse(refusal.code, refusal.text, address)
                if redirection is None:
                    raise
                address, asking = self._redirected(redirection), redirection.once
        raise Unavailable("the nodes of the Cluster do not agree who serves this")

    @asynccontextmanager
    async def watch(self, log: str, poll: float) -> AsyncIterator[Bell]:
        """See `Servers.watch`."""
        checked(log)
        try:
            with self._bells.hung(log, poll) as bell:
                self._look(log)
                yield bell
        finally:
            self._look(log)

    @property
    def durable(self) -> bool:
        """See `Servers.durable`; with a Cluster there is no durability to wait for."""
        return False

    async def settle(self, scope: str) -> None:
        """See `Servers.settle`."""

    def _owner(self, slot: int) -> Address:
        owner = self._owners[slot]
        if owner is None:
            self._suspect()
            raise Unavailable(self._away)
        return owner

    def _at(self, address: Address) -> Node:
        """The node there; connections to one that was not known are begun."""
        known = self._masters.get(address)
        if known is None:
            if self._group is None:
                raise Unavailable(self._away)
            node = self._node(address)
            known = _Master(node, tuple(self._group.create_task(each) for each in node.endless(self._suspect)))
            self._masters[address] = known
        return known.node

    def _node(self, address: Address) -> Node:
        switchboard = Switchboard(
            self._layout,
            self._bells,
            mine=lambda log: self._owners[_slot(log)] == address,
            astray=lambda log: self._lost_log(log, address),
        )
        greeting = Greeting(Durability(), self._scripts, cluster=True)
        return Node(partial(dialer, self._seeds.url(address)), self._namespace, greeting, switchboard, self._terms)

    def _redirected(self, redirection: Redirection) -> Address:
        """Where the command is to be sent; what holds for the slot from now on is remembered."""
        if not redirection.once and self._owners[redirection.slot] != redirection.target:
            self._owners[redirection.slot] = redirection.target
            self._at(redirection.target)
            for log in self._bells:
                if _slot(log) == redirection.slot:
                    self._look(log)
            self._suspect(redirection.target)
        return redirection.target

    def _suspect(self, knowing: Address | None = None) -> None:
        """The map may be stale; a node that surely knows better is asked first."""
        self._knowing = knowing or self._knowing
        self._stale.set()

    def _lost_log(self, log: str, address: Address) -> None:
        self._astray.add(log)
        self._suspect(address)

    def _look(self, log: str) -> None:
        """Have the owner of a log compare what is wanted of it with what it was asked for."""
        owner = self._owners[_slot(log)]
        if owner in self._masters:
            self._masters[owner].node.switchboard.change(log)

    async def _keep(self) -> NoReturn:
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                while True:
                    await self._stale.wait()
                    self._stale.clear()
                    await self._learn()
                    self._asked.set()
                    await asyncio.sleep(_jitter(PAUSE / 2, PAUSE))
            finally:
                self._group = None

    async def _learn(self) -> None:
        """Ask one node after another until one tells the map; none may answer, and then the old map stands."""
        reasons: list[str] = []
        for address in self._informed():
            try:
                self._adopt(await self._map_of(address))
            except (RedisError, OSError, SettingsError, Unavailable) as error:  # TimeoutError is an OSError
                reasons.append(f"{address}: {error or 'no answer in time'}")
            else:
                self._away = "no node of the Cluster serves this slot"
                return
        self._away = f"no node of the Cluster answers ({'; '.join(reasons)})"
        self._stale.set()

    def _informed(self) -> Iterator[Address]:
        """Whom to ask: who surely knows, then who is connected, then the seeds, each once."""
        knowing, self._knowing = self._knowing, None
        first = (knowing,) if knowing is not None else ()
        connected = (address for address, master in self._masters.items() if master.node.link.connected)
        return iter(dict.fromkeys(chain(first, connected, self._seeds.addresses, self._masters)))

    async def _map_of(self, address: Address) -> list[Address | None]:
        async with asyncio.timeout(self._terms.connect), self._dial(address)() as connection:
            info, slots = await exchange(connection, (b"INFO",), (b"CLUSTER", b"SLOTS"))
        self._objection = (
            ServerInfo.parse(info).objection(Durability(), cluster=True) if isinstance(info, bytes) else None
        )
        if self._objection:
            raise Unavailable(self._objection)
        if isinstance(slots, RedisError):
            raise slots
        return owners(shares(slots, address))

    def _adopt(self, found: list[Address | None]) -> None:
        before, self._owners = self._owners, found
        masters = set(found) - {None}
        for address in masters:
            if address is not None:
                self._at(address)
        for address in self._masters.keys() - masters:
            if self._masters[address].node.link.idle:
                self._masters.pop(address).leave()
            else:  # what is under way there shall be answered first
                self._stale.set()
        astray, self._astray = self._astray, set()
        for log in self._bells:
            if log in astray or before[_slot(log)] != found[_slot(log)]:
                self._look(log)

    def _dial(self, address: Address) -> Dial:
        return dialer(self._seeds.url(address), timeout=self._terms.connect, name=f"{self._namespace}:map")


def _slot(log: str) -> int:
    return slot_of(log.partition("/")[0])
