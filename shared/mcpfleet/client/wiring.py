"""What every part of one client works with."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from mcpfleet.client.company import Company
from mcpfleet.client.desk import Desk
from mcpfleet.client.identity import Identity
from mcpfleet.client.transport import Transport
from mcpfleet.protocol.jsonrpc import RequestId


def counting() -> Callable[[], RequestId]:
    """Request ids that are never used again: 1, 2, 3, …"""
    return itertools.count(1).__next__


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """A way to the server, who speaks there, and who is spoken to."""

    transport: Transport
    identity: Identity
    desk: Desk
    company: Company
    ids: Callable[[], RequestId] = field(default_factory=counting)
