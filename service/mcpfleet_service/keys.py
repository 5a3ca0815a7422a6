"""The keys that a fleet seals `requestState` with, for whoever operates it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from mcpfleet.backplane.keyring import Keyring
from mcpfleet_service.settings import Settings
from mcpfleet_service.store import store_of_fleet


async def listed(settings: Settings) -> Sequence[tuple[str, bool]]:
    """The ids in the ring, oldest first, and whether each key is still kept. Raises `Unavailable`."""
    async with _ring(settings) as ring:
        return await ring.listed()


async def rotate(settings: Settings) -> str:
    """Add a key, which the fleet seals with once all have had time to read it; returns its id. Raises `Unavailable`."""
    async with _ring(settings) as ring:
        return await ring.rotate()


@asynccontextmanager
async def _ring(settings: Settings) -> AsyncIterator[Keyring]:
    async with store_of_fleet(settings, "keys") as backplane:
        yield Keyring(backplane, wrapping=settings.wrapping_key)
