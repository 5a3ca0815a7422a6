"""Redis is killed under a flood of writes and comes back from its append-only file: what it acknowledged is there."""

import asyncio
import time
from collections import Counter
from typing import Final

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import Position, mint
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.errors import Unavailable
from tests.redis_server import RedisServer

WRITERS: Final = 60
LOGS: Final = 6
BETWEEN_KILLS: Final = 1500
"""So many writes are acknowledged before each kill, and once more after the last."""
KILLS: Final = 4
LIFE: Final = 600.0


class Flood:
    """Writers that each write one thing after another, the same thing again until it is acknowledged."""

    def __init__(self, backplane: RedisBackplane) -> None:
        self.acknowledged: list[str] = []
        self._backplane = backplane
        self._news = asyncio.Condition()

    async def run(self, writer: int) -> None:
        number = 0
        while True:
            await self._write(writer, f"{writer}-{number}")
            number += 1

    async def grown(self, by: int) -> None:
        """Return when so many more writes were acknowledged."""
        wanted = len(self.acknowledged) + by
        async with self._news:
            await self._news.wait_for(lambda: len(self.acknowledged) >= wanted)

    async def _write(self, writer: int, name: str) -> None:
        log, mark, backoff = log_of(writer), mint(), Backoff(most=0.1)
        while True:
            try:
                await self._backplane.put(f"cells/{name}", name.encode(), ttl=LIFE)
                await self._backplane.append(log, name.encode(), ttl=LIFE, keep=1_000_000, mark=mark)
                break
            except Unavailable:
                await asyncio.sleep(backoff.pause())
        async with self._news:
            self.acknowledged.append(name)
            self._news.notify_all()


def log_of(writer: int) -> str:
    return f"log{writer % LOGS}/log"


async def entries(backplane: RedisBackplane, log: str, after: Position) -> Counter[str]:
    """How often each name is in the log."""
    found: Counter[str] = Counter()
    while read := await backplane.read(log, after=after, limit=1000):
        found.update(entry.data.decode() for entry in read)
        after = read[-1].position
    return found


async def test_nothing_acknowledged_is_lost_or_there_twice_however_often_redis_is_killed(
    own_redis: RedisServer,
) -> None:
    async with RedisBackplane.at(own_redis.url, namespace="test") as backplane:
        births = [await backplane.open(log_of(number), ttl=LIFE) for number in range(LOGS)]
        flood = Flood(backplane)
        began = time.monotonic()
        async with asyncio.timeout(120):
            writers = [asyncio.create_task(flood.run(writer)) for writer in range(WRITERS)]
            for _ in range(KILLS):
                await flood.grown(by=BETWEEN_KILLS)
                await asyncio.to_thread(own_redis.kill)
                own_redis.start()
            await flood.grown(by=BETWEEN_KILLS)
        took = time.monotonic() - began
        for each in writers:
            each.cancel()
        await asyncio.wait(writers)
        told = f"of {len(flood.acknowledged)} acknowledged in {took:.1f} s"
        found: Counter[str] = Counter()
        for number, birth in enumerate(births):
            found += await entries(backplane, log_of(number), birth)
        lost = [name for name in flood.acknowledged if not found[name]]
        assert lost == [], f"{len(lost)} entries lost {told}"
        twice = [name for name, times in found.items() if times > 1]
        assert twice == [], f"{len(twice)} entries are there twice {told}"
        cells = await asyncio.gather(*(backplane.get(f"cells/{name}") for name in flood.acknowledged))
        assert cells == [name.encode() for name in flood.acknowledged], f"a cell is lost {told}"
