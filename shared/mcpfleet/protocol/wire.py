"""Results in the newest words, dressed for a revision: what it demands is added, what it lacks is taken away."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from mcpfleet.protocol import jsontext, older
from mcpfleet.protocol.jsonrpc import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    MISSING_CLIENT_CAPABILITY,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
)
from mcpfleet.protocol.messages import (
    CallToolResult,
    CompleteResult,
    DiscoverResult,
    GetPromptResult,
    GetSkillResult,
    InitializeResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListSkillsResult,
    ListToolsResult,
    ReadDirectoryResult,
    ReadResourceResult,
)
from mcpfleet.protocol.messages.tasks import DetailedTask
from mcpfleet.protocol.meta import META, SERVER_INFO
from mcpfleet.protocol.revisions import LATEST, Era, Revision

Result = (
    CallToolResult
    | CompleteResult
    | DetailedTask
    | DiscoverResult
    | GetPromptResult
    | GetSkillResult
    | InitializeResult
    | ListPromptsResult
    | ListResourcesResult
    | ListResourceTemplatesResult
    | ListSkillsResult
    | ListToolsResult
    | ReadDirectoryResult
    | ReadResourceResult
)

COMPLETE: Final = "complete"
CACHEABLE: Final = frozenset(
    {
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "skills/list",
        "skills/get",
    }
)
"""The methods whose results carry a cache hint ("Caching", section "Cacheable Results"; the skills extension)."""


@dataclass(frozen=True, slots=True)
class CacheHint:
    """How long (seconds) a result stays fresh, and whether others may be given it ("Caching")."""

    ttl: float = 0.0
    scope: Literal["public", "private"] = "private"

    def __post_init__(self) -> None:
        if not math.isfinite(self.ttl) or self.scope not in ("public", "private"):
            raise ValueError("a cache hint has a finite ttl in seconds, and is public or private")


def dress(
    result: Result | Mapping[str, Any],
    revision: Revision,
    *,
    server_info: Mapping[str, Any],
    cache: CacheHint | None = None,
    output_schema: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The result as this revision has it; a mapping is taken as it is but for what every result has.

    `cache` is for the results that must carry a hint, if they have none of their own; `output_schema` is that of the
    called tool. An empty
    `server_info` leaves the stamp out. A value that has no JSON form raises `NotJson`, here or when it is encoded.
    """
    body: dict[str, Any] = jsontext.plain(result) if isinstance(result, msgspec.Struct) else dict(result)
    if revision is not LATEST:
        _take_away(result, body, revision, output_schema)
    if revision.result_type:
        body.setdefault("resultType", COMPLETE)
    if revision.cache_hints and cache is not None and body.get("resultType") == COMPLETE:
        body["ttlMs"] = max(0, body.get("ttlMs", round(cache.ttl * 1000)))
        body.setdefault("cacheScope", cache.scope)
    if revision.server_info_stamp and server_info:
        body[META] = {**(body.get(META) or {}), SERVER_INFO: server_info}
    return body


def _take_away(
    result: Result | Mapping[str, Any],
    body: dict[str, Any],
    revision: Revision,
    output_schema: Mapping[str, Any] | None,
) -> None:
    """Bring the body down to what the revision knows; of a mapping only the words that every result may have."""
    if not revision.result_type:
        body.pop("resultType", None)
    if not revision.cache_hints:
        body.pop("ttlMs", None)
        body.pop("cacheScope", None)
    if isinstance(result, CallToolResult):
        older.call(body, revision, output_schema)
    elif type(result) in _OLDER:
        _OLDER[type(result)](body, revision)


_OLDER: Final[Mapping[type, Callable[[dict[str, Any], Revision], None]]] = {
    GetPromptResult: older.messages,
    InitializeResult: older.initialize,
    ListPromptsResult: older.prompts,
    ListResourcesResult: older.resources,
    ListResourceTemplatesResult: older.templates,
    ListToolsResult: older.tools,
    ReadDirectoryResult: older.resources,
    ReadResourceResult: older.contents,
}


def renumber(code: int, revision: Revision) -> int:
    """The revision's own code for an error ("Error Codes").

    What only later revisions have a code for is an invalid request. Of the range that the modern era reserves for the
    protocol nothing goes out but what it defines: all else becomes an internal error.
    """
    if code == RESOURCE_NOT_FOUND:
        return revision.resource_not_found
    if revision.era is Era.LEGACY:
        return INVALID_REQUEST if code in _MODERN_CODES else code
    return INTERNAL_ERROR if code in _RESERVED_CODES and code not in _MODERN_CODES else code


_MODERN_CODES: Final = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})
_RESERVED_CODES: Final = range(-32099, -31999)
