"""Put a fleet under load and write a report: `python -m loadtest.load --seconds 60`."""

import argparse
import asyncio
import os
import platform
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from loadtest.load.gauges import Gauges, Sample
from loadtest.load.report import Step, verdict, write
from loadtest.load.scenarios import SCENARIOS
from loadtest.load.tally import Tally
from mcpfleet_service.embedded import embedded_redis

PORT: Final = 18441
PROCESSES: Final = 3
WORKERS: Final = 2
USERS: Final = (2, 8, 32)
READY_SECONDS: Final = 40.0
STEADY_SHARE: Final = 0.2
"""How much memory, descriptors and keys may grow between the first and the last third of a soak."""


def main() -> int:
    """0 if nothing was answered wrongly, and in a soak nothing grew, else 1."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.load", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each scenario lasts")
    parser.add_argument("--soak", type=float, default=0.0, help="minutes under one load in place of the steps")
    parser.add_argument("--report", type=Path, default=Path("loadtest/report"))
    asked = parser.parse_args()
    users = USERS[1:2] if asked.soak else USERS
    seconds = asked.soak * 60 / len(SCENARIOS) if asked.soak else asked.seconds
    with fleet() as (url, redis_url, pids):
        steps, grown = asyncio.run(loaded(url, redis_url, pids, seconds, users))
    page = write(asked.report, steps, about(asked))
    print(f"report: {page}", *(grown if asked.soak else ()), verdict(steps), sep="\n")  # noqa: T201 - the result
    return 1 if any(step.errors for step in steps) or (asked.soak and grown) else 0


async def loaded(
    url: str, redis_url: str, pids: Sequence[int], seconds: float, users: Sequence[int]
) -> tuple[list[Step], list[str]]:
    """Run every scenario for so many seconds, in as many steps as there are loads; and say what grew meanwhile."""
    steps, every = list[Step](), list[Sample]()
    for name, run in SCENARIOS.items():
        for count in users:
            tally = Tally()
            async with Gauges(pids, redis_url) as gauges:
                sampling = asyncio.create_task(gauges.run())
                began = time.perf_counter()
                await run(url, count, seconds / len(users), tally)
                took = time.perf_counter() - began
                gauges.stop()
                await sampling
                samples = [*gauges.samples, await gauges.sample()]
            every += samples
            step = Step.of(name, count, took, tally, samples)
            steps.append(step)
            told = f"{name}, {count} users: {step.rate:.1f}/s, p99 {step.p99_ms:.1f} ms, errors {step.errors}"
            print(f"[{len(steps)}/{len(SCENARIOS) * len(users)}] {told}", flush=True)  # noqa: T201 - progress
    return steps, grown_in(every)


def grown_in(samples: Sequence[Sample]) -> list[str]:
    """What there was much more of at the end than at the beginning."""
    third = max(1, len(samples) // 3)
    found = []
    for name in ("memory", "descriptors", "keys"):
        first = max(getattr(each, name) for each in samples[:third])
        last = min(getattr(each, name) for each in samples[-third:])
        if last > first * (1 + STEADY_SHARE):
            found.append(f"{name} grew from {first} to {last}")
    return found


@contextmanager
def fleet() -> Iterator[tuple[str, str, list[int]]]:
    """A serving command with several processes, workers, and a Redis of their own: its URL, Redis's, and their ids."""
    with ExitStack() as held:
        redis_url = held.enter_context(embedded_redis())
        environ = {
            "MCPFLEET_REDIS_URL": redis_url,
            "MCPFLEET_APP": "loadtest.load.server:server",
            "MCPFLEET_MAX_TASKS_EACH": "none",
            "MCPFLEET_DRAIN_DELAY": "0",
            "MCPFLEET_LOG_LEVEL": "error",
        }
        serve = ["serve", "--port", str(PORT), "--workers", str(PROCESSES)]
        pids = [held.enter_context(_running(serve, {**environ, "MCPFLEET_TASK_QUEUES": "nothing"}))]
        pids += [held.enter_context(_running(["work"], environ)) for _ in range(WORKERS)]
        _await_ready(f"http://127.0.0.1:{PORT}/readyz")
        yield f"http://127.0.0.1:{PORT}/mcp", redis_url, pids


def about(asked: argparse.Namespace) -> dict[str, object]:
    """What was run, of what, and where."""
    with suppress(OSError):
        found = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607 - whichever git there is
        commit = found.stdout.strip()
    return {
        "commit": commit,
        "command": " ".join([Path(sys.executable).name, "-m", "loadtest.load", *sys.argv[1:]]),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "fleet": f"{PROCESSES} processes, {WORKERS} workers, one Redis, all on one machine with the clients",
        "seconds": asked.seconds,
    }


@contextmanager
def _running(words: list[str], environ: dict[str, str]) -> Iterator[int]:
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "mcpfleet_service.cli", *words],
        env={**os.environ, **environ},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(READY_SECONDS)


def _await_ready(url: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - our own server
            if answer.status == 200:
                return
        if time.monotonic() > deadline:
            raise TimeoutError("the fleet does not start")
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
