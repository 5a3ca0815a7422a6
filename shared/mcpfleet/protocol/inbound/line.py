"""Where a message of a transport without headers is sorted into its era (transports/stdio, "Request Metadata").

A message that names a version in its `_meta` is modern; `initialize` without one is the legacy handshake, which holds
for the whole connection; all else belongs to what that handshake began, but for pings, which may come before it.
"""

from mcpfleet.protocol.inbound.arrivals import EarlyPing, Initialize, LegacyPost, ModernNotification, ModernRequest
from mcpfleet.protocol.inbound.envelope import claimed_version, read_envelope, supported
from mcpfleet.protocol.inbound.legacy import INITIALIZE, check_batch, read_handshake
from mcpfleet.protocol.inbound.rejected import Rejected, invalid_params, invalid_request
from mcpfleet.protocol.jsonrpc import Batch, Failure, Notification, Reply, Request
from mcpfleet.protocol.revisions import LATEST, Revision


def classify_line(
    message: Request | Notification | Reply | Failure | Batch, session_id: str | None, pin: Revision | None = None
) -> ModernRequest | ModernNotification | EarlyPing | Initialize | LegacyPost | Rejected | None:
    """Sort one message of a connection, whose handshake gave it `session_id` if it had one; never raises.

    None: there is nothing to serve, and nobody to tell.
    """
    if isinstance(message, Request):
        own = _request(message, session_id, pin)
    elif isinstance(message, Batch):
        own = _batch(message, session_id)
    elif isinstance(message, Notification) and (session_id is None or claimed_version(message) is not None):
        return _notification(message)
    else:
        own = None
    if own is not None or session_id is None:
        return own
    return LegacyPost(session_id, None, message)


def _request(
    request: Request, session_id: str | None, pin: Revision | None
) -> ModernRequest | EarlyPing | Initialize | Rejected | None:
    """None: it belongs to the session."""
    if claimed_version(request) is not None:
        return read_envelope(request, pin=pin)
    if request.method == INITIALIZE:
        return read_handshake(request)
    if session_id is not None:
        return None
    if request.method == "ping":
        return EarlyPing(request.id)
    return invalid_params("no version: name one in params._meta, or send initialize first", request.id)


def _batch(batch: Batch, session_id: str | None) -> Rejected | None:
    """None: it belongs to the session."""
    refusal = check_batch(batch, None)
    if refusal is None and session_id is None:
        return invalid_request("batch", "a batch needs a version that has batches: send initialize first")
    return refusal


def _notification(notification: Notification) -> ModernNotification | None:
    """One that belongs to no handshake: it need not say in which version it is meant."""
    claimed = claimed_version(notification)
    revision = LATEST if claimed is None else supported(claimed, None) if isinstance(claimed, str) else None
    return ModernNotification(revision, notification) if isinstance(revision, Revision) else None
