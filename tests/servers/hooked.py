"""A server that is watched from its start to its end: what it set up, and what its hooks saw, its tools tell."""

import logging
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass

from mcpfleet import Context, Server

log = logging.getLogger("hooked")


@dataclass
class Life:
    """What one process has."""

    pid: int
    entered: int = 0
    served: int = 0


life = Life(os.getpid())


async def lifespan(_server: Server) -> AsyncIterator[Life]:
    """Count how often it is entered, and log what was served in between."""
    if "HOOKED_REFUSES" in os.environ:
        raise ConnectionRefusedError("no database")
    life.entered += 1
    life.pid = os.getpid()
    yield life
    log.warning("process %d left its lifespan after %d", life.pid, life.served)


server = Server("hooked", version="1", lifespan=lifespan)


@server.tool
async def lived(ctx: Context) -> dict[str, int]:
    """Tell what this process has entered."""
    found: Life = ctx.lifespan
    found.served += 1
    return {"pid": os.getpid(), "made": found.pid, "entered": found.entered}
