"""Where a message of a transport without headers is sorted into its era (transports/stdio, "Request Metadata").

A message that names a version in its `_meta` is modern; `initialize` without one is the legacy handshake, which holds
for the whole connection; all else belongs to what that handshake began, but for pings, which may come before it.
"""

from mcpfleet.protocol.inbound.arrivals import EarlyPing, Initialize, LegacyPost, ModernRequest
from mcpfleet.protocol.inbound.envelope import claimed_version, read_envelope
from mcpfleet.protocol.inbound.legacy import INITIALIZE, check_batch, read_handshake
from mcpfleet.protocol.inbound.rejected import Rejected, invalid_params, invalid_request
from mcpfleet.protocol.jsonrpc import Batch, Failure, Notification, Reply, Request


def classify_line(
    message: Request | Notification | Reply | Failure | Batch, session_id: str | None
) -> ModernRequest | EarlyPing | Initialize | LegacyPost | Rejected | None:
    """Sort one message of a connection, whose handshake gave it `session_id` if it had one; never raises.

    None: there is nothing to serve, and nobody to tell.
    """
    if isinstance(message, Request):
        if claimed_version(message) is not None:
            return read_envelope(message)
        if message.method == INITIALIZE:
            return read_handshake(message)
        if session_id is None and message.method == "ping":
            return EarlyPing(message.id)
        if session_id is None:
            return invalid_params("no version: name one in params._meta, or send initialize first", message.id)
    elif isinstance(message, Batch):
        refusal = check_batch(message, None)
        if refusal is not None:
            return refusal
        if session_id is None:
            return invalid_request("batch", "a batch needs a version that has batches: send initialize first")
    elif session_id is None or (isinstance(message, Notification) and claimed_version(message) is not None):
        return None
    return LegacyPost(session_id, None, message)
