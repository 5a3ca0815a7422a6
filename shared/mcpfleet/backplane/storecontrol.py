"""What a test can do to a store behind the backplane's back: return it to an earlier state, or let time pass in it.

A backend that wants the contract suite run over it brings one of these beside its `Backplane`; the one for Redis is in
`rediscontrol`.
"""

from typing import Protocol, TypeVar

from mcpfleet.backplane.memory import Contents, MemoryStore

_State = TypeVar("_State")


class StoreControl(Protocol[_State]):
    """Power over one store, or over one namespace of it, while nobody writes to it."""

    async def save(self) -> _State:
        """Return all that is in the store, with the moments at which it ends."""
        ...

    async def restore(self, state: _State) -> None:
        """Make the store what it was, as a failover may; all bells ring soon after."""
        ...

    async def age(self, seconds: float) -> None:
        """Bring every end of life nearer, as if so much time had passed, at once."""
        ...

    async def names(self) -> list[str]:
        """Return the names of all that is alive, in the store's own form, sorted."""
        ...


class MemoryControl:
    """The `StoreControl` of a `MemoryStore`."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def save(self) -> Contents:
        """See `StoreControl.save`."""
        return self._store.snapshot()

    async def restore(self, state: Contents) -> None:
        """See `StoreControl.restore`."""
        self._store.restore(state)

    async def age(self, seconds: float) -> None:
        """See `StoreControl.age`."""
        self._store.age(seconds)

    async def names(self) -> list[str]:
        """See `StoreControl.names`."""
        return self._store.names()
