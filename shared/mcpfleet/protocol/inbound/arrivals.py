"""What a request can be, once it has passed the door."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from mcpfleet.protocol.jsonrpc import Batch, Failure, Notification, Reply, Request, RequestId
from mcpfleet.protocol.negotiation import OFFERED
from mcpfleet.protocol.revisions import ASSUMED, Revision


class Limits(Struct, frozen=True):
    """What a client may ask of an endpoint; sizes of bodies are bounded before this."""

    max_depth: int = 64
    max_values: int = 100_000
    max_batch: int = 100
    max_session_id: int = 256
    json_only: bool = False
    """Requests are answered with one JSON object, whatever else the client would take."""
    stateless: bool = False
    """There are no sessions: legacy requests stand alone too."""
    pin: Revision | None = None
    """The only revision that handshakes agree on, if there is one."""
    assumed: Revision = ASSUMED
    """What they mean that name no revision."""


class ModernRequest(Struct, frozen=True):
    """A request that says all about its sender itself ("Overview", section "_meta")."""

    revision: Revision
    request: Request
    client_info: Mapping[str, Any] | None
    client_capabilities: Mapping[str, Any]
    log_level: str | None = None
    progress_token: RequestId | None = None
    accepts: frozenset[str] = OFFERED


class ModernNotification(Struct, frozen=True):
    """A notification by itself: answered 202, whatever becomes of it."""

    revision: Revision
    notification: Notification


class Initialize(Struct, frozen=True):
    """The legacy handshake, with parameters of the right types ("Lifecycle", section "Initialization")."""

    request: Request
    accepts: frozenset[str] = OFFERED
    stateless: bool = False
    """No session begins with it."""

    @property
    def requested(self) -> str:
        """The version that the client asks for, known here or not."""
        version: str = self.request.params["protocolVersion"]
        return version

    @property
    def client_info(self) -> Mapping[str, Any]:
        """Who the client says it is."""
        info: Mapping[str, Any] = self.request.params["clientInfo"]
        return info

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """What the client says it can do."""
        capabilities: Mapping[str, Any] = self.request.params["capabilities"]
        return capabilities


class EarlyPing(Struct, frozen=True):
    """A ping before the handshake, on a connection that will be its session ("Lifecycle", section "Initialization")."""

    id: RequestId


class LegacyPost(Struct, frozen=True):
    """One body of a session, which may not exist; `header_revision` is None when the client did not name one."""

    session_id: str
    header_revision: Revision | None
    message: Request | Notification | Reply | Failure | Batch
    accepts: frozenset[str] = OFFERED


class StatelessPost(Struct, frozen=True):
    """One body of a legacy client where there are no sessions; its revision is named by the client, or assumed."""

    revision: Revision
    message: Request | Notification | Reply | Failure | Batch
    accepts: frozenset[str] = OFFERED


class LegacyStream(Struct, frozen=True):
    """A GET: a session's own stream, or with `last_event_id` any stream of it taken up again."""

    session_id: str
    header_revision: Revision | None
    last_event_id: str | None


class LegacyEnd(Struct, frozen=True):
    """A DELETE: the client needs the session no more."""

    session_id: str
    header_revision: Revision | None


class PairStream(Struct, frozen=True):
    """A GET of the oldest transport: the session and its one stream; messages go to the path `messages`."""

    messages: str


class PairMessage(Struct, frozen=True):
    """A POST of the oldest transport: one body, which is answered on the session's stream."""

    session_id: str
    message: Request | Notification | Reply | Failure | Batch


Accepted = (
    ModernRequest
    | ModernNotification
    | Initialize
    | LegacyPost
    | StatelessPost
    | LegacyStream
    | LegacyEnd
    | PairStream
    | PairMessage
)
