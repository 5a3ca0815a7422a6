"""Who may watch what: the decision is the user's, and everybody may watch everything where there is none."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from mcpfleet.server.auth import Principal
from mcpfleet.server.topics import Topic

MayWatch = Callable[[Principal | None, Topic], bool | Awaitable[bool]]
"""Whether this principal (None without authentication) may be told of changes of this topic."""

DECIDE_SECONDS: Final = 10.0
"""How long it may take to decide on all that one request asks for."""


async def permitted(may_watch: MayWatch | None, principal: Principal | None, topics: Iterable[Topic]) -> set[Topic]:
    """Those of the topics that the principal may watch; what the hook raises, and `TimeoutError`, permit nothing."""
    asked = set(topics)
    if may_watch is None:
        return asked
    async with asyncio.timeout(DECIDE_SECONDS):
        return {topic for topic in asked if await _decided(may_watch(principal, topic))}


async def _decided(decision: bool | Awaitable[bool]) -> bool:
    return bool(await decision) if inspect.isawaitable(decision) else bool(decision)
