"""The ladder of a legacy request: the handshake, and what belongs to a session."""

from typing import Final

from mcpfleet.protocol.headers import LAST_EVENT_ID, MCP_SESSION_ID, Headers
from mcpfleet.protocol.inbound.arrivals import (
    Initialize,
    LegacyEnd,
    LegacyPost,
    LegacyStream,
    Limits,
    StatelessPost,
)
from mcpfleet.protocol.inbound.envelope import capability_fault, progress_token
from mcpfleet.protocol.inbound.rejected import Rejected, invalid_params, invalid_request
from mcpfleet.protocol.jsonrpc import Batch, Failure, Notification, Reply, Request, RequestId
from mcpfleet.protocol.negotiation import OFFERED
from mcpfleet.protocol.revisions import Revision

INITIALIZE: Final = "initialize"


def classify_post(
    message: Request | Notification | Reply | Failure | Batch,
    named: Revision | None,
    headers: Headers,
    accepts: frozenset[str],
    limits: Limits,
) -> Initialize | LegacyPost | StatelessPost | Rejected:
    """Sort one body; a batch whose revision only the session knows is left to `refuse_batch`."""
    if isinstance(message, Request) and message.method == INITIALIZE:
        return read_handshake(message, accepts=accepts, stateless=limits.stateless)
    if isinstance(message, Batch):
        refusal = check_batch(message, named)
        if refusal is not None:
            return refusal
    if limits.stateless:
        return StatelessPost(named or limits.assumed, message, accepts)
    session_id = _session(headers, limits, message.id if isinstance(message, Request) else None)
    return session_id if isinstance(session_id, Rejected) else LegacyPost(session_id, named, message, accepts)


def classify_stream(named: Revision | None, headers: Headers, limits: Limits) -> LegacyStream | Rejected:
    """A GET of a session."""
    session_id = _session(headers, limits)
    if isinstance(session_id, Rejected):
        return session_id
    return LegacyStream(session_id, named, headers.get(LAST_EVENT_ID))


def classify_end(named: Revision | None, headers: Headers, limits: Limits) -> LegacyEnd | Rejected:
    """A DELETE of a session."""
    session_id = _session(headers, limits)
    return session_id if isinstance(session_id, Rejected) else LegacyEnd(session_id, named)


def refuse_batch(revision: Revision) -> Rejected | None:
    """The refusal of a batch in a session of this revision; None where batches exist."""
    return None if revision.batches else invalid_request("batch", "this protocol version has no batches")


def refuse_meta(request: Request) -> Rejected | None:
    """The refusal of a request whose `_meta` is no object, or asks for progress in a way that nobody could answer."""
    if type(request.params.get("_meta", {})) is not dict:
        return invalid_params("params._meta is not an object", request.id)
    token = progress_token(request)
    return token if isinstance(token, Rejected) else None


def check_batch(batch: Batch, named: Revision | None) -> Rejected | None:
    """The rung of a batch: no handshake in it, and a revision that has batches, if it is named."""
    if any(isinstance(message, Request) and message.method == INITIALIZE for message in batch.messages):
        return invalid_request("batch", "initialize is not part of a batch")
    return None if named is None else refuse_batch(named)


def read_handshake(
    request: Request, *, accepts: frozenset[str] = OFFERED, stateless: bool = False
) -> Initialize | Rejected:
    """An `initialize` with parameters of the right types, on any transport (Lifecycle, "Initialization")."""
    params = request.params
    if type(params.get("protocolVersion")) is not str:
        return invalid_params("protocolVersion is not a string", request.id)
    for name in ("capabilities", "clientInfo"):
        if type(params.get(name)) is not dict:
            return invalid_params(f"{name} is not an object", request.id)
    fault = capability_fault(params["capabilities"])
    if fault is not None:
        return invalid_params(f"capabilities: {fault}", request.id)
    return Initialize(request, accepts, stateless)


def _session(headers: Headers, limits: Limits, request_id: RequestId | None = None) -> str | Rejected:
    """The session id: visible ASCII (Transports, "Session Management"); 404 is left to mean "no such session"."""
    session_id = headers.get(MCP_SESSION_ID)
    if session_id is None:
        return invalid_request("session_required", f"{MCP_SESSION_ID} is missing; send initialize first", request_id)
    if headers.disagree(MCP_SESSION_ID):
        return invalid_request("session_malformed", f"{MCP_SESSION_ID} is given with different values", request_id)
    if not 0 < len(session_id) <= limits.max_session_id or not all("!" <= char <= "~" for char in session_id):
        return invalid_request("session_malformed", f"{MCP_SESSION_ID} is not a session id", request_id)
    return session_id
