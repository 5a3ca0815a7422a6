"""The seam between processes: cells hold state, logs hold order, bells only wake.

Theory of operation. The store is a Redis master that a replica lacking its last writes may replace, and any process
may freeze at any line. So nothing is decided by a value that was read or a lease that is held: every decision is one
conditional write, and every write may be sent twice.

A *cell* is bytes with an end of life. A *log* is a chain of entries: each carries a random mark and names the mark
before it, and the mark of offset 0 is the birth mark of the log. A `Position` is an offset and the mark there, so a
reader goes on only where its own mark is still in the chain; trimming, expiry, an emptied store and a failover that
rewrote history are all `LogGap`. A *bell* says "look again": losing one costs latency, never data. A *pool* is a set of
members, each with its own end of life by the store's clock. An *agenda* is a set of members, each with the time at
which it is due by that clock: a queue with delays, to which comes back what was taken by someone who is then never
heard of again.

Names are `scope/name`: the scope is what one script must see together (a Redis Cluster hash tag). All durations are
seconds. `Unavailable` means that nothing was sent, `InDoubt` that a write may have happened or may happen yet; no
backend re-sends a write by itself.
"""

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, Protocol

from mcpfleet.errors import NameRefused, TooLarge

MAX_NAME: Final = 512
MAX_OFFSET: Final = 10**15 - 1
MAX_TTL: Final = 10 * 366 * 86_400
MAX_ENTRY_BYTES: Final = 32 * 1024 * 1024
MAX_WRITES: Final = 32
"""How many writes, and as many expectations and rings, one `commit` may carry."""
REMEMBERED: Final = 64
"""An append that expected ANYTHING is known again by its mark at least until so many such ones were made after it."""
READ_BYTES: Final = 1024 * 1024
"""A `read` ends with the entry that reaches this many bytes. Fewer bytes and fewer entries than `limit` mean that the
end of the log was reached, so a follower needs no second read to know it."""

_NAME = re.compile(r"[A-Za-z0-9_.:-]+(?:/[A-Za-z0-9_.:-]+)+")
_SCOPE = re.compile(r"[A-Za-z0-9_.:-]+")
_MARK = re.compile(r"[0-9a-f]{16}")
_POSITION = re.compile(r"([0-9]{1,15})-([0-9a-f]{16})")


class Expect(Enum):
    """What a conditional write may demand besides exact bytes or an exact position."""

    ANYTHING = "anything"
    ABSENT = "absent"
    EMPTY = "empty"


ANYTHING: Final = Expect.ANYTHING
ABSENT: Final = Expect.ABSENT
EMPTY: Final = Expect.EMPTY


def mint() -> str:
    """A new mark: 64 random bits as 16 hexadecimal digits."""
    return secrets.token_hex(8)


def checked(name: str) -> str:
    """The name itself, if it is `scope/name` in the allowed characters and of bounded length; else `NameRefused`."""
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise NameRefused(f"not a name of the form scope/name: {name[:80]!r}")
    return name


def scope_of(name: str) -> str:
    """The part of a name that decides where it is kept."""
    return name.partition("/")[0]


def checked_scope(scope: str) -> str:
    """The scope itself, if a name may begin with it; else `NameRefused`."""
    if len(scope) > MAX_NAME or not _SCOPE.fullmatch(scope):
        raise NameRefused(f"not a scope: {scope[:80]!r}")
    return scope


def checked_member(member: str) -> str:
    """The member of a pool itself, if it is Unicode text of bounded length; else `NameRefused`."""
    if not 0 < len(member) <= MAX_NAME or not member.isprintable():
        raise NameRefused(f"not a pool member: {member[:80]!r}")
    return member


def checked_mark(mark: str) -> str:
    """The mark itself, if it is what `mint` makes; else `ValueError`."""
    if not _MARK.fullmatch(mark):
        raise ValueError(f"not a mark: {mark[:80]!r}")
    return mark


def milliseconds(ttl: float) -> int:
    """A life of `ttl` seconds in whole milliseconds, at least one; `ValueError` unless 0 < ttl <= ten years."""
    if not 0 < ttl <= MAX_TTL:  # also refuses NaN
        raise ValueError(f"a life of {ttl} seconds is not one that a store can keep")
    return math.ceil(ttl * 1000)


