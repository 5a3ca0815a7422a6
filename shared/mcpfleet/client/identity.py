"""Who a client is, as it tells every server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpfleet.protocol import jsontext, meta
from mcpfleet.protocol.messages.lifecycle import Implementation
from mcpfleet.protocol.revisions import Revision


@dataclass(frozen=True, slots=True)
class Identity:
    """Its name, and what it can be asked."""

    info: Implementation
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    def handshake(self, revision: Revision) -> dict[str, Any]:
        """The parameters of `initialize` ("Lifecycle", section "Initialization")."""
        return {
            "protocolVersion": revision.date,
            "capabilities": self.capabilities,
            "clientInfo": jsontext.plain(self.info),
        }

    def envelope(self, revision: Revision) -> dict[str, Any]:
        """What the `_meta` of every modern request says ("Overview", section "_meta")."""
        return {
            meta.PROTOCOL_VERSION: revision.date,
            meta.CLIENT_INFO: jsontext.plain(self.info),
            meta.CLIENT_CAPABILITIES: self.capabilities,
        }
