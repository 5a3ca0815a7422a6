"""One server: everything goes to it, and what was durable there can be waited for."""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NoReturn

from mcpfleet.backplane.base import Bell
from mcpfleet.backplane.dial import Argument, Dialer, Reply
from mcpfleet.backplane.greeting import Greeting
from mcpfleet.backplane.layout import Layout
from mcpfleet.backplane.node import Node, Terms
from mcpfleet.backplane.reconnect import stay_connected
from mcpfleet.backplane.scripts import Scripts
from mcpfleet.backplane.serverinfo import Durability
from mcpfleet.backplane.settlement import Settlement
from mcpfleet.backplane.switchboard import Switchboard
from mcpfleet.errors import SettingsError


class Single:
    """One server at a time; with a durability there is a third connection to it, to settle on."""

    def __init__(
        self, dialer: Dialer, namespace: str, layout: Layout, scripts: Scripts, durability: Durability, terms: Terms
    ) -> None:
        self._terms = terms
        self._node = Node(dialer, namespace, Greeting(durability, scripts), Switchboard(layout), terms)
        self._dial = dialer(timeout=terms.connect, name=f"{namespace}:settling")
        self._settlement: Settlement | None = None
        if durability:
            self._settlement = Settlement(
                layout, durability, self._node.greeting, timeout=terms.settle, limit=terms.commands
            )

    @property
    def nodes(self) -> Sequence[Node]:
        """See `Servers.nodes`."""
        return (self._node,)

    def endless(self) -> Sequence[Coroutine[None, None, NoReturn]]:
        """See `Servers.endless`."""
        keeping = list(self._node.endless())
        if self._settlement is not None:
            link, terms = self._settlement.link, self._terms
            keeping.append(stay_connected(self._dial, link, terms.backoff(), timeout=terms.connect, purpose="settling"))
        return keeping

    async def tried(self) -> None:
        """See `Servers.tried`."""
        await self._node.link.tried.wait()
        if self._node.greeting.objection:
            raise SettingsError(self._node.greeting.objection)

    def submit(self, key: bytes, *arguments: Argument) -> asyncio.Future[Reply]:
        """See `Servers.submit`."""
        return self._node.link.submit(*arguments)

    def watch(self, log: str, poll: float) -> AbstractAsyncContextManager[Bell]:
        """See `Servers.watch`."""
        return self._node.switchboard.watch(log, poll)

    @property
    def durable(self) -> bool:
        """See `Servers.durable`."""
        return self._settlement is not None

    async def settle(self, scope: str) -> None:
        """See `Servers.settle`."""
        if self._settlement is not None:
            await self._settlement.settle(scope)
