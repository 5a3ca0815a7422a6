"""What one process counts of its own doing, for whoever watches over it; it decides nothing.

Counters grow for as long as the process lives; everything else is as it is now. Times are in seconds.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Protocol, runtime_checkable

import msgspec

DURATIONS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
"""The upper bounds of what requests take."""
LIVES: Final = (1.0, 10.0, 60.0, 300.0, 1800.0, 3600.0, 6 * 3600.0, 86_400.0)
"""Those of how long sessions last."""
MAX_REASONS: Final = 100
"""How many reasons are told apart: authors of tools may give reasons of their own."""
LAGS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
"""Those of how long a bell takes to be heard."""

_REASON: Final = re.compile(r"[a-z][a-z_]{0,63}")


class Tally(msgspec.Struct):
    """How often something took how long: `counts` has one number a bound, and one more for what exceeds all."""

    bounds: tuple[float, ...]
    counts: list[int]
    total: float = 0.0

    @classmethod
    def of(cls, bounds: Sequence[float]) -> "Tally":
        """An empty one."""
        return cls(tuple(bounds), [0] * (len(bounds) + 1))

    def add(self, value: float) -> None:
        """Note one more."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Operation(msgspec.Struct, frozen=True):
    """What a message was for, and what came of it; none of it is a word of a client's."""

    method: str
    target: str = ""
    error: str = ""


class Timed(msgspec.Struct, frozen=True):
    """How long one operation took, each time."""

    operation: Operation
    tally: Tally


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The vitals of one process at one moment, and who it is."""

    process: str
    version: str
    worker: bool
    since: float
    """When it began, in Unix seconds."""
    leaving: bool
    active: int
    streams: dict[str, int]
    questions: int
    tasks: dict[str, int]
    """Those in its hands, by status."""
    tasks_ended: dict[str, int]
    refusals: dict[str, int]
    store_failures: dict[str, int]
    """Commands to the store that came to nothing, by kind."""
    operations: list[Timed]
    sessions: Tally
    bell_lag: Tally


@runtime_checkable
class Fallible(Protocol):
    """A store that counts what it could not do."""

    @property
    def failures(self) -> Mapping[str, int]:
        """How many commands came to nothing, by kind."""
        ...


class Vitals:
    """The counts of one process; for use from its event loop."""

    def __init__(self) -> None:
        self.active = 0
        """Requests that are being served, those included whose responses are streams without end."""
        self.streams: Counter[str] = Counter()
        """Those streams, by kind: `get` of a session, `sse` of the oldest transport, `listen` of the modern era."""
        self.questions = 0
        """Questions to clients that somebody waits for."""
        self.refusals: Counter[str] = Counter()
        """Requests that were refused, by reason: a word of ours, or the code of the error."""
        self.tasks_ended: Counter[str] = Counter()
        """Tasks that this process has ended, by status."""
        self.operations: dict[Operation, Tally] = {}
        """How long messages took."""
        self.sessions = Tally.of(LIVES)
        """How long sessions lasted that their clients have ended here."""
        self.bell_lag = Tally.of(LAGS)
        """From a bell's ringing to its being heard here, as each beat of the pulse shows."""

        self.also: dict[str, Callable[[float], None]] = {}
        """Who else is told of each value of a tally, by its name: `sessions` or `bell_lag`."""

    def session_lasted(self, seconds: float) -> None:
        """Note how long a session lasted that its client has ended."""
        self._add("sessions", self.sessions, seconds)

    def bell_heard(self, seconds: float) -> None:
        """Note how long a bell took to be heard."""
        self._add("bell_lag", self.bell_lag, seconds)

    def took(self, operation: Operation, seconds: float) -> None:
        """Note how long a message took."""
        tally = self.operations.get(operation)
        if tally is None:
            tally = self.operations[operation] = Tally.of(DURATIONS)
        tally.add(seconds)

    def refused(self, code: int, data: object) -> None:
        """Count a refusal: by the reason in its data, if it is a word of ours, else by its code."""
        reason = data.get("reason") if isinstance(data, dict) else None
        is_word = isinstance(reason, str) and _REASON.fullmatch(reason) is not None
        name = reason if is_word and isinstance(reason, str) else str(code)
        self.refusals[name if name in self.refusals or len(self.refusals) < MAX_REASONS else "other"] += 1

    def _add(self, name: str, tally: Tally, value: float) -> None:
        tally.add(value)
        if name in self.also:
            self.also[name](value)

    @contextmanager
    def streaming(self, kind: str) -> Iterator[None]:
        """Count a stream for the time of the block."""
        self.streams[kind] += 1
        try:
            yield
        finally:
            self.streams[kind] -= 1
