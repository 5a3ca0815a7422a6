"""A server that is watched from its start to its end: what it set up, and what its hooks saw, its tools tell."""

import logging
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

from mcpfleet import CallNext, CallToolResult, Context, Failed, Incoming, ProtocolError, Server, TextContent, ToolError

log = logging.getLogger("hooked")


@dataclass
class Life:
    """What one process has, and what it went through."""

    pid: int
    entered: int = 0
    served: int = 0
    journal: list[str] = field(default_factory=list)


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


@server.around_request
async def watch(request: Incoming, call_next: CallNext, ctx: Context) -> Any:
    """Note who is served with what, and how it ended."""
    name = (request.client or {}).get("name")
    life.journal.append(f"{request} of {name}")
    ctx.state.watched = f"{request.method} in {request.protocol_version}"
    try:
        return await call_next(request)
    except Exception as error:
        life.journal.append(f"{request} raised {type(error).__name__}")
        raise


@server.around_request("tools/call", "guarded")
async def guard(request: Incoming, call_next: CallNext) -> Any:
    """Do what the arguments say."""
    match request.arguments:
        case {"mood": "refuse"}:
            raise ProtocolError(-31000, "Not now", {"retry": True})
        case {"mood": "tell"}:
            raise ToolError("Only in office hours.")
        case {"mood": "break"}:
            raise RuntimeError("postgres://admin:hunter2@db")
        case {"mood": "answer"}:
            return CallToolResult(content=(TextContent(text="from the hook"),))
    return await call_next(request.with_arguments({"mood": "changed"}))


@server.around_request("initialize")
async def shake_hands(request: Incoming, call_next: CallNext) -> Any:
    """Agree with old clients on an old version."""
    if (request.client or {}).get("name", "").startswith("old"):
        request = replace(request, params={**request.params, "protocolVersion": "2025-03-26"})
    return await call_next(request)


@server.exception_reporter
async def report(error: BaseException, failed: Failed) -> None:
    """Note what failed, and then fail as well."""
    life.journal.append(f"reported {type(error).__name__} in {failed.method} {failed.target}: {failed.correlation_id}")
    raise RuntimeError("so does the reporter")


@server.tool
async def guarded(mood: str, ctx: Context) -> str:
    """Tell the mood, and what the hook has left."""
    return f"{mood} by {ctx.state.watched}"


@server.tool
async def lived(ctx: Context) -> dict[str, int]:
    """Tell what this process has entered."""
    found: Life = ctx.lifespan
    found.served += 1
    return {"pid": os.getpid(), "made": found.pid, "entered": found.entered}


@server.tool
async def journal() -> list[str]:
    """What this very process went through; pin the request to a process."""
    return life.journal


@server.notification("acme/noted")
async def noted(word: str, ctx: Context) -> None:
    """Note a word."""
    if word == "fail":
        raise RuntimeError("no luck")
    life.journal.append(f"noted {word} in {ctx.era.value}")


@server.resource("config://app")
async def config() -> str:
    """Tell how it is set up."""
    return "as usual"
