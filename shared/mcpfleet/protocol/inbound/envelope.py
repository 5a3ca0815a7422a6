"""What a modern request says about its sender in `_meta` ("Overview", section "_meta"), on any transport."""

from collections.abc import Mapping
from typing import Any, Final

from mcpfleet.protocol import revisions
from mcpfleet.protocol.inbound.arrivals import ModernRequest
from mcpfleet.protocol.inbound.rejected import Rejected, invalid_params, unsupported_version
from mcpfleet.protocol.jsonrpc import Notification, Request, RequestId, is_id
from mcpfleet.protocol.messages.notifications import LOG_LEVELS
from mcpfleet.protocol.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN, PROTOCOL_VERSION
from mcpfleet.protocol.negotiation import OFFERED
from mcpfleet.protocol.revisions import Era, Revision

_OBJECTS: Final = ("roots", "sampling", "elicitation", "experimental", "extensions")


def claimed_version(message: Request | Notification) -> Any:
    """The version that the message names in its `_meta`, whatever it is; None if it names none."""
    meta = message.params.get("_meta")
    return meta.get(PROTOCOL_VERSION) if type(meta) is dict else None


def read_envelope(
    request: Request, *, accepts: frozenset[str] = OFFERED, pin: Revision | None = None
) -> ModernRequest | Rejected:
    """A request with its sender; this is all that a transport without headers has to check."""
    refusal = check_required(request)
    if refusal is not None:
        return refusal
    revision = supported(request.params["_meta"][PROTOCOL_VERSION], request.id, pin)
    return revision if isinstance(revision, Rejected) else open_envelope(request, revision, accepts)


def check_required(request: Request) -> Rejected | None:
    """The rung of what every request must carry: a version and the capabilities of its client."""
    meta = request.params.get("_meta")
    if type(meta) is not dict:
        return invalid_params("params._meta is not an object", request.id)
    if type(meta.get(PROTOCOL_VERSION)) is not str:
        return invalid_params(f"params._meta has no string {PROTOCOL_VERSION}", request.id)
    if type(meta.get(CLIENT_CAPABILITIES)) is not dict:
        return invalid_params(f"params._meta has no object {CLIENT_CAPABILITIES}", request.id)
    return None


def supported(version: str, request_id: RequestId | None, pin: Revision | None = None) -> Revision | Rejected:
    """The rung of the version: one that is spoken here in the modern way."""
    revision = revisions.find(version)
    if revision is not None and revision.era is Era.MODERN:
        return revision
    return unsupported_version(version, request_id, pin)


def open_envelope(request: Request, revision: Revision, accepts: frozenset[str]) -> ModernRequest | Rejected:
    """The rung of what a request may carry: its types are checked here, once for all who read them."""
    meta = request.params["_meta"]
    capabilities = meta[CLIENT_CAPABILITIES]
    fault = capability_fault(capabilities)
    if fault is not None:
        return invalid_params(f"{CLIENT_CAPABILITIES}: {fault}", request.id)
    info, level = meta.get(CLIENT_INFO), meta.get(LOG_LEVEL)
    if info is not None and type(info) is not dict:
        return invalid_params(f"{CLIENT_INFO} is not an object", request.id)
    if level is not None and level not in LOG_LEVELS:
        return invalid_params(f"{LOG_LEVEL} is not a log level", request.id)
    token = progress_token(request)
    if isinstance(token, Rejected):
        return token
    return ModernRequest(revision, request, info, capabilities, level, token, accepts)


def progress_token(request: Request) -> RequestId | Rejected | None:
    """The token that progress is reported to, of either era; one that is no string or integer is refused
    ("Progress", section "Progress Flow")."""
    meta = request.params.get("_meta")
    token = meta.get(PROGRESS_TOKEN) if type(meta) is dict else None
    if token is None or is_id(token):
        return token
    return invalid_params(f"{PROGRESS_TOKEN} is not a string or an integer", request.id)


def capability_fault(capabilities: Mapping[str, Any]) -> str | None:
    """What is wrong with a client's capabilities, if the protocol's own are not objects."""
    for name in _OBJECTS:
        if name in capabilities and type(capabilities[name]) is not dict:
            return f"{name} is not an object"
    return None
