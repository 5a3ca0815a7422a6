"""What a process under test holds, so that a test can tell whether something is left behind."""

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.fleets import Fleet
from tests.wire import MODERN, connected

MIB: Final = 1024 * 1024
SETTLE_SECONDS: Final = 10.0
"""How soon after the last of its clients has gone a process has nothing left of them."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """Of one process, while it serves nothing but the question."""

    tasks: int
    descriptors: int


async def holdings(fleet: Fleet, process: int) -> Holdings:
    """Its tasks of asyncio and open files; the balancer keeps no connection that would count."""
    async with connected(fleet.url, MODERN) as client:
        tasks = (await client.call("tasks", pin=process)).value
    return Holdings(tasks, _descriptors(fleet, process))


async def await_holdings(fleet: Fleet, before: list[Holdings]) -> None:
    """Return once every process holds what it held; fail with what it holds instead."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + SETTLE_SECONDS
    while (now := [await holdings(fleet, process) for process in range(len(before))]) != before:
        assert loop.time() < deadline, f"held {before} before, {now} now"


def memory(fleet: Fleet, process: int) -> int:
    """How many bytes of memory the process has now."""
    return _status(fleet, process, "VmRSS") * 1024


def peak_memory(fleet: Fleet, process: int) -> int:
    """How many bytes of memory the process has had at most."""
    return _status(fleet, process, "VmHWM") * 1024


def threads(fleet: Fleet, process: int) -> int:
    """How many threads the process has now."""
    return _status(fleet, process, "Threads")


def _descriptors(fleet: Fleet, process: int) -> int:
    return sum(1 for _ in Path(f"/proc/{fleet.processes[process].pid}/fd").iterdir())


def _status(fleet: Fleet, process: int, name: str) -> int:
    status = Path(f"/proc/{fleet.processes[process].pid}/status").read_text()
    found = re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)
    assert found, status
    return int(found[1])
