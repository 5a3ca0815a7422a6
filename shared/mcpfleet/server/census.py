"""What the whole fleet has, as its store counts it."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from mcpfleet.backplane.base import Backplane
from mcpfleet.protocol.tasks import PARTITIONS
from mcpfleet.server.sessions import SEATS
from mcpfleet.server.tasks.names import queue
from mcpfleet.server.tasks.store import LIVE


@dataclass(frozen=True, slots=True)
class Census:
    """What there was at one moment."""

    sessions: int
    """Of as many as are counted: none where their number is not bounded."""
    tasks: int
    """Those that have not ended; likewise."""
    queued: Mapping[str, int]
    """How many tasks wait to be run, by queue."""


class Censuses:
    """Counts what the fleet has."""

    def __init__(self, backplane: Backplane, queues: Callable[[], Iterable[str]]) -> None:
        self._backplane = backplane
        self._queues = queues

    async def taken(self) -> Census:
        """Count now. Raises `Unavailable`."""
        names = [*self._queues()]
        places = [queue(partition, name) for name in names for partition in range(PARTITIONS)]
        sessions, tasks, *counted = await asyncio.gather(
            *(self._backplane.count(name) for name in (SEATS, LIVE, *places))
        )
        waiting = [
            sum(each.due for each in counted[start : start + PARTITIONS])
            for start in range(0, len(counted), PARTITIONS)
        ]
        return Census(sessions.held, tasks.held, dict(zip(names, waiting, strict=True)))
