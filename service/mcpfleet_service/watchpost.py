"""Where a process without a web server is asked how it does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Final

import uvicorn
from fastapi import FastAPI

from mcpfleet.server.engine import Engine
from mcpfleet_service.health import health
from mcpfleet_service.metering import meter
from mcpfleet_service.metrics.siblings import Siblings
from mcpfleet_service.serving import listen
from mcpfleet_service.settings import Settings

END_SECONDS: Final = 1


@dataclass(frozen=True, slots=True)
class _Alone:
    engine: Engine
    siblings: Siblings

    @property
    def leaving(self) -> bool:
        return self.engine.draining


@asynccontextmanager
async def watched(settings: Settings, engine: Engine) -> AsyncIterator[None]:
    """Serve `/livez`, `/readyz` and `/metrics` on MCPFLEET_ADMIN_PORT for the time of the block, if it is set.

    What OpenTelemetry exports of the process is exported in any case.

    Raises `SettingsError` if nobody can listen there.
    """
    meter(engine)
    if settings.admin_port is None:
        yield
        return
    app = FastAPI(openapi_url=None, telemetry={"tracing": False, "metrics": False, "logs": False})
    app.include_router(health(_Alone(engine, Siblings(engine.report, folder=""))))
    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=END_SECONDS,
    )
    server = uvicorn.Server(config)
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]  # the worker itself heeds them
    with listen(settings.host, settings.admin_port, "MCPFLEET_ADMIN_PORT") as listener:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(server.serve(sockets=[listener]))
            try:
                yield
            finally:
                server.should_exit = True
                await serving
