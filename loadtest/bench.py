"""Requests a second of a bare ASGI app and of our own calls, side by side in one run; `make bench` prints the tables.

Each server has one core to itself, the loader and Redis share another. The workloads take turns for several rounds, and
what is compared are the medians: machines are noisy, ratios within one run are less so.
"""

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import redis

from loadtest import tasks
from loadtest.loader import Load, request_bytes, run
from mcpfleet.protocol.revisions import LATEST, LATEST_LEGACY
from mcpfleet_service.embedded import embedded_redis

CONNECTIONS: Final = 64
ROUNDS: Final = 5
SECONDS: Final = 2.0
PORTS: Final = {"bare": 18431, "fleet": 18432}
READY_SECONDS: Final = 20.0
BOTH: Final = "application/json, text/event-stream"
SENT: Final = ("get", "getex", "evalsha", "eval")
"""What our processes send to Redis on behalf of a request; what scripts call inside is no command of theirs."""


@dataclass(slots=True)
class Workload:
    """One row of the table."""

    name: str
    port: int
    requests: Sequence[bytes]
    loads: list[Load] = field(default_factory=list)
    commands: int = 0
    reads: int = 0

    @property
    def rate(self) -> float:
        """The median of its rounds, in requests a second."""
        return statistics.median(load.rate for load in self.loads)


def main() -> None:
    """Run everything and print the table."""
    with embedded_redis() as url:
        begun = tasks.table(url)
    with ExitStack() as held:
        url = held.enter_context(embedded_redis())
        store = held.enter_context(redis.Redis.from_url(url))
        held.enter_context(_serving(_uvicorn("loadtest.bare:app"), PORTS["bare"], {}))
        environ = {"MCPFLEET_REDIS_URL": url, "MCPFLEET_APP": "loadtest.calculator:server"}
        held.enter_context(_serving(_mcpfleet(), PORTS["fleet"], environ))
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        workloads = [_bare(), _modern(), _legacy()]
        for workload in workloads:  # nobody is measured cold
            asyncio.run(run(workload.port, workload.requests, SECONDS / 4))
        for _ in range(ROUNDS):
            for workload in workloads:
                before = _spent(store)
                workload.loads.append(asyncio.run(run(workload.port, workload.requests, SECONDS)))
                after = _spent(store)
                workload.commands += after[0] - before[0]
                workload.reads += after[1] - before[1]
    print(_table(workloads), begun, sep="\n\n")  # noqa: T201 - the command's result


def _table(workloads: Sequence[Workload]) -> str:
    base = workloads[0].rate
    lines = ["| workload | requests/s | of bare | p50 ms | p99 ms | Redis commands a request | Redis reads a request |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for workload in workloads:
        requests = sum(load.requests for load in workload.loads)
        p50, p99 = (statistics.median(load.quantile(part) for load in workload.loads) * 1000 for part in (0.5, 0.99))
        lines.append(
            f"| {workload.name} | {workload.rate:,.0f} | {workload.rate / base:.2f} | {p50:.2f} | {p99:.2f}"
            f" | {workload.commands / requests:.3f} | {workload.reads / requests:.3f} |"
        )
    return "\n".join(lines)


def _spent(store: redis.Redis) -> tuple[int, int]:
    """How many commands clients have sent to Redis, and how often it read from a socket."""
    stats: Any = store.info("commandstats")
    reads: Any = store.info("stats")
    commands = sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in SENT)
    return commands, int(reads["total_reads_processed"])


def _bare() -> Workload:
    arguments = {"name": "add", "arguments": {"a": 17, "b": 25}}
    body = _body("tools/call", arguments)
    headers = {"Content-Type": "application/json", "Accept": BOTH}
    return Workload("bare ASGI app", PORTS["bare"], [request_bytes(PORTS["bare"], "/mcp", headers, body)] * CONNECTIONS)


def _modern() -> Workload:
    meta = {
        "io.modelcontextprotocol/protocolVersion": LATEST.date,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = _body("tools/call", {"name": "add", "arguments": {"a": 17, "b": 25}, "_meta": meta})
    headers = {
        "Content-Type": "application/json",
        "Accept": BOTH,
        "MCP-Protocol-Version": LATEST.date,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "add",
    }
    return Workload(
        "modern tools/call", PORTS["fleet"], [request_bytes(PORTS["fleet"], "/mcp", headers, body)] * CONNECTIONS
    )


def _legacy() -> Workload:
    body = _body("tools/call", {"name": "add", "arguments": {"a": 17, "b": 25}})
    headers = {"Content-Type": "application/json", "Accept": BOTH, "MCP-Protocol-Version": LATEST_LEGACY.date}
    requests = [
        request_bytes(PORTS["fleet"], "/mcp", {**headers, "Mcp-Session-Id": _session(headers)}, body)
        for _ in range(CONNECTIONS)
    ]
    return Workload(f"legacy tools/call, {CONNECTIONS} sessions in Redis", PORTS["fleet"], requests)


def _session(headers: dict[str, str]) -> str:
    params = {
        "protocolVersion": LATEST_LEGACY.date,
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }
    url = f"http://127.0.0.1:{PORTS['fleet']}/mcp"
    request = urllib.request.Request(url, _body("initialize", params), headers)
    with urllib.request.urlopen(request, timeout=READY_SECONDS) as response:  # noqa: S310 - our own server
        return str(response.headers["Mcp-Session-Id"])


def _body(method: str, params: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def _uvicorn(app: str) -> list[str]:
    options = ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning"]
    return [sys.executable, "-m", "uvicorn", app, "--port", str(PORTS["bare"]), "--lifespan", "off", *options]


def _mcpfleet() -> list[str]:
    return [sys.executable, "-m", "mcpfleet_service.cli", "serve", "--port", str(PORTS["fleet"])]


@contextmanager
def _serving(command: list[str], port: int, environ: dict[str, str]) -> Iterator[None]:
    """A server on the first core, for the time of the block."""
    process = subprocess.Popen(  # noqa: S603 - our own command
        command, env={**os.environ, "MCPFLEET_DRAIN_DELAY": "0", **environ}, stdout=subprocess.DEVNULL
    )
    os.sched_setaffinity(process.pid, {0})
    try:
        _await(port)
        yield
    finally:
        process.terminate()
        process.wait(READY_SECONDS)


def _await(port: int) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


if __name__ == "__main__":
    main()
