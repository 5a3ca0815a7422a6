"""Running one worker: the process that the settings describe, without a web server."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from importlib.util import find_spec
from logging.config import dictConfig

from mcpfleet import Server
from mcpfleet.backplane.base import Backplane
from mcpfleet.errors import SettingsError
from mcpfleet.server.vitals import Vitals
from mcpfleet_service.accounts import accounts
from mcpfleet_service.logs import configuration
from mcpfleet_service.policy import policy_of
from mcpfleet_service.settings import Settings
from mcpfleet_service.store import redis_of
from mcpfleet_service.target import find_server, named
from mcpfleet_service.telemetry import exporting, observers
from mcpfleet_service.watchpost import watched
from mcpfleet_workers.worker import work


def run(settings: Settings) -> int:
    """Work until SIGTERM or SIGINT and return the exit code, 0.

    Raises `SettingsError` if it cannot start, and whatever ends the engine, so that a supervisor replaces the process.
    """
    if settings.redis_url is None:
        raise SettingsError("a worker shares its tasks with the processes that serve: set MCPFLEET_REDIS_URL")
    dictConfig(configuration(settings))
    server = find_server(settings)
    opening = redis_of(server.name, settings.redis_url, settings)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_work(named(server, settings), opening, settings))
    return 0


async def _work(server: Server, opening: AbstractAsyncContextManager[Backplane], settings: Settings) -> None:
    vitals, policy = Vitals(), policy_of(settings, worker=True)
    async with exporting(server.name):
        watching = (*observers(server), accounts(server, vitals, audited=settings.audit))
        await work(server, opening, policy, observers=watching, vitals=vitals, beside=partial(watched, settings))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop, where it is installed, as the web server has it; None: Python's own."""
    if find_spec("uvloop") is None:
        return None
    import uvloop  # noqa: PLC0415  # an extra

    return uvloop.new_event_loop
