"""What becomes of a legacy client's word that its roots have changed ("Roots", section "Root List Changes")."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from mcpfleet.protocol.headers import Headers
from mcpfleet.server.auth import ANYONE, Principal
from mcpfleet.server.caller import Caller
from mcpfleet.server.context import Context
from mcpfleet.server.outlet import Silent
from mcpfleet.server.sessions import Session

log = logging.getLogger("mcpfleet.roots")

METHOD: Final = "notifications/roots/list_changed"
HOOK_SECONDS: Final = 10.0
"""How long a hook may take: the client waits for it to be told that its notification was accepted."""

RootsHook = Callable[[Context], Awaitable[None] | None]


async def tell(hook: RootsHook, session: Session) -> None:
    """Call the hook with what is known of the session's client; whatever it raises is logged and goes no further."""
    issuer, subject, client = session.record.owner
    known = None if session.record.owner == ANYONE else Principal(subject, issuer, client)
    caller = Caller(
        revision=session.revision,
        principal=known,
        headers=Headers.of({}),
        client_info=session.record.client_info,
        capabilities=session.record.capabilities,
        log_level=None,
        session_id=session.id,
    )
    context = Context(caller, Silent())
    try:
        async with asyncio.timeout(HOOK_SECONDS):
            done = hook(context)
            if inspect.isawaitable(done):
                await done
    except Exception:  # the boundary of what an author wrote: a notification has no response that could tell of it
        log.exception("%s: the hook failed", METHOD)
    finally:
        context.close()
