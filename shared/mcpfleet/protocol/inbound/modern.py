"""The ladder of a modern POST: each rung looks at one thing, and the first that fails answers."""

from typing import Any

from mcpfleet.protocol.headers import MCP_METHOD, MCP_NAME, MCP_PROTOCOL_VERSION, NAMED_BY, Headers, decode_value
from mcpfleet.protocol.inbound.arrivals import ModernNotification, ModernRequest
from mcpfleet.protocol.inbound.envelope import check_required, claimed_version, open_envelope, supported
from mcpfleet.protocol.inbound.rejected import Rejected, header_mismatch, invalid_params, invalid_request
from mcpfleet.protocol.jsonrpc import Batch, Failure, Notification, Reply, Request, RequestId
from mcpfleet.protocol.meta import PROTOCOL_VERSION
from mcpfleet.protocol.revisions import Revision


def classify_modern(
    message: Request | Notification | Reply | Failure | Batch,
    headers: Headers,
    accepts: frozenset[str],
    pin: Revision | None,
) -> ModernRequest | ModernNotification | Rejected:
    """Sort one body; only requests and notifications are sent in this era."""
    if isinstance(message, Request):
        return _request(message, headers, accepts, pin)
    if isinstance(message, Notification):
        return _notification(message, headers, pin)
    if isinstance(message, Batch):
        return invalid_request("batch", "this protocol version has no batches")
    return invalid_request("response", "a client sends no responses in this protocol version")


def _request(
    request: Request, headers: Headers, accepts: frozenset[str], pin: Revision | None
) -> ModernRequest | Rejected:
    refusal = check_required(request)
    if refusal is not None:
        return refusal
    version: str = request.params["_meta"][PROTOCOL_VERSION]
    refusal = _check_version(version, headers, request.id)
    if refusal is not None:
        return refusal
    revision = supported(version, request.id, pin)
    if isinstance(revision, Rejected):
        return revision
    refusal = _check_method(request, headers) or _check_name(request, headers)
    return refusal if refusal is not None else open_envelope(request, revision, accepts)


def _check_version(version: str, headers: Headers, request_id: RequestId) -> Rejected | None:
    given = headers.get(MCP_PROTOCOL_VERSION)
    if given is None:
        return header_mismatch(f"{MCP_PROTOCOL_VERSION} is missing", request_id)
    if given != version:
        return header_mismatch(f"{MCP_PROTOCOL_VERSION} does not match _meta", request_id)
    return None


def _check_method(request: Request, headers: Headers) -> Rejected | None:
    given = headers.get(MCP_METHOD)
    if given is None:
        return header_mismatch(f"{MCP_METHOD} is missing", request.id)
    if headers.disagree(MCP_METHOD):
        return header_mismatch(f"{MCP_METHOD} is given with different values", request.id)
    if given != request.method:
        return header_mismatch(f"{MCP_METHOD} does not match the body", request.id)
    return None


def _check_name(request: Request, headers: Headers) -> Rejected | None:
    """A name that the body does not have needs no header; the method itself will miss it."""
    key = NAMED_BY.get(request.method)
    if key is None:
        return None
    given, name = headers.get(MCP_NAME), request.params.get(key)
    if given is None:
        return header_mismatch(f"{MCP_NAME} is missing", request.id) if type(name) is str else None
    if headers.disagree(MCP_NAME):
        return header_mismatch(f"{MCP_NAME} is given with different values", request.id)
    if name is None or decode_value(given) != name:
        return header_mismatch(f"{MCP_NAME} does not match params.{key}", request.id)
    return None


def _notification(notification: Notification, headers: Headers, pin: Revision | None) -> ModernNotification | Rejected:
    """The revision defines no header rules for notifications: what is given must agree, what is missing may."""
    claimed, given = claimed_version(notification), headers.get(MCP_PROTOCOL_VERSION)
    version: Any = given if claimed is None else claimed
    if type(version) is not str:
        return invalid_params(f"{PROTOCOL_VERSION} is not a string", None)
    if given not in (None, version):
        return header_mismatch(f"{MCP_PROTOCOL_VERSION} does not match _meta")
    if headers.disagree(MCP_METHOD) or headers.get(MCP_METHOD) not in (None, notification.method):
        return header_mismatch(f"{MCP_METHOD} does not match the body")
    revision = supported(version, None, pin)
    return revision if isinstance(revision, Rejected) else ModernNotification(revision, notification)
