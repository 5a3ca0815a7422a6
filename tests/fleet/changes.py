"""Telling a fleet under test that its lists have changed, as a process of it does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.server.events import Change, Events
from mcpfleet.server.policy import Policy
from mcpfleet.server.process import Process
from tests.fleets import Fleet


class Announcer:
    """A process that serves nobody and announces changes."""

    def __init__(self, events: Events) -> None:
        self._events = events

    async def tools_changed(self) -> None:
        """When this returns, every open standalone stream will hear of it."""
        await self._events.publish(Change("tools"))


@asynccontextmanager
async def announcing(fleet: Fleet) -> AsyncIterator[Announcer]:
    """Join the fleet for the time of the block."""
    async with RedisBackplane.at(fleet.redis_url, namespace=fleet.namespace) as backplane:
        yield Announcer(Events(Process(backplane, Keeper(backplane, lease=7.5), Policy())))
