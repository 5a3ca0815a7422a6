"""What is broken, and when: a schedule that the seed alone decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Final


class Kind(Enum):
    """One way to break a fleet."""

    KILL = "kill"
    """SIGKILL to a process, which is replaced."""
    STOP = "stop"
    """SIGTERM to a process, which drains, exits and is replaced."""
    FREEZE = "freeze"
    """SIGSTOP to a process for a while."""
    REDIS_RESTART = "Redis restart"
    """Redis crashes, and comes back after a while with all that it acknowledged."""
    REDIS_EMPTY = "empty Redis restart"
    """Redis ends, and comes back with nothing."""
    REDIS_FREEZE = "Redis freeze"
    """SIGSTOP to Redis for a while."""


OF_REDIS: Final = frozenset({Kind.REDIS_RESTART, Kind.REDIS_EMPTY, Kind.REDIS_FREEZE})

EVERY_SECONDS: Final = {
    Kind.KILL: 12.0,
    Kind.STOP: 30.0,
    Kind.FREEZE: 25.0,
    Kind.REDIS_RESTART: 60.0,
    Kind.REDIS_EMPTY: 75.0,
    Kind.REDIS_FREEZE: 100.0,
}
"""How often each happens on average; at least once, however short the run is."""

LASTING: Final = {
    Kind.KILL: (0.0, 0.0),
    Kind.STOP: (0.0, 0.0),
    Kind.FREEZE: (0.3, 9.0),
    Kind.REDIS_RESTART: (0.0, 6.0),
    Kind.REDIS_EMPTY: (0.0, 4.0),
    Kind.REDIS_FREEZE: (0.3, 8.0),
}
"""Between which numbers of seconds it lasts: processes and Redis may, or may not, be away for longer than a lease."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Break something at a time, in seconds from the beginning; `slot` is one of the processes."""

    at: float
    kind: Kind
    slot: int
    lasting: float


def schedule(seed: int, seconds: float, slots: int) -> Sequence[Fault]:
    """The faults of a run, in order: each kind as often as its share of the time says, at random moments."""
    random = Random(seed)
    faults = [
        Fault(random.uniform(0, seconds), kind, random.randrange(slots), random.uniform(*LASTING[kind]))
        for kind, every in EVERY_SECONDS.items()
        for _ in range(max(1, round(seconds / every)))
    ]
    return sorted(faults, key=lambda fault: fault.at)
