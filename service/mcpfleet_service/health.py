"""What orchestrators ask: is this process alive, and should it get requests?"""

from fastapi import APIRouter, Response

from mcpfleet_service.life import Life


def health(life: Life) -> APIRouter:
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
        status = _status(life)
        response.status_code = 200 if status in ("ok", "degraded") else 503
        return {"status": status}

    return router


def _status(life: Life) -> str:
    if life.leaving:
        return "leaving"
    if not life.engine.hears:
        return "deaf"
    return "ok" if life.engine.in_touch else "degraded"