def delay(within: float) -> int:
    """A delay of `within` seconds in whole milliseconds; `ValueError` unless 0 <= within <= ten years."""
    return milliseconds(within) if within else 0


def at_least_one(count: int) -> int:
    """The `keep` or `limit` itself, if it is positive; else `ValueError`."""
    if count < 1:
        raise ValueError(f"keep and limit are at least 1, not {count}")
    return count


def sized(data: bytes) -> bytes:
    """The data itself, if one entry or cell may carry it; else `TooLarge`."""
    if len(data) > MAX_ENTRY_BYTES:
        raise TooLarge(f"{len(data)} bytes exceed the {MAX_ENTRY_BYTES} that one entry may carry")
    return data


@dataclass(frozen=True, slots=True)
class Position:
    """A place in one history of a log: how many entries precede it, and the mark of the last of them.

    An offset or mark that no log can have raises `ValueError`, so a forged position never reaches a store.
    """

    offset: int
    mark: str

    def __post_init__(self) -> None:
        if not 0 <= self.offset <= MAX_OFFSET or len(self.mark) != 16:
            raise ValueError("not a position")

    def __str__(self) -> str:
        return f"{self.offset}-{self.mark}"

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Read what `str` wrote; raise `ValueError` for anything else, however long."""
        match = _POSITION.fullmatch(text) if len(text) <= 32 else None
        if match is None:
            raise ValueError("not a position")
        return cls(int(match[1]), match[2])


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a log and the position just after it."""

    position: Position
    data: bytes


CellExpectation = bytes | Literal[Expect.ANYTHING, Expect.ABSENT]
LogExpectation = Position | Literal[Expect.ANYTHING, Expect.EMPTY]


@dataclass(frozen=True, slots=True)
class Put:
    """Write a cell for `ttl` seconds."""

    key: str
    value: bytes
    ttl: float


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a cell, if it is there."""

    key: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Let a member of an agenda be due in `within` seconds, whenever it was due before.

    The agenda lives for `ttl` seconds more at least.
    """

    agenda: str
    member: str
    within: float
    ttl: float


@dataclass(frozen=True, slots=True)
class Unplan:
    """Take a member off an agenda, if it is there."""

    agenda: str
    member: str


Write = Put | Remove | Plan | Unplan
CommitExpectation = Mapping[str, bytes | Literal[Expect.ABSENT]]


@dataclass(frozen=True, slots=True)
class Taken:
    """What was due on an agenda, and for how many seconds nothing else will be; None: nothing else is planned."""

    members: tuple[str, ...]
    wait: float | None


@dataclass(frozen=True, slots=True)
class Counted:
    """How many members of the pool of a name hold a place, and how many of its agenda are due."""

    held: int
    due: int


def checked_commit(writes: Sequence[Write], expect: CommitExpectation, ring: Sequence[str]) -> None:
    """Raise unless a store can make these writes in one step.

    `NameRefused` for a name that breaks the rules or lies in another scope than the first, `TooLarge` for a value,
    `ValueError` for no writes, too many, or two to the same place.
    """
    places = [_place(write) for write in writes]
    if not places or max(len(places), len(expect), len(ring)) > MAX_WRITES:
        raise ValueError(f"a commit has 1 to {MAX_WRITES} writes, and at most as many expectations and rings")
    if len(set(places)) < len(places):
        raise ValueError("a commit writes twice to the same place")
    names = [checked(name) for name in (*(name for name, _ in places), *expect, *ring)]
    if len({scope_of(name) for name in names}) > 1:
        raise NameRefused(f"a commit lies in one scope, not in those of {', '.join(sorted(set(names)))[:200]}")


def _place(write: Write) -> tuple[str, str | None]:
    """What a write is to, once everything in it was checked."""
    match write:
        case Put(key, value, ttl):
            sized(value)
            milliseconds(ttl)
            return key, None
        case Remove(key):
            return key, None
        case Plan(agenda, member, within, ttl):
            delay(within)
            milliseconds(ttl)
            return agenda, checked_member(member)
        case Unplan(agenda, member):
            return agenda, checked_member(member)


