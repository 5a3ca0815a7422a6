"""The one composition root: a server, a backplane and settings become an application."""

import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from fastapi import FastAPI

from mcpfleet import Server
from mcpfleet.backplane.base import Backplane
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.server.auth import Authenticate
from mcpfleet.server.choice import Choose
from mcpfleet.server.fleet import Fleet
from mcpfleet_service.backdoor import BackDoor
from mcpfleet_service.doors import Doors, endpoints
from mcpfleet_service.endpoint import Endpoint, Sort
from mcpfleet_service.guards import Guard
from mcpfleet_service.health import health
from mcpfleet_service.life import Life
from mcpfleet_service.policy import policy_of
from mcpfleet_service.settings import Settings
from mcpfleet_service.store import redis_of
from mcpfleet_service.target import find_server, named
from mcpfleet_service.telemetry import exporting


def from_environment() -> FastAPI:
    """The application that the `MCPFLEET_*` variables describe; for web servers that take a factory."""
    settings = Settings.from_environment(os.environ)
    server = find_server(settings)
    app = create_app(server, settings=settings)
    serving = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(served: FastAPI) -> AsyncIterator[None]:
        async with exporting(named(server, settings).name), serving(served):
            yield

    app.router.lifespan_context = lifespan
    return app


def create_app(
    server: Server,
    *,
    backplane: Backplane | None = None,
    settings: Settings | None = None,
    authenticate: Authenticate | None = None,
    choose: Choose | None = None,
) -> FastAPI:
    """An application that serves the server's tools; one of a fleet if its settings name a Redis.

    `backplane` is used as it is and left open; without one the settings decide. `authenticate` turns the headers of
    each request into its principal; whom it does not know is refused with 401. `choose` returns, for the headers and
    the principal of each request, the server whose tools, prompts and resources it is offered in place of `server`'s,
    which still says who it is and what it is capable of. Serve it with a lifespan, or mount it with
    `mounting.lifespan_of`: the engine runs from start-up to shutdown, and meanwhile `app.state.fleet` tells clients
    what has changed.
    """
    settings = settings or Settings()
    life = Life(drain_delay=settings.drain_delay, audited=settings.audit)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        opened, policy = _opened(backplane, server, settings), policy_of(settings)
        async with life.lived(opened, named(server, settings), policy, choose):
            yield

    app = FastAPI(
        title=server.name,
        version=server.info.version,
        lifespan=lifespan,
        openapi_url=None,
        # The framework's own spans would last as long as a stream, and its logs would carry the words of exceptions.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.fleet = Fleet(life.publish, life.switch)
    app.include_router(health(life))
    guard = Guard(settings.allowed_hosts, settings.allowed_origins)

    def endpoint(sort: Sort) -> Endpoint:
        return Endpoint(
            lambda: life.engine,
            guard,
            authenticate,
            max_body=settings.max_body,
            keepalive=settings.keepalive,
            vitals=life.vitals,
            sort=sort,
        )

    app.add_middleware(Doors, endpoints=endpoints(settings, endpoint))
    if settings.admin_port is not None:
        app.add_middleware(BackDoor, port=settings.admin_port)
    return app


def _opened(backplane: Backplane | None, server: Server, settings: Settings) -> AbstractAsyncContextManager[Backplane]:
    if backplane is not None:
        return nullcontext(backplane)
    if settings.redis_url is None:
        return nullcontext(MemoryBackplane())
    return redis_of(server.name, settings.redis_url, settings)
