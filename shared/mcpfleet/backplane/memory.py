"""The backplane within one process: the same promises as Redis, for one-process servers and for tests.

Several `MemoryBackplane`s over one `MemoryStore` stand for several processes. Every verb gives way to other tasks once
before it acts, as a command to a real store would, and then acts in one step. What has expired is invisible at once and
is swept by later writes, so the store holds at most about twice what is alive; nothing runs in the background.
"""

import asyncio
import copy
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcpfleet.backplane.base import (
    ABSENT,
    ANYTHING,
    EMPTY,
    READ_BYTES,
    REMEMBERED,
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
    checked,
    checked_commit,
    checked_mark,
    checked_member,
    checked_scope,
    delay,
    milliseconds,
    mint,
    sized,
)
from mcpfleet.backplane.bells import Bells
from mcpfleet.errors import LogGap, LogGone, LogMoved


@dataclass(slots=True)
class _Cell:
    value: bytes
    deadline: float


@dataclass(slots=True)
class _Log:
    """Entries by offset, contiguous, from just after `start` up to `end`."""

    start: Position
    end: Position
    deadline: float
    entries: dict[int, Entry] = field(default_factory=dict)
    marks: dict[str, Position] = field(default_factory=dict)
    """Where the appends are that expected ANYTHING, in order."""

    def add(self, data: bytes, mark: str, keep: int, *, remember: bool) -> None:
        self.end = Position(self.end.offset + 1, mark)
        self.entries[self.end.offset] = Entry(self.end, data)
        while len(self.entries) > keep:
            self.start = self.entries.pop(self.start.offset + 1).position
        if remember:
            self.marks[mark] = self.end
            while self.marks[first := next(iter(self.marks))].offset <= self.end.offset - max(keep, REMEMBERED):
                del self.marks[first]

    def after(self, after: Position, limit: int) -> list[Entry]:
        here = self.start if after.offset == self.start.offset else None
        if entry := self.entries.get(after.offset):
            here = entry.position
        if here != after:
            raise LogGap(f"{after} is not, or no longer, in the log")
        found: list[Entry] = []
        size = 0
        for offset in range(after.offset + 1, min(self.end.offset, after.offset + limit) + 1):
            found.append(self.entries[offset])
            size += len(self.entries[offset].data)
            if size >= READ_BYTES:
                break
        return found


@dataclass(slots=True)
class _Pool:
    """Deadlines by member; the pool lives as long as its longest-lived member."""

    members: dict[str, float] = field(default_factory=dict)

    @property
    def deadline(self) -> float:
        return max(self.members.values(), default=0.0)


@dataclass(slots=True)
class _Agenda:
    """When each member is due."""

    deadline: float
    members: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Contents:
    """All that a store holds at one moment."""

    cells: dict[str, _Cell] = field(default_factory=dict)
    logs: dict[str, _Log] = field(default_factory=dict)
    pools: dict[str, _Pool] = field(default_factory=dict)
    agendas: dict[str, _Agenda] = field(default_factory=dict)