class Bell(Protocol):
    """Says that a log is worth another look."""

    async def rung(self) -> None:
        """Wait for the next ring; a ring since the last call, or since `watch` began, returns at once.

        Returns at the latest after the `poll` seconds given to `watch`, and within about a second after a connection
        was replaced, since rings may have been lost with it. A ring that means nothing may come at any time.
        """
        ...


class Backplane(Protocol):
    """Eleven verbs and `settle`: all that processes share.

    Every verb but `settle` ends within the backend's command deadline (0.8 s by default) or raises `Unavailable` or
    `InDoubt`; `settle` has a deadline of its own.
    Names that break the rules raise `NameRefused`, oversized data raises `TooLarge`; neither reaches the store.
    """

    async def get(self, key: str, *, ttl: float | None = None) -> bytes | None:
        """Return the cell's bytes, or None if it is absent; with `ttl`, its life is also set to `ttl` seconds."""
        ...

    async def put(self, key: str, value: bytes, *, ttl: float, expect: CellExpectation = ANYTHING) -> bool:
        """Write the cell for `ttl` seconds if it holds what is expected; False if it does not, and nothing changed."""
        ...

    async def delete(self, key: str, *, expect: CellExpectation = ANYTHING) -> bool:
        """Remove a cell (if it holds what is expected) or a log, whose bell then rings; False if nothing was there."""
        ...

    async def admit(self, pool: str, member: str, *, ttl: float, cap: int) -> float:
        """Hold one of `cap` places of the pool for `ttl` seconds by the store's clock.

        0.0 if the member has a place now (the same member again is renewed, never counted twice), else the seconds
        until a place may be free. `ttl=0` gives the place back.
        """
        ...

    async def open(self, log: str, *, ttl: float, create: bool = True) -> Position:
        """Return where the log ends and extend its life to `ttl` seconds.

        An absent log is created with a new birth mark; with `create=False` it raises `LogGone` instead.
        """
        ...

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
        """Add one entry at the end, keep the newest `keep` entries for `ttl` seconds, and ring the log's bell.

        `expect` is ANYTHING, EMPTY (no entry was ever appended) or the exact end; else `LogMoved`, and nothing
        changed. An absent log raises `LogGone`; this verb never creates one. The mark that is at the end already,
        or, with ANYTHING, that of such an append whose entry is still kept, or that is one of the last `REMEMBERED`,
        means that this very append happened: its position is returned and nothing is added.
        """
        ...

    async def read(self, log: str, *, after: Position, limit: int = 100, ttl: float | None = None) -> Sequence[Entry]:
        """Return up to `limit` entries or `READ_BYTES` bytes after the position, in order; empty if it is the end.

        Raises `LogGap` if the position is not, or is no longer, in the chain, and when the log is absent. With `ttl`
        the log's life is extended to `ttl` seconds once less than half of it is left. A read never creates.
        """
        ...

    async def commit(self, *writes: Write, expect: CommitExpectation, ring: Sequence[str] = ()) -> bool:
        """Make all writes in one step, if every cell in `expect` holds those bytes or is ABSENT as it says.

        False if one does not, and nothing changed. Afterwards the bells of the names in `ring` ring; a name may have
        one without being a log. All names lie in one scope: see `checked_commit` for what is refused.
        """
        ...

    async def take(self, agenda: str, *, hold: float, limit: int = 1) -> Taken:
        """The members that are due, earliest first, at most `limit`; each is due again in `hold` seconds.

        So of many who take, one gets each member, and another one only after that time, unless it was planned anew or
        taken off the agenda. A reply that is lost costs that time, never a member.
        """
        ...

    async def count(self, name: str) -> Counted:
        """How many members the pool and the agenda of a name have now, for those who watch: it decides nothing."""
        ...

    def watch(self, log: str, *, poll: float = 5.0) -> AbstractAsyncContextManager[Bell]:
        """Subscribe to the bell of a name: rung by an append or delete if it is a log, and by a commit that names it.

        It rings at the latest after any doubt or `poll`.
        """
        ...

    @property
    def durable(self) -> bool:
        """Whether `settle` waits for anything."""
        ...

    async def settle(self, scope: str) -> None:
        """Return once all earlier writes of this process in the scope are as durable as configured; else raise.

        Without a configured durability it returns at once.
        """
        ...
