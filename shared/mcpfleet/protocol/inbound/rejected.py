"""A refusal as a value: the HTTP status and the JSON-RPC error that say why a request is not served."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from mcpfleet.protocol import revisions
from mcpfleet.protocol.jsonrpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    Malformed,
    RequestId,
    encode_failure,
)
from mcpfleet.protocol.revisions import Era, Revision

HTTP_STATUS: Final[Mapping[int, int]] = MappingProxyType(
    {
        PARSE_ERROR: 400,
        INVALID_REQUEST: 400,
        INVALID_PARAMS: 400,
        HEADER_MISMATCH: 400,
        MISSING_CLIENT_CAPABILITY: 400,
        UNSUPPORTED_VERSION: 400,
        METHOD_NOT_FOUND: 404,
    }
)
"""The modern status of an error by its code; 200 for any other code (Streamable HTTP, "Protocol Version Header" and
"Server Validation"; "Overview", section "_meta")."""


def status_of(code: int, era: Era) -> int:
    """The HTTP status of an error that the engine produced; in the legacy era an error is an answer like any other."""
    return HTTP_STATUS.get(code, 200) if era is Era.MODERN else 200


class Rejected(Struct, frozen=True):
    """Why a request is refused; nothing was created, and nothing will be."""

    status: int
    code: int
    message: str
    data: Mapping[str, Any] | None = None
    id: RequestId | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def body(self) -> bytes:
        """The JSON-RPC error response."""
        return encode_failure(self.id, self.code, self.message, self.data)


def malformed(found: Malformed) -> Rejected:
    """A body that is no message."""
    return Rejected(400, found.code, found.message, id=found.id)


def invalid_request(reason: str, message: str, request_id: RequestId | None = None) -> Rejected:
    """A refusal of our own; `reason` is for programs and stays the same, the message is for people."""
    return Rejected(400, INVALID_REQUEST, message, {"reason": reason}, request_id)


def invalid_params(message: str, request_id: RequestId | None) -> Rejected:
    """Parameters that the method cannot be called with."""
    return Rejected(400, INVALID_PARAMS, message, id=request_id)


def header_mismatch(message: str, request_id: RequestId | None = None) -> Rejected:
    """A header that is missing, malformed, repeated with another value, or at odds with the body."""
    return Rejected(400, HEADER_MISMATCH, f"Header mismatch: {message}", id=request_id)


def unsupported_version(requested: str, request_id: RequestId | None = None, pin: Revision | None = None) -> Rejected:
    """A version that is not spoken here, or not in this way: a legacy version has no per-request form, so it is not
    offered again to who asked for it so."""
    supported = revisions.spoken(pin) if revisions.find(requested) is None else revisions.MODERN_DATES
    data = {"supported": list(supported), "requested": requested}
    return Rejected(400, UNSUPPORTED_VERSION, "Unsupported protocol version", data, request_id)
