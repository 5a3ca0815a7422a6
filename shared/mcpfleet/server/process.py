"""What the parts of one serving process share."""

from dataclasses import dataclass, field

from mcpfleet.backplane.base import Backplane
from mcpfleet.backplane.leases import Keeper
from mcpfleet.server.draining import Draining
from mcpfleet.server.policy import Policy
from mcpfleet.server.vitals import Vitals


@dataclass(frozen=True, slots=True)
class Process:
    """The store as this process sees it, who keeps its leases, and the rules it serves by."""

    backplane: Backplane
    keeper: Keeper
    policy: Policy
    draining: Draining = field(default_factory=Draining)
    vitals: Vitals = field(default_factory=Vitals)
