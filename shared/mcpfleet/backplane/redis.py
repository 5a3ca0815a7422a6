"""The backplane on Redis: the eleven verbs as commands and scripts, and the tasks that keep its connections.

A process has, to each server that holds a part of the namespace, one connection for commands and one for bells. None of
this module's verbs ever sends a write twice; `link` says what becomes of a command when a connection is lost.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import NoReturn, Self

from mcpfleet.backplane.background import background
from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import (
    ABSENT,
    ANYTHING,
    EMPTY,
    READ_BYTES,
    Bell,
    CellExpectation,
    CommitExpectation,
    Counted,
    Entry,
    LogExpectation,
    Plan,
    Position,
    Put,
    Remove,
    Taken,
    Unplan,
    Write,
    at_least_one,
    checked_commit,
    checked_mark,
    checked_member,
    checked_scope,
    delay,
    milliseconds,
    mint,
    sized,
)
from mcpfleet.backplane.cluster import Cluster
from mcpfleet.backplane.dial import Argument, Reply, dialer
from mcpfleet.backplane.layout import Layout
from mcpfleet.backplane.link import Refused
from mcpfleet.backplane.node import Terms
from mcpfleet.backplane.scripts import Script, Scripts
from mcpfleet.backplane.seeds import Seeds
from mcpfleet.backplane.sentinels import Sentinels
from mcpfleet.backplane.serverinfo import Durability
from mcpfleet.backplane.servers import Servers
from mcpfleet.backplane.single import Single
from mcpfleet.errors import BackplaneError, LogGap, LogGone, LogMoved, NameRefused, SettingsError


class RedisBackplane:
    """One process's view of a namespace in Redis; `RedisBackplane.at` makes it."""

    def __init__(
        self, servers: Servers, layout: Layout, scripts: Scripts, failures: Mapping[str, int] | None = None
    ) -> None:
        self.servers = servers
        self.failures: Mapping[str, int] = failures if failures is not None else {}
        """How many commands came to nothing, by kind: `unavailable`, `in_doubt` or `refused`."""
        self.layout = layout
        self._scripts = scripts
        self._tasks: Sequence[asyncio.Task[NoReturn]] = ()

    @classmethod
    @asynccontextmanager
    async def at(
        cls,
        url: str,
        *,
        namespace: str,
        durability: str = "none",
        command_timeout: float = 0.8,
        connect_timeout: float = 2.0,
        settle_timeout: float = 2.0,
        max_commands: int = 10_000,
        backoff: Callable[[], Backoff] = Backoff,
    ) -> AsyncIterator[Self]:
        """Use the Redis, the Cluster, or the master that Sentinels name, at a URL for the time of the block.

        Enters once the first attempt to connect was made, successful or not: an outage at the start is an outage like
        any other. A URL, namespace or durability (`none`, `replicas:N` or `fsync`) that cannot be used raises
        `SettingsError`, and so does a server that answers but will not do: older than Redis 7.0 or Valkey 7.2, unable
        to keep that durability, or a node of a Cluster at a URL that is not one's, or the reverse. Timeouts are in
        seconds; `max_commands` is how many may be under way to one server at once; `backoff` makes the pauses between
        attempts to connect.
        """
        layout, scripts, wanted = _layout(namespace), Scripts.load(), Durability.parse(durability)
        terms = Terms(
            command=command_timeout,
            connect=connect_timeout,
            settle=settle_timeout,
            commands=max_commands,
            backoff=backoff,
        )
        servers: Servers
        if not Seeds.named(url):
            found = Sentinels.parse(url).dialer if Sentinels.named(url) else partial(dialer, url)
            servers = Single(found, namespace, layout, scripts, wanted, terms)
        elif wanted:
            raise SettingsError(f"durability {durability} cannot be kept on a Cluster")
        else:
            servers = Cluster(url, namespace, layout, scripts, terms)
        backplane = cls(servers, layout, scripts, terms.failures)
        try:
            async with background(*servers.endless()) as backplane._tasks:
                await servers.tried()
                yield backplane
        finally:
            for node in servers.nodes:
                node.close("the backplane is closed")

    @property
    def alive(self) -> bool:
        """Whether every task that keeps a connection is running; if not, this process cannot recover by itself."""
        return bool(self._tasks) and not any(task.done() for task in self._tasks)

    def reconnect(self) -> None:
        """Replace the connections that hear bells, and ring them all: for whoever finds that it has gone deaf."""
        for node in self.servers.nodes:
            node.switchboard.drop("it is deaf")

    async def get(self, key: str, *, ttl: float | None = None) -> bytes | None:
        """See `Backplane.get`."""
        cell = self.layout.cell(key)
        if ttl is None:
            reply = await self.servers.submit(cell, b"GET", cell)
        else:
            reply = await self.servers.submit(cell, b"GETEX", cell, b"PX", milliseconds(ttl))
        if reply is None or isinstance(reply, bytes):
            return reply
        raise _unexpected(reply)

    async def put(self, key: str, value: bytes, *, ttl: float, expect: CellExpectation = ANYTHING) -> bool:
        """See `Backplane.put`."""
        cell, value, life = self.layout.cell(key), sized(value), milliseconds(ttl)
        if expect is ANYTHING:
            reply = await self.servers.submit(cell, b"SET", cell, value, b"PX", life)
        elif expect is ABSENT:
            reply = await self.servers.submit(cell, b"SET", cell, value, b"PX", life, b"NX")
        elif expect == value:
            reply = await self._run(self._scripts.renew, (cell,), value, life)
        else:
            reply = await self._run(self._scripts.swap, (cell,), expect, value, life)
        return reply in (b"OK", 1)

    async def delete(self, key: str, *, expect: CellExpectation = ANYTHING) -> bool:
        """See `Backplane.delete`."""
        cell, (*parts, bell) = self.layout.cell(key), self.layout.log(key)
        if expect is ABSENT:
            return False
        holding = () if expect is ANYTHING else (expect,)
        return await self._run(self._scripts.delete, (cell, *parts), bell, *holding) != 0

    async def admit(self, pool: str, member: str, *, ttl: float, cap: int) -> float:
        """See `Backplane.admit`."""
        key, name = self.layout.pool(pool), checked_member(member).encode()
        if not ttl:
            await self.servers.submit(key, b"ZREM", key, name)
            return 0.0
        match await self._run(self._scripts.admit, (key,), name, milliseconds(ttl), cap):
            case int(wait):
                return wait / 1000
            case reply:
                raise _unexpected(reply)

    async def open(self, log: str, *, ttl: float, create: bool = True) -> Position:
        """See `Backplane.open`."""
        (entries, meta, marks, _), life = self.layout.log(log), milliseconds(ttl)
        if create:
            reply = await self._run(self._scripts.open, (entries, meta, marks), life, mint().encode())
        else:
            reply = await self._run(self._scripts.reopen, (entries, meta), life)
        match reply:
            case [-1, _]:
                raise LogGone(log)
            case [int(offset), bytes(mark)]:
                return Position(offset, mark.decode())
        raise _unexpected(reply)

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
        (*parts, bell), life = self.layout.log(log), milliseconds(ttl)
        own = (checked_mark(mark) if mark is not None else mint()).encode()
        expected = b"*" if expect is ANYTHING else b"empty" if expect is EMPTY else str(expect).encode()
        reply = await self._run(
            self._scripts.append, (*parts,), sized(data), at_least_one(keep), life, bell, own, expected
        )
        match reply:
            case [b"ok" | b"again", int(offset), bytes(end)]:
                return Position(offset, end.decode())
            case [b"moved", int(offset), bytes(end)]:
                raise LogMoved(f"{offset}-{end.decode()}")
            case [b"gone", *_]:
                raise LogGone(log)
        raise _unexpected(reply)

    async def read(self, log: str, *, after: Position, limit: int = 100, ttl: float | None = None) -> Sequence[Entry]:
        """See `Backplane.read`."""
        (entries, meta, *_), life = self.layout.log(log), b"" if ttl is None else milliseconds(ttl)
        reply = await self._run(
            self._scripts.read, (entries, meta), after.offset, at_least_one(limit), READ_BYTES, life
        )
        match reply:
            case [-1, *_]:
                raise LogGap(f"{log} is not open")
            case [int(offset), bytes(mark), list(rows)]:
                return _chained(rows, after, Position(offset, mark.decode()))
        raise _unexpected(reply)

    async def commit(self, *writes: Write, expect: CommitExpectation, ring: Sequence[str] = ()) -> bool:
        """See `Backplane.commit`; while Redis is full, only a commit that expects no cell to be absent works."""
        checked_commit(writes, expect, ring)
        keys: list[bytes] = [self.layout.cell(cell) for cell in expect]
        arguments: list[Argument] = [b"" if held is ABSENT else b"=" + held for held in expect.values()]
        arguments += [self.layout.log(name).bell for name in ring]
        for write in writes:
            key, told = self._written(write)
            keys.append(key)
            arguments += told
        script = self._scripts.commit if ABSENT in expect.values() else self._scripts.amend
        return await self._run(script, tuple(keys), len(expect), len(ring), *arguments) == 1

    async def take(self, agenda: str, *, hold: float, limit: int = 1) -> Taken:
        """See `Backplane.take`."""
        key = self.layout.agenda(agenda)
        match await self._run(self._scripts.take, (key,), milliseconds(hold), at_least_one(limit)):
            case [list(members), int(wait)]:
                taken = tuple(member.decode() for member in members if isinstance(member, bytes))
                return Taken(taken, None if wait < 0 else wait / 1000)
            case reply:
                raise _unexpected(reply)

    async def count(self, name: str) -> Counted:
        """See `Backplane.count`."""
        match await self._run(self._scripts.count, (self.layout.pool(name), self.layout.agenda(name))):
            case [int(held), int(due)]:
                return Counted(held, due)
            case reply:
                raise _unexpected(reply)

    def watch(self, log: str, *, poll: float = 5.0) -> AbstractAsyncContextManager[Bell]:
        """See `Backplane.watch`."""
        return self.servers.watch(log, poll)

    @property
    def durable(self) -> bool:
        """See `Backplane.durable`."""
        return self.servers.durable

    async def settle(self, scope: str) -> None:
        """See `Backplane.settle`; call it within `settlement.TAKEOVER` seconds of the write it is for."""
        checked_scope(scope)
        await self.servers.settle(scope)

    def _written(self, write: Write) -> tuple[bytes, tuple[Argument, ...]]:
        """The key of one write of a commit, and what its script is told of it."""
        match write:
            case Put(key, value, ttl):
                return self.layout.cell(key), (b"put", value, milliseconds(ttl))
            case Remove(key):
                return self.layout.cell(key), (b"remove",)
            case Plan(agenda, member, within, ttl):
                return self.layout.agenda(agenda), (b"plan", member.encode(), delay(within), milliseconds(ttl))
            case Unplan(agenda, member):
                return self.layout.agenda(agenda), (b"unplan", member.encode())

    async def _run(self, script: Script, keys: tuple[bytes, ...], *arguments: Argument) -> Reply:
        """Run a script; one that the server has forgotten is sent whole, which repeats nothing since nothing ran."""
        called: tuple[Argument, ...] = (len(keys), *keys, *arguments)
        try:
            return await self.servers.submit(keys[0], b"EVALSHA", script.digest, *called)
        except Refused as refusal:
            if refusal.code != "NOSCRIPT":
                raise
        return await self.servers.submit(keys[0], b"EVAL", script.text, *called)


def _layout(namespace: str) -> Layout:
    try:
        return Layout(namespace)
    except NameRefused as error:
        raise SettingsError(f"the namespace cannot be used: {error}") from None


def _chained(rows: list[Reply], after: Position, end: Position) -> list[Entry]:
    """The rows as entries, if each names the mark before it, beginning with `after`; else `LogGap`."""
    here, entries = after, []
    for row in rows:
        match row:
            case [bytes(place), [b"d", bytes(data), b"m", bytes(mark), b"p", bytes(before)]]:
                offset = int(place.partition(b"-")[0])
                if offset != here.offset + 1 or before.decode() != here.mark:
                    break
                here = Position(offset, mark.decode())
                entries.append(Entry(here, data))
            case _:
                raise _unexpected(row)
    if len(entries) < len(rows) or (not rows and after != end):
        raise LogGap(f"{after} is not, or no longer, in the log")
    return entries


def _unexpected(reply: Reply) -> BackplaneError:
    return BackplaneError(f"Redis answered what no script of ours answers: {reply!r:.100}")
