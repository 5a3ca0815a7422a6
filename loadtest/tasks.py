"""How soon a task begins, and how many empty ones workers finish in a second; a part of `make bench`.

A task begins where its tool does. Latency is counted from its creation, one task at a time; throughput between the
first and the last beginning of tasks that were made while every worker was stopped, and then went on.
"""

import json
import os
import signal
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from statistics import quantiles
from subprocess import DEVNULL, Popen
from typing import Any, Final

from mcpfleet.protocol.revisions import LATEST
from mcpfleet.protocol.tasks import EXTENSION

PORT: Final = 18433
ONE_BY_ONE: Final = 100
AT_ONCE: Final = 1000
READY_SECONDS: Final = 30.0
LOOK_EVERY: Final = 0.02


def table(redis_url: str) -> str:
    """Measure with one worker and with two, beside one process that serves."""
    environ = {
        "MCPFLEET_REDIS_URL": redis_url,
        "MCPFLEET_APP": "loadtest.calculator:server",
        "MCPFLEET_MAX_TASKS_EACH": "none",
        "MCPFLEET_DRAIN_DELAY": "0",
    }
    lines = ["| workers | task begins after, p50 ms | p99 ms | empty tasks/s |", "| ---: | ---: | ---: | ---: |"]
    serve = ["serve", "--port", str(PORT)]
    with _running(serve, {**environ, "MCPFLEET_TASK_QUEUES": "nothing"}):
        _await_server()
        for workers in (1, 2):
            with ExitStack() as held:
                running = [held.enter_context(_running(["work"], environ)) for _ in range(workers)]
                _await_workers(workers)
                delays = [_begun(handle)[0] - _created(handle) for handle in _one_by_one()]
                begun = sorted(_begun(handle)[0] for handle in _made_meanwhile(running))
            parts = quantiles(delays, n=100)
            rate = (len(begun) - 1) / (begun[-1] - begun[0])
            lines.append(f"| {workers} | {parts[49] * 1000:.1f} | {parts[98] * 1000:.1f} | {rate:,.0f} |")
    return "\n".join(lines)


def _await_workers(count: int) -> None:
    """Return once so many processes have run a task."""
    seen: set[int] = set()
    deadline = time.monotonic() + READY_SECONDS
    while len(seen) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(seen)} of {count} workers run tasks")
        seen.update(_begun(handle)[1] for handle in [_call() for _ in range(20)])


def _made_meanwhile(workers: Sequence[Popen[bytes]]) -> Sequence[dict[str, Any]]:
    """The handles of tasks that were made while the workers were stopped."""
    for worker in workers:
        worker.send_signal(signal.SIGSTOP)
    handles = [_call() for _ in range(AT_ONCE)]
    for worker in workers:
        worker.send_signal(signal.SIGCONT)
    return handles


def _one_by_one() -> Iterator[dict[str, Any]]:
    for _ in range(ONE_BY_ONE):
        yield _call()


def _call() -> dict[str, Any]:
    """The handle of a new task."""
    return _request("tools/call", "begin", {"name": "begin", "arguments": {}})


def _begun(handle: dict[str, Any]) -> tuple[float, int]:
    """When its tool began, in Unix seconds, and in which process; waits until it has ended."""
    task_id = handle["taskId"]
    deadline = time.monotonic() + READY_SECONDS
    while (task := _request("tasks/get", task_id, {"taskId": task_id}))["status"] == "working":
        if time.monotonic() > deadline:
            raise TimeoutError(task_id)
        time.sleep(LOOK_EVERY)
    moment, process = task["result"]["content"][0]["text"].split()
    return float(moment), int(process)


def _created(handle: dict[str, Any]) -> float:
    return datetime.fromisoformat(handle["createdAt"]).timestamp()


def _request(method: str, name: str, params: dict[str, Any]) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": LATEST.date,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": dict(EXTENSION)},
    }
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": LATEST.date,
        "Mcp-Method": method,
        "Mcp-Name": name,
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/mcp", body, headers)
    with urllib.request.urlopen(request, timeout=READY_SECONDS) as response:  # noqa: S310 - our own server
        result: dict[str, Any] = json.load(response)["result"]
    return result


def _await_server() -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(LOOK_EVERY)
        else:
            return


@contextmanager
def _running(words: Sequence[str], environ: dict[str, str]) -> Iterator[Popen[bytes]]:
    """A command of ours, for the time of the block."""
    command = [sys.executable, "-m", "mcpfleet_service.cli", *words]
    process = Popen(command, env={**os.environ, **environ}, stdout=DEVNULL, stderr=DEVNULL)  # noqa: S603 - our own
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(READY_SECONDS)
