"""One process of the worker tier: until it is told to stop, or its engine dies."""

import asyncio
import os
import signal
from contextlib import nullcontext

import pytest

from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.server.engine import Engine
from mcpfleet.server.tasks.reaper import Reaper
from mcpfleet_workers import worker
from mcpfleet_workers.worker import Deaf, work
from tests.server.tasks.hands import call, maker
from tests.server.tasks.workshop import Workshop, policy


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_runs_tasks_until_it_is_told_to_stop(number: signal.Signals) -> None:
    shop, store = Workshop(), MemoryStore()
    server = shop.server()
    working = asyncio.ensure_future(work(server, nullcontext(MemoryBackplane(store)), policy()))
    made = await maker(MemoryBackplane(store)).create(call("safe"), ttl=60.0)
    await shop.reached("dig")
    os.kill(os.getpid(), number)
    async with asyncio.timeout(10):
        await working
    given_back = (await maker(MemoryBackplane(store)).find(made.names.id)).record
    assert (given_back.status, given_back.runner, given_back.attempt) == ("working", "", 0)


async def test_it_ends_with_its_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(_: Reaper) -> None:
        raise OSError("broken")

    monkeypatch.setattr(Reaper, "run", run)
    with pytest.raises(ExceptionGroup) as group:
        async with asyncio.timeout(10):
            await work(Workshop().server(), nullcontext(MemoryBackplane(MemoryStore())), policy())
    assert group.group_contains(OSError, match="broken")


async def test_it_ends_when_it_hears_nobody_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "hears", property(lambda _: False))
    with pytest.raises(ExceptionGroup) as group:
        async with asyncio.timeout(10):
            await work(Workshop().server(), nullcontext(MemoryBackplane(MemoryStore())), policy())
    assert group.group_contains(Deaf)
    assert worker.LOOK_EVERY <= 1.0
