"""A server of which everything can be watched."""

import msgspec

from mcpfleet import Server
from mcpfleet.protocol.messages.lifecycle import (
    DiscoverResult,
    InitializeResult,
    ListChangedCapability,
    ResourcesCapability,
    ServerCapabilities,
)
from mcpfleet.protocol.revisions import Revision


def watchable() -> Server:
    """A server that declares every capability by which a client watches something."""
    return Resourceful("watchable", version="1")


class Resourceful(Server):
    """Declares them."""

    capabilities = ServerCapabilities(
        tools=ListChangedCapability(list_changed=True),
        prompts=ListChangedCapability(list_changed=True),
        resources=ResourcesCapability(list_changed=True, subscribe=True),
    )

    def discovery(self) -> DiscoverResult:
        return msgspec.structs.replace(super().discovery(), capabilities=self.capabilities)

    def initialization(self, revision: Revision) -> InitializeResult:
        return msgspec.structs.replace(super().initialization(revision), capabilities=self.capabilities)
