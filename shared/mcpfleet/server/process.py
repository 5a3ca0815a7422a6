"""What the parts of one serving process share."""

import asyncio
from dataclasses import dataclass, field

from mcpfleet.backplane.base import Backplane
from mcpfleet.backplane.leases import Keeper
from mcpfleet.server.policy import Policy


@dataclass(frozen=True, slots=True)
class Process:
    """The store as this process sees it, who keeps its leases, and the rules it serves by."""

    backplane: Backplane
    keeper: Keeper
    policy: Policy
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once: streams that wait for the world now end, so that their clients connect elsewhere."""
