"""What every test of an outage asks: is what needs Redis refused as promised, and what says the health of a fleet?"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import httpx2

from tests.answer import Answer
from tests.fleets import Fleet
from tests.wire import Client

REFUSE_SECONDS: Final = 1.0
"""How soon a request that needs Redis is refused while it is away."""
NOTICE_SECONDS: Final = 5.0
"""How much later `/readyz` may say that it is: each process asks Redis every few seconds by itself."""
RECOVER_SECONDS: Final = 10.0
"""How soon everything is served again once it is back."""


def assert_refused(answer: Answer) -> None:
    """The client is told to come back, and when, by an error that is about the server."""
    assert answer.status == 503, answer
    assert int(answer.headers["Retry-After"]) >= 1
    assert answer.error["code"] == -32603
    assert answer.error["data"] == {"reason": "store_unavailable"}
    assert "Mcp-Session-Id" not in answer.headers


async def within(seconds: float, answering: Awaitable[Answer]) -> Answer:
    """The answer, which must come in this time."""
    async with asyncio.timeout(seconds):
        return await answering


async def until(ask: Callable[[], Awaitable[Answer]], status: int) -> Answer:
    """Ask until the answer has this status, and return it; meanwhile it may only be "try again"."""
    async with asyncio.timeout(RECOVER_SECONDS):
        while (answer := await ask()).status != status:
            assert_refused(answer)
    return answer


async def recovered(client: Client, fleet: Fleet) -> None:
    """Return once every process serves the session again."""
    for process in range(len(fleet.processes)):
        await until(partial(client.request, "ping", pin=process), 200)


async def health(fleet: Fleet) -> list[tuple[str, int]]:
    """What each process says at `/livez` and at `/readyz`."""
    async with httpx2.AsyncClient(timeout=5) as http:
        urls = [
            f"{process.url.removesuffix('/mcp')}/{probe}"
            for process in fleet.processes
            for probe in ("livez", "readyz")
        ]
        answers = [await http.get(url) for url in urls]
    return [(answer.json()["status"], answer.status_code) for answer in answers]


async def until_healthy(fleet: Fleet) -> None:
    """Return once no process says that it is degraded; ask until then."""
    async with asyncio.timeout(RECOVER_SECONDS):
        while await health(fleet) != [("ok", 200)] * 4:
            pass
