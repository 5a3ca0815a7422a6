"""The door of the two oldest endpoints: a GET that opens a session, and POSTs that belong to it ("HTTP with SSE")."""

from mcpfleet.protocol.headers import ACCEPT, ALLOW, CONTENT_TYPE, Headers
from mcpfleet.protocol.inbound.arrivals import Limits, PairMessage, PairStream
from mcpfleet.protocol.inbound.legacy import check_batch
from mcpfleet.protocol.inbound.rejected import Rejected, invalid_request, malformed
from mcpfleet.protocol.jsonrpc import INVALID_REQUEST, Batch, Malformed, decode
from mcpfleet.protocol.negotiation import EVENT_STREAM, acceptable, is_json


def classify_pair_stream(method: str, headers: Headers, messages: str) -> PairStream | Rejected:
    """A GET of the stream, whose client is told to post to the path `messages`."""
    if method != "GET":
        return _not_allowed("GET")
    if EVENT_STREAM not in acceptable(headers.all(ACCEPT)):
        return Rejected(406, INVALID_REQUEST, f"Accept does not include {EVENT_STREAM}", {"reason": "accept"})
    return PairStream(messages)


def classify_pair_message(
    method: str, headers: Headers, session_id: str | None, body: bytes, limits: Limits
) -> PairMessage | Rejected:
    """A POST of one body of the session that its address names; only that knows whether it may be a batch."""
    if method != "POST":
        return _not_allowed("POST")
    if headers.disagree(CONTENT_TYPE) or not is_json(headers.get(CONTENT_TYPE)):
        return Rejected(415, INVALID_REQUEST, "Content-Type is not application/json", {"reason": "content_type"})
    if session_id is None:
        return invalid_request("session_required", "session_id is missing; post to the address that the stream told")
    message = decode(body, max_depth=limits.max_depth, max_values=limits.max_values, max_batch=limits.max_batch)
    if isinstance(message, Malformed):
        return malformed(message)
    if isinstance(message, Batch) and (refusal := check_batch(message, None)) is not None:
        return refusal
    return PairMessage(session_id, message)


def _not_allowed(method: str) -> Rejected:
    words = f"Method not allowed; use {method}"
    return Rejected(405, INVALID_REQUEST, words, {"reason": "method"}, headers=((ALLOW, method),))
