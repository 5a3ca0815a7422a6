"""One process that spends a quota: `python -m tests.backplane.spender URL TIMES LIMIT WINDOW`, told by a line on stdin.

It prints how many of so many events at once were allowed, and the longest wait that it was told for the others.
"""

import asyncio
import sys

from mcpfleet.backplane.limits import Quota
from mcpfleet.backplane.redis import RedisBackplane


async def main(url: str, times: int, limit: int, window: float) -> None:
    """Spend once a line comes."""
    async with RedisBackplane.at(url, namespace="spent") as backplane:
        quota = Quota(backplane, "calls", limit=limit, window=window, processes=lambda: 1)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        waits = await asyncio.gather(*(quota.spend("alice") for _ in range(times)))
        print(waits.count(0.0), max(waits), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
