"""Running the HTTP processes of one command: a listening socket, a Redis if one is needed, and uvicorn."""

import math
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from types import FrameType
from typing import Final

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import ChangeReload, Multiprocess

from mcpfleet.errors import SettingsError
from mcpfleet_service.embedded import embedded_redis
from mcpfleet_service.greeting import greet_when_ready
from mcpfleet_service.logs import configuration
from mcpfleet_service.metrics.siblings import common_folder
from mcpfleet_service.settings import Settings

BACKLOG: Final = 2048
DIED: Final = 1
"""The exit code of a process whose application could serve no more, so that a supervisor replaces it."""
IDLE_SECONDS: Final = 75
"""How long an unused connection stays open: longer than balancers keep theirs, so that it is they who close."""
CUT_SECONDS: Final = 5
"""What the application gets, beyond the time to drain, to end its streams before uvicorn cuts them."""


def serve(settings: Settings, *, reload: bool = False, factory: str = "mcpfleet_service.boot:application") -> int:
    """Serve until SIGTERM or SIGINT and return the exit code: 0 after a clean end, another if the application died.

    The processes read their settings from the environment, as this one did. Several without a Redis URL share an
    embedded server, which ends after them. Raises `SettingsError` if it cannot start. For the main thread only.
    """
    with _leaving_on_signals(), ExitStack() as held:
        if settings.workers > 1 and settings.redis_url is None:
            os.environ["MCPFLEET_REDIS_URL"] = held.enter_context(embedded_redis())
        listeners = [held.enter_context(listen(settings.host, settings.port, "MCPFLEET_PORT"))]
        if settings.admin_port is not None:
            listeners.append(held.enter_context(listen(settings.host, settings.admin_port, "MCPFLEET_ADMIN_PORT")))
        if settings.workers > 1:
            held.enter_context(common_folder())
        port, ready_at = listeners[0].getsockname()[1], listeners[-1].getsockname()[1]
        greet_when_ready(_reachable(settings.host), port, settings.path, ready_at=ready_at)
        return _run(_config(settings, reload, factory), listeners)


def _run(config: uvicorn.Config, listeners: list[socket.socket]) -> int:
    if config.should_reload:
        ChangeReload(config, target=uvicorn.Server(config).run, sockets=listeners).run()
        return 0
    if config.workers == 1:
        return _run_one(config, listeners)
    supervisor = Multiprocess(config, sockets=listeners)
    supervisor.run()
    failed = any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes)
    return STARTUP_FAILURE if failed else 0


def _run_one(config: uvicorn.Config, listeners: list[socket.socket]) -> int:
    server = uvicorn.Server(config)
    with suppress(SystemExit):  # its last act is to raise the signal again that ended it
        server.run(sockets=listeners)
    if not server.started:
        return STARTUP_FAILURE
    return DIED if server.lifespan.error_occurred else 0


def _config(settings: Settings, reload: bool, factory: str) -> uvicorn.Config:
    return uvicorn.Config(
        factory,
        factory=True,
        workers=settings.workers,
        reload=reload,
        loop="uvloop" if find_spec("uvloop") else "asyncio",
        http="httptools" if find_spec("httptools") else "h11",
        ws="none",
        lifespan="on",
        log_config=configuration(settings),
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=math.ceil(settings.drain) + CUT_SECONDS,
    )


@contextmanager
def listen(host: str, port: int, named: str) -> Iterator[socket.socket]:
    """A socket that takes connections from now on, so that none is refused while the processes start."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=both)
    except OSError as refused:
        raise SettingsError(f"cannot listen on MCPFLEET_HOST={host} {named}={port}: {refused.strerror}") from refused
    with listener:
        yield listener


def _reachable(host: str) -> str:
    """An address at which this machine reaches what listens on the host."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # compared, not bound


@contextmanager
def _leaving_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGINT into a clean exit, before uvicorn takes them and when it raises them again at its end."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit(0)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
