"""Where every request is sorted into its era, once; everything behind the door is told, and never asks again.

A request is modern if its header names a modern revision or its `_meta` names any; `initialize` without either is the
legacy handshake; all else belongs to a legacy session (Versioning and Compatibility, "Backward Compatibility").
"""

from typing import Final

from mcpfleet.protocol import revisions
from mcpfleet.protocol.headers import ACCEPT, ALLOW, CONTENT_TYPE, MCP_PROTOCOL_VERSION, Headers
from mcpfleet.protocol.inbound.arrivals import Accepted, Limits
from mcpfleet.protocol.inbound.envelope import claimed_version
from mcpfleet.protocol.inbound.legacy import classify_end, classify_post, classify_stream
from mcpfleet.protocol.inbound.modern import classify_modern
from mcpfleet.protocol.inbound.rejected import Rejected, header_mismatch, malformed, unsupported_version
from mcpfleet.protocol.jsonrpc import INVALID_REQUEST, Batch, Malformed, Message, Notification, Request, decode
from mcpfleet.protocol.negotiation import EVENT_STREAM, JSON, acceptable, is_json
from mcpfleet.protocol.revisions import Era, Revision

DEFAULT_LIMITS: Final = Limits()


def classify(method: str, headers: Headers, body: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Accepted | Rejected:
    """Sort one HTTP request to the MCP endpoint; never raises, and nothing exists yet that a refusal would leave."""
    if method == "POST":
        return _post(headers, body, limits)
    if method == "GET" and not limits.stateless:
        return _get(headers, limits)
    if method == "DELETE" and not limits.stateless:
        return _delete(headers, limits)
    return _not_allowed("POST" if limits.stateless else "GET, POST, DELETE")


def _post(headers: Headers, body: bytes, limits: Limits) -> Accepted | Rejected:
    accepts = acceptable(headers.all(ACCEPT))
    refusal = _check_media(headers, accepts) or _check_version(headers)
    if refusal is not None:
        return refusal
    message = decode(body, max_depth=limits.max_depth, max_values=limits.max_values, max_batch=limits.max_batch)
    if isinstance(message, Malformed):
        return malformed(message)
    if limits.json_only and not _is_stream(message):
        accepts = accepts & {JSON}
        if not accepts:
            return Rejected(406, INVALID_REQUEST, f"Accept does not include {JSON}", {"reason": "accept"})
    given = headers.get(MCP_PROTOCOL_VERSION)
    named = revisions.find(given) if given is not None else None
    claims = isinstance(message, Request | Notification) and claimed_version(message) is not None
    if claims or _is_modern(named):
        return classify_modern(message, headers, accepts, limits.pin)
    if given is not None and named is None:
        return unsupported_version(given, message.id if isinstance(message, Request) else None, limits.pin)
    return classify_post(message, named, headers, accepts, limits)


def _is_stream(message: Message | Batch) -> bool:
    """Whether the message asks for a stream, and could not be answered by anything else ("Subscriptions")."""
    return isinstance(message, Request) and message.method == "subscriptions/listen"


def _get(headers: Headers, limits: Limits) -> Accepted | Rejected:
    named = _named_legacy(headers, limits)
    if isinstance(named, Rejected):
        return named
    if EVENT_STREAM not in acceptable(headers.all(ACCEPT)):
        return Rejected(406, INVALID_REQUEST, f"Accept does not include {EVENT_STREAM}", {"reason": "accept"})
    return classify_stream(named, headers, limits)


def _delete(headers: Headers, limits: Limits) -> Accepted | Rejected:
    named = _named_legacy(headers, limits)
    return named if isinstance(named, Rejected) else classify_end(named, headers, limits)


def _named_legacy(headers: Headers, limits: Limits) -> Revision | Rejected | None:
    """The revision in the header of a request that only the legacy era has."""
    refusal = _check_version(headers)
    if refusal is not None:
        return refusal
    given = headers.get(MCP_PROTOCOL_VERSION)
    if given is None:
        return None
    named = revisions.find(given)
    if named is None:
        return unsupported_version(given, pin=limits.pin)
    return _not_allowed("POST") if _is_modern(named) else named


def _is_modern(named: Revision | None) -> bool:
    return named is not None and named.era is Era.MODERN


def _check_media(headers: Headers, accepts: frozenset[str]) -> Rejected | None:
    if headers.disagree(CONTENT_TYPE) or not is_json(headers.get(CONTENT_TYPE)):
        return Rejected(415, INVALID_REQUEST, "Content-Type is not application/json", {"reason": "content_type"})
    if not accepts:
        return Rejected(
            406, INVALID_REQUEST, "Accept includes neither application/json nor text/event-stream", {"reason": "accept"}
        )
    return None


def _check_version(headers: Headers) -> Rejected | None:
    """Two versions at once would let an intermediary see another era than this door."""
    if headers.disagree(MCP_PROTOCOL_VERSION):
        return header_mismatch(f"{MCP_PROTOCOL_VERSION} is given with different values")
    return None


def _not_allowed(methods: str) -> Rejected:
    return Rejected(
        405, INVALID_REQUEST, f"Method not allowed; use {methods}", {"reason": "method"}, headers=((ALLOW, methods),)
    )