class MemoryStore:
    """What the processes share: their contents, their bells and one clock (seconds, monotonic)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.bells = Bells()
        self._contents = Contents()
        self._writes = 0
        self._kept = 0

    def snapshot(self) -> Contents:
        """A copy of the present contents, to `restore` later."""
        return copy.deepcopy(self._contents)

    def restore(self, contents: Contents) -> None:
        """Return to earlier contents, as a failover may, and ring every bell, as a new connection would."""
        self._contents = copy.deepcopy(contents)
        for log in self.bells:
            self.bells.ring(log)

    def age(self, seconds: float) -> None:
        """Bring every end of life nearer by so many seconds."""
        held = self._contents
        for cell in held.cells.values():
            cell.deadline -= seconds
        for log in held.logs.values():
            log.deadline -= seconds
        for pool in held.pools.values():
            pool.members = {member: deadline - seconds for member, deadline in pool.members.items()}
        for agenda in held.agendas.values():
            agenda.deadline -= seconds
            agenda.members = {member: due - seconds for member, due in agenda.members.items()}

    def names(self) -> list[str]:
        """Return the names of all living cells, logs, pools and agendas, sorted."""
        now, held = self.clock(), self._contents
        cells = [key for key, cell in held.cells.items() if cell.deadline > now]
        logs = [name for name, log in held.logs.items() if log.deadline > now]
        pools = [name for name, pool in held.pools.items() if pool.deadline > now]
        agendas = [name for name, agenda in held.agendas.items() if agenda.members and agenda.deadline > now]
        return sorted(cells + logs + pools + agendas)

    def __len__(self) -> int:
        """How many cells, logs, pools and agendas are kept, the expired but not yet swept among them."""
        held = self._contents
        return len(held.cells) + len(held.logs) + len(held.pools) + len(held.agendas)

    def cell(self, key: str) -> _Cell | None:
        """The living cell of that name."""
        found = self._contents.cells.get(key)
        return found if found and found.deadline > self.clock() else None

    def log(self, name: str) -> _Log | None:
        """The living log of that name."""
        found = self._contents.logs.get(name)
        return found if found and found.deadline > self.clock() else None

    def put_cell(self, key: str, value: bytes, ttl_ms: int) -> None:
        """Write a cell."""
        self._contents.cells[key] = _Cell(value, self.deadline(ttl_ms))
        self._wrote()

    def put_log(self, name: str, birth: Position, ttl_ms: int) -> _Log:
        """Begin a log."""
        log = self._contents.logs[name] = _Log(birth, birth, self.deadline(ttl_ms))
        self._wrote()
        return log

    def pool(self, name: str) -> _Pool:
        """The living members of a pool; an absent pool is an empty one."""
        self._wrote()  # first, since it would sweep a pool that has no members yet
        now = self.clock()
        pool = self._contents.pools.setdefault(name, _Pool())
        for member in [member for member, deadline in pool.members.items() if deadline <= now]:
            del pool.members[member]
        return pool

    def agenda(self, name: str) -> dict[str, float]:
        """When each member of a living agenda is due; an absent one has none."""
        found = self._contents.agendas.get(name)
        return found.members if found and found.deadline > self.clock() else {}

    def write(self, write: Write) -> None:
        """Make one write of a commit."""
        match write:
            case Put(key, value, ttl):
                self.put_cell(key, value, milliseconds(ttl))
            case Remove(key):
                self._contents.cells.pop(key, None)
            case Plan(name, member, within, ttl):
                if not self.agenda(name):
                    self._contents.agendas[name] = _Agenda(0.0)
                agenda = self._contents.agendas[name]
                agenda.deadline = max(agenda.deadline, self.deadline(milliseconds(ttl)))
                agenda.members[member] = self.deadline(delay(within))
                self._wrote()
            case Unplan(name, member):
                self.agenda(name).pop(member, None)

    def remove(self, key: str) -> bool:
        """Remove the cell or log of that name; a removed log rings."""
        had_cell = self.cell(key) is not None
        had_log = self.log(key) is not None
        self._contents.cells.pop(key, None)
        self._contents.logs.pop(key, None)
        if had_log:
            self.bells.ring(key)
        return had_cell or had_log

    def deadline(self, ttl_ms: int) -> float:
        """The moment `ttl_ms` from now."""
        return self.clock() + ttl_ms / 1000

    def _wrote(self) -> None:
        # Sweeping everything once per as many writes as the last sweep left things costs each write a constant.
        self._writes += 1
        if self._writes > self._kept:
            now, held = self.clock(), self._contents
            held.cells = {key: cell for key, cell in held.cells.items() if cell.deadline > now}
            held.logs = {name: log for name, log in held.logs.items() if log.deadline > now}
            held.pools = {name: pool for name, pool in held.pools.items() if pool.deadline > now}
            held.agendas = {
                name: agenda for name, agenda in held.agendas.items() if agenda.members and agenda.deadline > now
            }
            self._writes, self._kept = 0, len(self)


class MemoryBackplane:
    """One process's view of a `MemoryStore`; of a store of its own when none is given."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store if store is not None else MemoryStore()

    async def get(self, key: str, *, ttl: float | None = None) -> bytes | None:
        """See `Backplane.get`."""
        checked(key)
        ttl_ms = None if ttl is None else milliseconds(ttl)
        await asyncio.sleep(0)
        cell = self.store.cell(key)
        if cell is None:
            return None
        if ttl_ms is not None:
            cell.deadline = self.store.deadline(ttl_ms)
        return cell.value

    async def put(self, key: str, value: bytes, *, ttl: float, expect: CellExpectation = ANYTHING) -> bool:
        """See `Backplane.put`."""
        checked(key)
        sized(value)
        ttl_ms = milliseconds(ttl)
        await asyncio.sleep(0)
        if not self._holds(key, expect):
            return False
        self.store.put_cell(key, value, ttl_ms)
        return True

    async def delete(self, key: str, *, expect: CellExpectation = ANYTHING) -> bool:
        """See `Backplane.delete`."""
        checked(key)
        await asyncio.sleep(0)
        return self._holds(key, expect) and self.store.remove(key)

    async def admit(self, pool: str, member: str, *, ttl: float, cap: int) -> float:
        """See `Backplane.admit`."""
        checked(pool)
        checked_member(member)
        ttl_ms = milliseconds(ttl) if ttl else 0
        await asyncio.sleep(0)
        members = self.store.pool(pool).members
        if not ttl_ms:
            members.pop(member, None)
        elif member in members or len(members) < cap:
            members[member] = self.store.deadline(ttl_ms)
        else:
            now = self.store.clock()
            return min(members.values(), default=now + ttl) - now
        return 0.0

    async def open(self, log: str, *, ttl: float, create: bool = True) -> Position:
        """See `Backplane.open`."""
        checked(log)
        ttl_ms = milliseconds(ttl)
        await asyncio.sleep(0)
        found = self.store.log(log)
        if found is None and not create:
            raise LogGone(log)
        if found is None:
            found = self.store.put_log(log, Position(0, mint()), ttl_ms)
        found.deadline = max(found.deadline, self.store.deadline(ttl_ms))
        return found.end

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
        checked(log)
        sized(data)
        at_least_one(keep)
        ttl_ms = milliseconds(ttl)
        mark = checked_mark(mark) if mark is not None else mint()
        await asyncio.sleep(0)
        found = self.store.log(log)
        if found is None:
            raise LogGone(log)
        if found.end.offset and found.end.mark == mark:
            return found.end
        if expect is ANYTHING and mark in found.marks:
            return found.marks[mark]
        if (expect is EMPTY and found.end.offset) or (isinstance(expect, Position) and expect != found.end):
            raise LogMoved(str(found.end))
        found.add(data, mark, keep, remember=expect is ANYTHING)
        found.deadline = self.store.deadline(ttl_ms)
        self.store.bells.ring(log)
        return found.end

    async def read(self, log: str, *, after: Position, limit: int = 100, ttl: float | None = None) -> Sequence[Entry]:
        """See `Backplane.read`."""
        checked(log)
        at_least_one(limit)
        ttl_ms = None if ttl is None else milliseconds(ttl)
        await asyncio.sleep(0)
        found = self.store.log(log)
        if found is None:
            raise LogGap(f"{log} is not open")
        if ttl_ms is not None and found.deadline < self.store.deadline(ttl_ms // 2):
            found.deadline = self.store.deadline(ttl_ms)
        return found.after(after, limit)

    async def commit(self, *writes: Write, expect: CommitExpectation, ring: Sequence[str] = ()) -> bool:
        """See `Backplane.commit`."""
        checked_commit(writes, expect, ring)
        await asyncio.sleep(0)
        if not all(self._holds(key, value) for key, value in expect.items()):
            return False
        for write in writes:
            self.store.write(write)
        for name in ring:
            self.store.bells.ring(name)
        return True

    async def take(self, agenda: str, *, hold: float, limit: int = 1) -> Taken:
        """See `Backplane.take`."""
        checked(agenda)
        hold_ms = milliseconds(hold)
        at_least_one(limit)
        await asyncio.sleep(0)
        members, now = self.store.agenda(agenda), self.store.clock()
        due = sorted((at, member) for member, at in members.items() if at <= now)[:limit]
        taken = tuple(member for _, member in due)
        others = [at for member, at in members.items() if member not in taken]
        members.update(dict.fromkeys(taken, self.store.deadline(hold_ms)))
        return Taken(taken, max(0.0, min(others) - now) if others else None)

    async def count(self, name: str) -> Counted:
        """See `Backplane.count`."""
        checked(name)
        await asyncio.sleep(0)
        held, agenda, now = self.store.pool(name).members, self.store.agenda(name), self.store.clock()
        return Counted(len(held), sum(at <= now for at in agenda.values()))

    @asynccontextmanager
    async def watch(self, log: str, *, poll: float = 5.0) -> AsyncIterator[Bell]:
        """See `Backplane.watch`."""
        with self.store.bells.hung(checked(log), poll) as bell:
            yield bell

    @property
    def durable(self) -> bool:
        """See `Backplane.durable`: memory keeps nothing longer than the process."""
        return False

    async def settle(self, scope: str) -> None:
        """See `Backplane.settle`: memory is as durable as it will ever be."""
        checked_scope(scope)

    def _holds(self, key: str, expect: CellExpectation) -> bool:
        if expect is ANYTHING:
            return True
        cell = self.store.cell(key)
        return cell is None if expect is ABSENT else cell is not None and cell.value == expect
