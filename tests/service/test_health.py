"""What orchestrators are told, in good days and bad."""

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import TypeVar

import httpx2
import pytest
from fastapi import FastAPI

from mcpfleet import Server
from mcpfleet.backplane.base import Backplane, Bell
from mcpfleet.backplane.intercepted import Intercepted, Verb
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.errors import Unavailable
from mcpfleet.server.policy import Policy
from mcpfleet_service.app import create_app
from mcpfleet_service.health import health
from mcpfleet_service.life import Life
from mcpfleet_service.settings import Settings
from tests.server.world import eventually

_Result = TypeVar("_Result")


class Moody:
    """An interceptor of a store that may be away, or whose bells may not be heard."""

    def __init__(self) -> None:
        self.away = False
        self.deaf = False

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        if self.away:
            raise Unavailable(f"{verb} {name}")
        return await act()

    def bell(self, inner: Bell, /) -> Bell:
        return _MoodyBell(inner, self)


class _MoodyBell:
    def __init__(self, inner: Bell, mood: Moody) -> None:
        self._inner = inner
        self._mood = mood

    async def rung(self) -> None:
        await self._inner.rung()
        while self._mood.deaf:
            await self._inner.rung()


class Probe:
    """Asks an application how it is."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def __call__(self, path: str) -> tuple[int, str]:
        transport = httpx2.ASGITransport(app=self._app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://10.0.0.5:8000") as client:
            answer = await client.get(path)
        return answer.status_code, answer.json()["status"]

    async def ready(self, status: int, words: str) -> None:
        """Return once the process says so of itself."""

        async def said() -> bool:
            return await self("/readyz") == (status, words)

        await eventually(said)


@asynccontextmanager
async def probed(mood: Moody) -> AsyncIterator[Probe]:
    """An application on a moody store, alive for the time of the block."""
    backplane: Backplane = Intercepted(MemoryBackplane(), mood)
    app = create_app(Server("s"), backplane=backplane, settings=Settings(lease=0.3, drain_delay=60.0, drain=0.1))
    async with app.router.lifespan_context(app):
        yield Probe(app)


async def test_a_process_that_can_serve_everything_is_ready_whatever_host_the_probe_names() -> None:
    async with probed(Moody()) as probe:
        await probe.ready(200, "ok")
        assert await probe("/livez") == (200, "ok")


async def test_a_process_whose_store_is_away_is_ready_but_says_so_and_recovers_by_itself() -> None:
    mood = Moody()
    async with probed(mood) as probe:
        await probe.ready(200, "ok")
        mood.away = True
        await probe.ready(200, "degraded")
        assert await probe("/livez") == (200, "ok")
        mood.away = False
        await probe.ready(200, "ok")


async def test_a_process_that_starts_while_the_store_is_away_is_ready_too() -> None:
    mood = Moody()
    mood.away = True
    async with probed(mood) as probe:
        assert await probe("/readyz") == (200, "degraded")


async def test_a_process_that_alone_is_deaf_is_not_ready_but_alive() -> None:
    mood = Moody()
    mood.deaf = True
    life = Life(drain_delay=0.0)
    app = FastAPI()
    app.include_router(health(life))
    probe = Probe(app)
    opened = nullcontext(Intercepted(MemoryBackplane(), mood))
    async with life.lived(opened, Server("s"), Policy(lease=0.3, drain=0.1)):
        for _ in range(5):
            await life.engine._pulse.round()  # what it would find in its own time
        assert await probe("/readyz") == (503, "deaf")
        assert await probe("/livez") == (200, "ok")
        mood.deaf = False
        for _ in range(3):
            await life.engine._pulse.round()
        await probe.ready(200, "ok")


async def test_a_process_that_was_told_to_stop_is_not_ready_from_then_on_but_alive() -> None:
    async with probed(Moody()) as probe:
        await probe.ready(200, "ok")
        signal.raise_signal(signal.SIGTERM)
        assert await probe("/readyz") == (503, "leaving")
        assert await probe("/livez") == (200, "ok")


async def test_before_its_start_an_application_is_asked_in_vain() -> None:
    life = Life(drain_delay=0.0)
    with pytest.raises(RuntimeError, match="lifespan"):
        _ = life.engine
    assert not life.leaving
