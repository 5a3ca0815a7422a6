"""One HTTP request, sorted: `classify` turns (method, headers, body) into what the engine serves, or a `Rejected`."""

from mcpfleet.protocol.inbound.arrivals import (
    Accepted,
    EarlyPing,
    Initialize,
    LegacyEnd,
    LegacyPost,
    LegacyStream,
    Limits,
    ModernNotification,
    ModernRequest,
    PairMessage,
    PairStream,
    StatelessPost,
)
from mcpfleet.protocol.inbound.door import DEFAULT_LIMITS, classify
from mcpfleet.protocol.inbound.envelope import progress_token, read_envelope
from mcpfleet.protocol.inbound.legacy import read_handshake, refuse_batch, refuse_meta
from mcpfleet.protocol.inbound.line import classify_line
from mcpfleet.protocol.inbound.pair import classify_pair_message, classify_pair_stream
from mcpfleet.protocol.inbound.rejected import HTTP_STATUS, Rejected, invalid_request, malformed, status_of

__all__ = [
    "DEFAULT_LIMITS",
    "HTTP_STATUS",
    "Accepted",
    "EarlyPing",
    "Initialize",
    "LegacyEnd",
    "LegacyPost",
    "LegacyStream",
    "Limits",
    "ModernNotification",
    "ModernRequest",
    "PairMessage",
    "PairStream",
    "Rejected",
    "StatelessPost",
    "classify",
    "classify_line",
    "classify_pair_message",
    "classify_pair_stream",
    "invalid_request",
    "malformed",
    "progress_token",
    "read_envelope",
    "read_handshake",
    "refuse_batch",
    "refuse_meta",
    "status_of",
]
