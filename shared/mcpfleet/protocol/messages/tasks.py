"""Tasks as clients see them (the extension `io.modelcontextprotocol/tasks`)."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from msgspec import UNSET, Struct, UnsetType

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]

TERMINAL: Final[frozenset[Status]] = frozenset({"completed", "failed", "cancelled"})
"""What never changes any more ("Task Status")."""


class CreateTaskResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a client is told of a task in place of the result of its call ("Task Creation")."""

    task_id: str
    status: Status
    status_message: str | UnsetType = UNSET
    created_at: str
    """ISO 8601, in UTC, as `last_updated_at` is."""
    last_updated_at: str
    ttl_ms: int | None
    """From creation."""
    poll_interval_ms: int | UnsetType = UNSET


class DetailedTask(CreateTaskResult, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Likewise, with what its status comes with ("Task Polling")."""

    NOTIFICATION: ClassVar[str] = "notifications/tasks"

    input_requests: Mapping[str, Any] | UnsetType = UNSET
    """The questions that are open, by key."""
    result: Mapping[str, Any] | UnsetType = UNSET
    error: Mapping[str, Any] | UnsetType = UNSET
