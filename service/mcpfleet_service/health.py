"""What orchestrators and operators ask: is this process alive, should it get requests, and how does it do?"""

from typing import Protocol

from fastapi import APIRouter, Response

from mcpfleet.server.engine import Engine
from mcpfleet_service.metrics.exposition import CONTENT_TYPE, exposition
from mcpfleet_service.metrics.siblings import Siblings


class Watched(Protocol):
    """A process that is asked how it does."""

    @property
    def engine(self) -> Engine:
        """What serves."""
        ...

    @property
    def leaving(self) -> bool:
        """Whether it was told to stop, or has to."""
        ...

    @property
    def siblings(self) -> Siblings:
        """It, among the processes behind its port."""
        ...


def health(life: Watched) -> APIRouter:
    """The routes `/livez`, `/readyz` and `/metrics`.

    An outage of the store leaves a process ready, but `degraded`: if every process were unready at once, nothing would
    be left to serve what needs no store. Unready is one that leaves, or that alone is deaf. `/metrics` tells of all
    processes behind the port.
    """
    router = APIRouter(include_in_schema=False)

    @router.get("/livez")
    async def livez() -> dict[str, str]:
        return {"status": "ok"}

    @router.get("/readyz")
    async def readyz(response: Response) -> dict[str, str]:
        status = _status(life)
        response.status_code = 200 if status in ("ok", "degraded") else 503
        return {"status": status}

    @router.get("/metrics")
    async def metrics() -> Response:
        return Response(await exposition(life.engine, life.siblings), media_type=CONTENT_TYPE)

    return router


def _status(life: Watched) -> str:
    if life.leaving:
        return "leaving"
    if not life.engine.hears:
        return "deaf"
    return "ok" if life.engine.in_touch else "degraded"
