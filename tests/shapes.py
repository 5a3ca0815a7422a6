"""Whether what the server says has the shape that its revision gives it, by a model of the protocol that is not ours.

The package mcp-types has the shapes of the latest revision of each era; what the older ones lack is a table here, and
the tasks of the modern one are in `taskshapes`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcp_types import methods
from mcp_types.jsonrpc import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from tests import taskshapes

Json = dict[str, Any]

OPAQUE: Final = frozenset(
    {
        *("_meta", "arguments", "data", "frontmatter", "inputSchema", "outputSchema", "requestedSchema"),
        *("structuredContent", "metadata"),
    }
)
"""Members whose inside is for authors to fill."""
_MODERN: Final = frozenset({"resultType", "ttlMs", "cacheScope", "inputRequests", "requestState", "supportedVersions"})
_SINCE_2025_11_25: Final = frozenset(
    {"icons", "execution", "serverInfo.description", "serverInfo.websiteUrl", "params.tools", "params.toolChoice"}
)
_SINCE_2025_06_18: Final = frozenset(
    {"title", "structuredContent", "outputSchema", "lastModified", "type=resource_link", "_meta"}
)
_SINCE_2025_03_26: Final = frozenset({"tools.annotations", "type=audio", "params.message", "completions"})
LACKS: Final[Mapping[str, frozenset[str]]] = {
    "2024-11-05": _MODERN | _SINCE_2025_11_25 | _SINCE_2025_06_18 | _SINCE_2025_03_26,
    "2025-03-26": _MODERN | _SINCE_2025_11_25 | _SINCE_2025_06_18,
    "2025-06-18": _MODERN | _SINCE_2025_11_25,
    "2025-11-25": _MODERN,
    "2026-07-28": frozenset({"params.elicitationId"}),
}
"""What no message of a revision has: a member, a member of some member, or a value of a member."""
ALLOWED: Final = frozenset({"annotations.title", "result._meta", "params._meta"})
"""What a revision has in this place, although it lacks the member elsewhere."""


def check(message: Json, date: str, asked: str | None = None) -> None:
    """Raise an error for a message that the revision does not have; `asked` is the method that a result is of."""
    if "method" in message:
        _check_said(message, date)
    elif "error" in message:
        assert message.get("id", "") is not None, f"an error has an id, or none, but not null: {message}"
        JSONRPCError.model_validate({"id": None, **message}, by_name=False, strict=True)
    else:
        JSONRPCResponse.model_validate(message, by_name=False, strict=True)
        _check_result(message["result"], date, asked)
    found = sorted(set(names(message)) & LACKS[date])
    assert not found, f"{date} has no {', '.join(found)}: {message}"


def _check_said(message: Json, date: str) -> None:
    method, params = message["method"], message.get("params")
    if "id" in message:
        JSONRPCRequest.model_validate(message, by_name=False, strict=True)
        methods.parse_server_request(method, date, params)
    elif (method, date) == ("notifications/tasks", taskshapes.MODERN):
        JSONRPCNotification.model_validate(message, by_name=False, strict=True)
        taskshapes.check_task(params or {})
    else:
        JSONRPCNotification.model_validate(message, by_name=False, strict=True)
        methods.parse_server_notification(method, date, params)


def _check_result(result: Any, date: str, asked: str | None) -> None:
    """Methods that are not the protocol's own have results of any shape."""
    assert isinstance(result, dict), result
    if asked == "tools/call" and date == taskshapes.MODERN and result.get("resultType") == taskshapes.TASK:
        return taskshapes.check_handle(result)
    assert result.get("resultType") != taskshapes.TASK, result
    if asked == "tasks/get":
        return taskshapes.check_task(result)
    if asked in ("tasks/update", "tasks/cancel"):
        return taskshapes.check_acknowledgement(result)
    if asked is not None and (asked, date) in methods.SERVER_RESULTS:
        methods.validate_server_result(asked, date, result)
    return None


def names(value: Any, around: str = "") -> Iterator[str]:
    """The names of all members, alone and after the one around them, and the values of `type`; opaque ones unopened."""
    if isinstance(value, list):
        for item in value:
            yield from names(item, around)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from () if f"{around}.{name}" in ALLOWED else (name, f"{around}.{name}")
            if name == "type":
                yield f"type={inner}"
            if name not in OPAQUE:
                yield from names(inner, name)
