"""An application whose store turns out to be broken in a way that nobody foresaw, once it serves."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fastapi import FastAPI

from mcpfleet import Server
from mcpfleet.backplane.base import Bell
from mcpfleet.backplane.intercepted import Intercepted, Verb
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet_service.app import create_app
from mcpfleet_service.settings import Settings

_Result = TypeVar("_Result")


class Fuse:
    """Lets everything pass until it is blown; then nothing that renews a lease."""

    def __init__(self) -> None:
        self.blown = asyncio.Event()

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        if name.startswith("keepers/") and self.blown.is_set():
            raise ZeroDivisionError("a bug in the keeper")
        return await act()

    def bell(self, inner: Bell, /) -> Bell:
        return inner


def application() -> FastAPI:
    """Serve; `/blow` blows the fuse, and both it and `/pid` tell which process it was."""
    fuse = Fuse()
    server = Server("dying")
    settings = Settings(lease=0.3, drain_delay=60.0, drain=1.0)
    app = create_app(server, backplane=Intercepted(MemoryBackplane(), fuse), settings=settings)

    @app.get("/blow")
    async def blow() -> int:
        fuse.blown.set()
        return os.getpid()

    @app.get("/pid")
    async def pid() -> int:
        return os.getpid()

    return app
