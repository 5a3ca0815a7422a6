"""A legacy client's word that its roots have changed ("Roots", section "Root List Changes")."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Final

from mcpfleet.server.context import Context

METHOD: Final = "notifications/roots/list_changed"
HOOK_SECONDS: Final = 10.0
"""How long a hook may take."""

RootsHook = Callable[[Context], Awaitable[None] | None]


async def tell(hook: RootsHook, context: Context) -> None:
    """Call the hook, which may be asynchronous; raises what it raises."""
    done = hook(context)
    if inspect.isawaitable(done):
        await done
