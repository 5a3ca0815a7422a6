"""A backplane with something between its caller and itself, the same for every verb."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal, Protocol, TypeAlias, TypeVar

from mcpfleet.backplane.base import (
    ANYTHING,
    Backplane,
    Bell,
    CellExpectation,
    CommitExpectation,
    Counted,
    Entry,
    LogExpectation,
    Position,
    Put,
    Remove,
    Taken,
    Write,
)

_Result = TypeVar("_Result")

Verb: TypeAlias = Literal[
    "get", "put", "delete", "admit", "open", "append", "read", "commit", "take", "count", "settle"
]


class Interceptor(Protocol):
    """Decides whether, when and with what outcome a verb acts, and when a bell rings."""

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        """Act, or not, and return what the caller shall see; `name` is the verb's first, or what it writes first."""
        ...

    def bell(self, inner: Bell, /) -> Bell:
        """Return the bell that the caller shall have."""
        ...


class Intercepted:
    """A `Backplane` whose every verb and every bell goes through an interceptor."""

    def __init__(self, inner: Backplane, through: Interceptor) -> None:
        self._inner = inner
        self._through = through

    async def get(self, key: str, *, ttl: float | None = None) -> bytes | None:
        """See `Backplane.get`."""
        return await self._through.verb("get", key, lambda: self._inner.get(key, ttl=ttl))

    async def put(self, key: str, value: bytes, *, ttl: float, expect: CellExpectation = ANYTHING) -> bool:
        """See `Backplane.put`."""
        return await self._through.verb("put", key, lambda: self._inner.put(key, value, ttl=ttl, expect=expect))

    async def delete(self, key: str, *, expect: CellExpectation = ANYTHING) -> bool:
        """See `Backplane.delete`."""
        return await self._through.verb("delete", key, lambda: self._inner.delete(key, expect=expect))

    async def admit(self, pool: str, member: str, *, ttl: float, cap: int) -> float:
        """See `Backplane.admit`."""
        return await self._through.verb("admit", pool, lambda: self._inner.admit(pool, member, ttl=ttl, cap=cap))

    async def open(self, log: str, *, ttl: float, create: bool = True) -> Position:
        """See `Backplane.open`."""
        return await self._through.verb("open", log, lambda: self._inner.open(log, ttl=ttl, create=create))

    async def append(
        self,
        log: str,
        data: bytes,
        *,
        ttl: float,
        keep: int,
        expect: LogExpectation = ANYTHING,
        mark: str | None = None,
    ) -> Position:
        """See `Backplane.append`."""
        return await self._through.verb(
            "append", log, lambda: self._inner.append(log, data, ttl=ttl, keep=keep, expect=expect, mark=mark)
        )

    async def read(self, log: str, *, after: Position, limit: int = 100, ttl: float | None = None) -> Sequence[Entry]:
        """See `Backplane.read`."""
        return await self._through.verb("read", log, lambda: self._inner.read(log, after=after, limit=limit, ttl=ttl))

    async def commit(self, *writes: Write, expect: CommitExpectation, ring: Sequence[str] = ()) -> bool:
        """See `Backplane.commit`."""
        first = writes[0] if writes else None
        name = first.key if isinstance(first, Put | Remove) else "" if first is None else first.agenda
        return await self._through.verb("commit", name, lambda: self._inner.commit(*writes, expect=expect, ring=ring))

    async def take(self, agenda: str, *, hold: float, limit: int = 1) -> Taken:
        """See `Backplane.take`."""
        return await self._through.verb("take", agenda, lambda: self._inner.take(agenda, hold=hold, limit=limit))

    async def count(self, name: str) -> Counted:
        """See `Backplane.count`."""
        return await self._through.verb("count", name, lambda: self._inner.count(name))

    @asynccontextmanager
    async def watch(self, log: str, *, poll: float = 5.0) -> AsyncIterator[Bell]:
        """See `Backplane.watch`."""
        async with self._inner.watch(log, poll=poll) as bell:
            yield self._through.bell(bell)

    @property
    def durable(self) -> bool:
        """See `Backplane.durable`."""
        return self._inner.durable

    async def settle(self, scope: str) -> None:
        """See `Backplane.settle`."""
        await self._through.verb("settle", scope, lambda: self._inner.settle(scope))
