"""JSON-RPC 2.0 as MCP narrows it: bytes to messages and back ("Overview", section "Messages").

MCP's narrowing: ids are strings or integers, never null; `params` is always an object. A body that breaks the rules
becomes a `Malformed`, which says what to answer, and never an exception.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Raw, Struct, field

from mcpfleet.protocol import jsontext
from mcpfleet.protocol.jsontext import NotFinite, NotJson

__all__ = [
    "HEADER_MISMATCH",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "MISSING_CLIENT_CAPABILITY",
    "PARSE_ERROR",
    "RESOURCE_NOT_FOUND",
    "UNSUPPORTED_VERSION",
    "URL_ELICITATION_REQUIRED",
    "Batch",
    "ErrorObject",
    "Failure",
    "Malformed",
    "Message",
    "NotFinite",
    "NotJson",
    "Notification",
    "Reply",
    "Request",
    "RequestId",
    "decode",
    "encode_failure",
    "encode_notification",
    "encode_reply",
    "encode_request",
    "is_id",
]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
RESOURCE_NOT_FOUND: Final = -32002
"""Legacy revisions only; `wire.renumber` gives a revision's own code for it."""
URL_ELICITATION_REQUIRED: Final = -32042
"""One legacy revision only."""

RequestId = str | int


class Request(Struct, frozen=True):
    """Expects a reply of the same id."""

    id: RequestId
    method: str
    params: dict[str, Any] = field(default_factory=dict)


class Notification(Struct, frozen=True):
    """Expects nothing."""

    method: str
    params: dict[str, Any] = field(default_factory=dict)


class Reply(Struct, frozen=True):
    """The result of a request."""

    id: RequestId
    result: dict[str, Any]


class ErrorObject(Struct, frozen=True):
    """What went wrong; `data` is None when it is absent."""

    code: int
    message: str
    data: Any = None


class Failure(Struct, frozen=True):
    """The error that a request ended with; `id` is None when the peer could not read it."""

    id: RequestId | None
    error: ErrorObject


class Malformed(Struct, frozen=True):
    """No message: the code and words to answer, and the id if one could be read."""

    code: int
    message: str
    id: RequestId | None = None


Message = Request | Notification | Reply | Failure


class Batch(Struct, frozen=True):
    """An array of messages, at least one; each is answered for itself, the malformed too."""

    messages: tuple[Message | Malformed, ...]


def decode(
    body: bytes, *, max_depth: int = 64, max_values: int = 100_000, max_batch: int = 100
) -> Message | Batch | Malformed:
    """Read one body; never raises."""
    try:
        value = jsontext.loads(body, max_depth=max_depth, max_values=max_values)
    except (jsontext.TooDeep, jsontext.TooMany) as error:
        return Malformed(INVALID_REQUEST, str(error))
    except NotJson as error:
        return Malformed(PARSE_ERROR, f"not JSON: {error}")
    if type(value) is not list:
        return _message(value)
    if not value:
        return Malformed(INVALID_REQUEST, "a batch is empty")
    if len(value) > max_batch:
        return Malformed(INVALID_REQUEST, f"a batch has more than {max_batch} messages")
    return Batch(tuple(map(_message, value)))


def is_id(value: Any) -> bool:
    """Whether a value may be a request id or a progress token: a string or an integer, but no boolean."""
    return type(value) is str or type(value) is int


def _message(value: Any) -> Message | Malformed:
    if type(value) is not dict:
        return Malformed(INVALID_REQUEST, "a message is not an object")
    if "id" in value and not is_id(value["id"]) and not (value["id"] is None and "error" in value):
        return Malformed(INVALID_REQUEST, "an id is not a string or an integer")
    request_id = value.get("id")
    if value.get("jsonrpc") != "2.0":
        return Malformed(INVALID_REQUEST, 'jsonrpc is not "2.0"', request_id)
    if ("method" in value) + ("result" in value) + ("error" in value) != 1:
        return Malformed(INVALID_REQUEST, "a message has not exactly one of method, result and error", request_id)
    if "method" in value:
        return _call(value, request_id)
    if "error" in value:
        return _failure(value["error"], request_id)
    return _reply(value["result"], request_id)


def _call(value: dict[str, Any], request_id: RequestId | None) -> Request | Notification | Malformed:
    """A request or notification; parameters that are no object are invalid parameters, also where JSON-RPC itself
    would allow an array."""
    method, params = value["method"], value.get("params", _NOTHING)
    if type(method) is not str:
        return Malformed(INVALID_REQUEST, "method is not a string", request_id)
    if params is _NOTHING:
        params = {}
    elif type(params) is not dict:
        return Malformed(INVALID_PARAMS, "params is not an object", request_id)
    return Notification(method, params) if request_id is None else Request(request_id, method, params)


def _reply(result: Any, request_id: RequestId | None) -> Reply | Malformed:
    if request_id is None:
        return Malformed(INVALID_REQUEST, "a result has no id")
    if type(result) is not dict:
        return Malformed(INVALID_REQUEST, "result is not an object", request_id)
    return Reply(request_id, result)


def _failure(error: Any, request_id: RequestId | None) -> Failure | Malformed:
    """An error response; its id may be null, as JSON-RPC has it, or absent, as MCP has it."""
    if type(error) is not dict or type(error.get("code")) is not int or type(error.get("message")) is not str:
        return Malformed(INVALID_REQUEST, "error has no integer code or no string message", request_id)
    return Failure(request_id, ErrorObject(error["code"], error["message"], error.get("data")))


_NOTHING: Final = object()


def encode_reply(request_id: RequestId, result: Mapping[str, Any] | Raw) -> bytes:
    """A result response; a value that JSON cannot carry raises `NotJson`. A `Raw` goes out as it is."""
    return jsontext.dumps({"jsonrpc": "2.0", "id": request_id, "result": result})


def encode_failure(request_id: RequestId | None, code: int, message: str, data: Any = None) -> bytes:
    """An error response; an id that could not be read is left out.

    JSON-RPC would have it null, which no revision's schema allows: the modern and the latest legacy one make it
    optional, and the older ones, which demand an id, still speak of "an error response that has no id" over HTTP.
    """
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    named: dict[str, Any] = {"jsonrpc": "2.0"} if request_id is None else {"jsonrpc": "2.0", "id": request_id}
    return jsontext.dumps({**named, "error": error})


def encode_request(request_id: RequestId, method: str, params: Mapping[str, Any] | None = None) -> bytes:
    """A request; empty params are left out."""
    return jsontext.dumps(
        {"jsonrpc": "2.0", "id": request_id, "method": method, **({"params": params} if params else {})}
    )


def encode_notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    """A notification; empty params are left out, since some clients refuse them."""
    return jsontext.dumps({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})
