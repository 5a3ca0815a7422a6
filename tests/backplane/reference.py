"""What the ten verbs mean, in the plainest words: a pure model, to whose every answer a backplane is held.

It shares nothing with either backplane but the contract's own types and errors.
"""

import copy
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from mcpfleet.backplane.base import (
    ABSENT,
    ANYTHING,
    EMPTY,
    REMEMBERED,
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
)
from mcpfleet.errors import LogGap, LogGone, LogMoved


@dataclass(slots=True)
class Cell:
    """Bytes, and for how many more seconds."""

    value: bytes
    left: float


@dataclass(slots=True)
class Log:
    """All that was ever appended, how much of it is kept, and for how many more seconds."""

    birth: int
    left: float
    chain: list[Entry] = field(default_factory=list)
    kept: int = 0
    unconditional: list[Position] = field(default_factory=list)


@dataclass(slots=True)
class Agenda:
    """In how many seconds each member is due, and for how many more seconds all of it is kept."""

    left: float
    due: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class State:
    """All that is alive."""

    cells: dict[str, Cell] = field(default_factory=dict)
    logs: dict[str, Log] = field(default_factory=dict)
    pools: dict[str, dict[str, float]] = field(default_factory=dict)
    agendas: dict[str, "Agenda"] = field(default_factory=dict)


