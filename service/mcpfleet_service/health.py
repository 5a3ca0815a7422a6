"""What orchestrators ask: is this process alive, and should it get requests?"""

from collections.abc import Callable

from fastapi import APIRouter, Response

from mcpfleet.server.engine import Engine


def health(engine: Callable[[], Engine], leaving: Callable[[], bool]) -> APIRouter:
    """The routes `/livez` and `/readyz`.

    An outage of the store leaves a process ready, but `degraded`: if every process were unready at once, nothing would
    be left to serve what needs no store. Unready is one that leaves, or that alone is deaf.
    """
    router = APIRouter(include_in_schema=False)

    @router.get("/livez")
    async def livez() -> dict[str, str]:
        return {"status": "ok"}

    @router.get("/readyz")
    async def readyz(response: Response) -> dict[str, str]:
        found = engine()
        if leaving() or not found.hears:
            response.status_code = 503
            return {"status": "leaving" if leaving() else "deaf"}
        return {"status": "ok" if found.in_touch else "degraded"}

    return router
