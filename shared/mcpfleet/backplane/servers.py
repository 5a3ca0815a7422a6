"""The seam below the verbs: one server or the masters of a Cluster, to which commands and bells go by their key."""

from collections.abc import Awaitable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NoReturn, Protocol

from mcpfleet.backplane.base import Bell
from mcpfleet.backplane.dial import Argument, Reply
from mcpfleet.backplane.node import Node


class Servers(Protocol):
    """Where everything of one namespace is."""

    @property
    def nodes(self) -> Sequence[Node]:
        """Every server there is a connection to now."""
        ...

    def endless(self) -> Sequence[Coroutine[None, None, NoReturn]]:
        """What must run for the connections to be kept."""
        ...

    async def tried(self) -> None:
        """Return once it was tried to connect; `SettingsError` if a server answers but will not do."""
        ...

    def submit(self, key: bytes, *arguments: Argument) -> Awaitable[Reply]:
        """Send a command to the server of its key, never twice unless it did not happen; see `Link.submit`."""
        ...

    def watch(self, log: str, poll: float) -> AbstractAsyncContextManager[Bell]:
        """See `Backplane.watch`."""
        ...

    @property
    def durable(self) -> bool:
        """See `Backplane.durable`."""
        ...

    async def settle(self, scope: str) -> None:
        """See `Backplane.settle`."""
        ...
