"""The server, as a client that has come to terms with it sees it: the same in both eras."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mcpfleet.client.ask import Ask
from mcpfleet.protocol.messages.lifecycle import Implementation, ServerCapabilities
from mcpfleet.protocol.messages.notifications import LogLevel
from mcpfleet.protocol.revisions import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """What a server says of itself; `info` is None if it does not say who it is."""

    capabilities: ServerCapabilities
    info: Implementation | None = None
    instructions: str | None = None


class Peer(Protocol):
    """One server in one revision of the protocol."""

    @property
    def revision(self) -> Revision:
        """What is spoken with it."""
        ...

    @property
    def introduction(self) -> Introduction:
        """What it said of itself."""
        ...

    @property
    def mirrors(self) -> bool:
        """Whether headers mirror the arguments of tools that say so."""
        ...

    def ping(self) -> Ask:
        """What any server that lives answers."""
        ...

    def set_log_level(self, level: LogLevel) -> Ask | None:
        """Want log messages of this severity from now on; what is to be asked for that, if anything is."""
        ...

    async def ask(self, ask: Ask) -> Mapping[str, Any]:
        """Send a request and return its result.

        Raises `RemoteError` for an error that the server answers, and what `Exchange` raises. Who is cancelled while
        waiting has the server told so.
        """
        ...

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        ...

    async def close(self) -> None:
        """End what the server keeps for this client; raises nothing."""
        ...
