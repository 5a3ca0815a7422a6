"""What a fleet uses while it is under load: memory and CPU of its processes, and commands of its Redis."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import redis.asyncio

EVERY: Final = 0.5
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment."""

    at: float
    memory: int
    """Bytes, of all processes together."""
    cpu: float
    """Seconds, likewise, since they began."""
    descriptors: int
    commands: int
    """That Redis has processed since it began."""
    keys: int


class Gauges:
    """Samples again and again; `run` it as a task, within its context."""

    def __init__(self, parents: Sequence[int], redis_url: str) -> None:
        self.samples: list[Sample] = []
        self._over = False
        self._parents = parents
        self._redis = redis.asyncio.Redis.from_url(redis_url)

    async def run(self) -> None:
        """Sample until `stop`: a client of Redis that is cancelled may take no notice."""
        while not self._over:
            self.samples.append(await self.sample())
            await asyncio.sleep(EVERY)

    def stop(self) -> None:
        """Let `run` return soon."""
        self._over = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._redis.aclose()

    async def sample(self) -> Sample:
        """How it is now."""
        stats: Any = await self._redis.info("stats")
        keys = await self._redis.dbsize()
        memory, cpu, descriptors = _used(self._parents)
        now = asyncio.get_running_loop().time()
        return Sample(now, memory, cpu, descriptors, int(stats["total_commands_processed"]), int(keys))


def _used(parents: Sequence[int]) -> tuple[int, float, int]:
    """Memory, CPU and descriptors of all processes together."""
    memory, cpu, descriptors = 0, 0.0, 0
    for pid in _family(parents):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        memory += int(fields[21]) * _PAGE
        cpu += (int(fields[11]) + int(fields[12])) / _TICKS
        descriptors += sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return memory, cpu, descriptors


def _family(parents: Sequence[int]) -> list[int]:
    """The processes themselves, and all that they have started."""
    found, rest = [], [*parents]
    while rest:
        pid = rest.pop()
        found.append(pid)
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            rest += map(int, task.read_text().split())
    return found
