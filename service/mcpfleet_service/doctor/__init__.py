"""`mcpfleet doctor`: what of a configuration would not work, or not well, and what is to be done about it."""

from collections.abc import Sequence

from mcpfleet_service.doctor import edge, offer, store
from mcpfleet_service.doctor.finding import Finding
from mcpfleet_service.settings import Settings


async def examined(settings: Settings) -> Sequence[Finding]:
    """Everything that was looked at, in the order of a request: the edge, the server, the store."""
    name, offered = offer.examined(settings)
    return [*edge.examined(settings), *offered, *await store.examined(settings, name)]