class Reference:
    """The model; time stands still unless `age` lets it pass.

    The mark with which a log is born is the store's own: `births` holds it as soon as anybody has seen it. `rings`
    counts how often each log's bell had to ring.
    """

    def __init__(self) -> None:
        self.births: dict[int, str] = {}
        self.rings: Counter[str] = Counter()
        self._state = State()
        self._numbers = itertools.count()

    def save(self) -> State:
        """The present state, to be restored later."""
        return copy.deepcopy(self._state)

    def restore(self, state: State) -> None:
        """Return to that state."""
        self._state = copy.deepcopy(state)

    def age(self, seconds: float) -> None:
        """Let time pass."""
        state = self._state
        for cell in state.cells.values():
            cell.left -= seconds
        for log in state.logs.values():
            log.left -= seconds
        state.cells = {name: cell for name, cell in state.cells.items() if cell.left > 0}
        state.logs = {name: log for name, log in state.logs.items() if log.left > 0}
        for agenda in state.agendas.values():
            agenda.left -= seconds
            agenda.due = {member: due - seconds for member, due in agenda.due.items()}
        state.agendas = {name: agenda for name, agenda in state.agendas.items() if agenda.left > 0}
        for name, pool in state.pools.items():
            state.pools[name] = {who: left - seconds for who, left in pool.items() if left > seconds}

    def end(self, log: str) -> Position | None:
        """Where an open log ends, if its mark was ever seen."""
        found = self._state.logs.get(log)
        return None if found is None else self._end(found)

    def get(self, key: str, *, ttl: float | None = None) -> bytes | None:
        cell = self._state.cells.get(key)
        if cell is None:
            return None
        cell.left = cell.left if ttl is None else ttl
        return cell.value

    def put(self, key: str, value: bytes, *, ttl: float, expect: CellExpectation = ANYTHING) -> bool:
        held = self._holds(key, expect)
        if held:
            self._state.cells[key] = Cell(value, ttl)
        return held

    def delete(self, key: str, *, expect: CellExpectation = ANYTHING) -> bool:
        if not self._holds(key, expect):
            return False
        cell, log = self._state.cells.pop(key, None), self._state.logs.pop(key, None)
        self.rings[key] += log is not None
        return cell is not None or log is not None

    def admit(self, pool: str, member: str, *, ttl: float, cap: int) -> float:
        members = self._state.pools.setdefault(pool, {})
        if ttl == 0:
            members.pop(member, None)
        elif member in members or len(members) < cap:
            members[member] = ttl
        else:
            return min(members.values())
        return 0.0

    def open(self, log: str, *, ttl: float, create: bool = True) -> Position | None:
        """None stands for a birth mark that nobody has seen yet."""
        found = self._state.logs.get(log)
        if found is None and not create:
            raise LogGone(log)
        if found is None:
            found = self._state.logs[log] = Log(next(self._numbers), ttl)
        found.left = max(found.left, ttl)
        return self._end(found)

    def append(
        self, log: str, data: bytes, *, ttl: float, keep: int, mark: str, expect: LogExpectation = ANYTHING
    ) -> Position:
        found = self._state.logs.get(log)
        if found is None:
            raise LogGone(log)
        known = [entry.position for entry in found.chain[-1:]]
        known += found.unconditional if expect is ANYTHING else []
        for position in known:
            if position.mark == mark:
                return position
        end = self._end(found)
        if (expect is EMPTY and found.chain) or (isinstance(expect, Position) and expect != end):
            raise LogMoved(str(end))
        position = Position(len(found.chain) + 1, mark)
        found.chain.append(Entry(position, data))
        found.kept = min(found.kept + 1, keep)
        if expect is ANYTHING:
            oldest = position.offset - max(keep, REMEMBERED)
            found.unconditional = [each for each in (*found.unconditional, position) if each.offset > oldest]
        found.left = ttl
        self.rings[log] += 1
        return position

    def read(self, log: str, *, after: Position, limit: int = 100, ttl: float | None = None) -> Sequence[Entry]:
        found = self._state.logs.get(log)
        if found is None:
            raise LogGap(log)
        if ttl is not None and found.left < ttl / 2:
            found.left = ttl
        first = len(found.chain) - found.kept
        if not first <= after.offset <= len(found.chain) or self._at(found, after.offset) != after:
            raise LogGap(log)
        return found.chain[after.offset : after.offset + limit]

    def commit(self, *writes: Write, expect: CommitExpectation, ring: Sequence[str] = ()) -> bool:
        if not all(self._holds(key, held) for key, held in expect.items()):
            return False
        for write in writes:
            match write:
                case Put(key, value, ttl):
                    self._state.cells[key] = Cell(value, ttl)
                case Remove(key):
                    self._state.cells.pop(key, None)
                case Plan(name, member, within, ttl):
                    agenda = self._state.agendas.setdefault(name, Agenda(0.0))
                    agenda.left = max(agenda.left, ttl)
                    agenda.due[member] = within
                case Unplan(name, member):
                    self._unplan(name, member)
        self.rings.update(ring)
        return True

    def take(self, agenda: str, *, hold: float, limit: int = 1) -> Taken:
        due = {} if (found := self._state.agendas.get(agenda)) is None else found.due
        taken = sorted((member for member in due if due[member] <= 0), key=lambda member: (due[member], member))[:limit]
        others = [due[member] for member in due if member not in taken]
        due.update(dict.fromkeys(taken, hold))
        return Taken(tuple(taken), max(0.0, min(others)) if others else None)

    def count(self, name: str) -> Counted:
        due = {} if (found := self._state.agendas.get(name)) is None else found.due
        return Counted(len(self._state.pools.get(name, {})), sum(at <= 0 for at in due.values()))

    def _unplan(self, name: str, member: str) -> None:
        """An agenda without members is none: its life begins anew with the next."""
        if (agenda := self._state.agendas.get(name)) is not None:
            agenda.due.pop(member, None)
            if not agenda.due:
                del self._state.agendas[name]

    def born(self, log: str, position: Position) -> None:
        """Learn the mark of a log's beginning."""
        self.births.setdefault(self._state.logs[log].birth, position.mark)

    def _holds(self, key: str, expect: CellExpectation) -> bool:
        cell = self._state.cells.get(key)
        match expect:
            case bytes():
                return cell is not None and cell.value == expect
            case _:
                return expect is not ABSENT or cell is None

    def _end(self, log: Log) -> Position | None:
        return self._at(log, len(log.chain))

    def _at(self, log: Log, offset: int) -> Position | None:
        if offset:
            return log.chain[offset - 1].position
        birth = self.births.get(log.birth)
        return None if birth is None else Position(0, birth)
