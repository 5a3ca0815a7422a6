"""What Kubernetes does with the pods of a Deployment when a new version is rolled out, with processes for pods."""

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.chart.manifests import Manifest, environment
from tests.processes import Serving, python
from tests.rehearsal.proxies import Proxy

COMMAND: Final = python("-m", "tests.chaos.server")
START_SECONDS: Final = 40.0
PROPAGATION_SECONDS: Final = 0.5
"""How long it takes the controller to hear that a pod leaves."""


class Pod:
    """One process, and what it is called."""

    def __init__(self, name: str, process: Serving, version: str) -> None:
        self.name = name
        self.process = process
        self.version = version


class Deployment:
    """Keeps so many pods behind a proxy, as a rendered manifest says, and replaces them one by one."""

    def __init__(self, manifest: Manifest, proxy: Proxy, directory: Path, environ: Mapping[str, str]) -> None:
        self._proxy = proxy
        self._directory = directory
        told = {name: value for name, value in environment(manifest).items() if isinstance(value, str)}
        told.pop("MCPFLEET_APP", None)
        kept: dict[str, str] = {name: told[name] for name in CHARTS if name in told}
        self._environ = {**kept, **environ}
        spec = manifest["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        self._sleep = float(container["lifecycle"]["preStop"]["exec"]["command"][1])
        self._grace = float(spec["terminationGracePeriodSeconds"])
        self._looks_every = float(container["readinessProbe"]["periodSeconds"])
        self.pods: list[Pod] = []
        self.faults: list[str] = []
        self._started = 0
        # Processes end with the thread that started them, so one thread starts them all.
        self._hands = ThreadPoolExecutor(1, "hands")

    async def start(self, count: int, version: str) -> None:
        """Start the pods, and lead clients to them."""
        for _ in range(count):
            self.pods.append(await self._started_one(version))
        self._route()

    async def roll(self, version: str) -> None:
        """Replace each pod by one of another version: the new one serves before the old one is told anything."""
        for old in [*self.pods]:
            new = await self._started_one(version)
            self.pods.append(new)
            self._route()
            self.pods.remove(old)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._unroute())
                tasks.create_task(self._end(old))

    async def stop(self) -> None:
        """End all pods as they are ended."""
        async with asyncio.TaskGroup() as tasks:
            for pod in self.pods:
                tasks.create_task(self._end(pod))

    def close(self) -> None:
        """End everything at once."""
        for pod in self.pods:
            if pod.process.exit_code is None:
                pod.process.kill()
        self._hands.shutdown()

    async def _started_one(self, version: str) -> Pod:
        self._started += 1
        name = f"pod-{self._started}"
        environ = {**self._environ, "CHAOS_VERSION": version}
        loop = asyncio.get_running_loop()
        process = await loop.run_in_executor(self._hands, Serving, COMMAND, environ, self._directory / f"{name}.log")
        await asyncio.to_thread(process.await_greeting, START_SECONDS)  # which it prints once it is ready
        return Pod(name, process, version)

    async def _unroute(self) -> None:
        await asyncio.sleep(PROPAGATION_SECONDS)
        self._route()

    def _route(self) -> None:
        self._proxy.route({pod.name: pod.process.url for pod in self.pods})

    async def _end(self, pod: Pod) -> None:
        """Sleep, tell it to stop, and see that it is unready from then on, and gone within the grace."""
        began = time.monotonic()
        await asyncio.sleep(self._sleep)
        pod.process.terminate()
        async with httpx2.AsyncClient(timeout=5, trust_env=False) as http:
            while pod.process.exit_code is None and await _is_ready(http, pod.process.url):  # noqa: ASYNC110 - processes set no events
                await asyncio.sleep(0.05)
        while pod.process.exit_code is None:
            if time.monotonic() - began > self._grace:
                self.faults.append(f"{pod.name} was killed after its grace of {self._grace:g} s")
                pod.process.kill()
            await asyncio.sleep(0.05)
        if pod.process.exit_code != 0:
            self.faults.append(f"{pod.name} ended with {pod.process.exit_code}")


CHARTS: Final = (
    "MCPFLEET_DRAIN_DELAY",
    "MCPFLEET_DRAIN_SECONDS",
    "MCPFLEET_KEEPALIVE_SECONDS",
    "MCPFLEET_MAX_BODY_BYTES",
)
"""The settings of the chart that the rehearsal is about; where Redis is, and on which port a pod listens, is not."""


async def _is_ready(http: Any, url: str) -> bool:
    try:
        answer = await http.get(f"{url.removesuffix('/mcp')}/readyz")
    except httpx2.HTTPError:
        return False
    return bool(answer.status_code == httpx2.codes.OK)
