"""Replacing the processes of a fleet as a rolling deploy does."""

import asyncio

import httpx2

from tests.fleets import Fleet


async def replaced(fleet: Fleet, process: int, *, server: str | None = None) -> None:
    """Tell a process to leave, take it from the balancer once it is unready, and start another in its place."""
    leaving = fleet.processes[process]
    leaving.terminate()
    await until_unready(leaving.url)
    fleet.balancer.dead.add(process)
    assert await asyncio.to_thread(leaving.await_exit) == 0
    fleet.restart(process, server=server)


async def until_unready(url: str) -> None:
    """Return once `/readyz` is 503; ask until then."""
    async with asyncio.timeout(10), httpx2.AsyncClient(timeout=5) as http:
        while (await http.get(f"{url.removesuffix('/mcp')}/readyz")).status_code != 503:
            pass
