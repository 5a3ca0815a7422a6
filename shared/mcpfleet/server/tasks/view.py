"""A task as its client sees it."""

from datetime import UTC, datetime
from typing import Any

from mcpfleet.protocol.jsontext import loads
from mcpfleet.protocol.messages.tasks import CreateTaskResult, DetailedTask
from mcpfleet.server.tasks.record import MAX_DEPTH
from mcpfleet.server.tasks.store import Found


def handle(found: Found, *, poll: float) -> CreateTaskResult:
    """What is returned in place of the result of its call ("Task Creation"); `poll` is in seconds."""
    return CreateTaskResult(**_common(found, poll))


def detailed(found: Found, *, poll: float) -> DetailedTask:
    """All that can be told of it now ("Task Polling")."""
    record = found.record
    fields = _common(found, poll)
    if record.status == "input_required":
        fields["input_requests"] = record.questions
    elif record.result is not None:
        fields["result"] = loads(record.result, max_depth=MAX_DEPTH)
    elif record.error is not None:
        fields["error"] = loads(record.error, max_depth=MAX_DEPTH)
    return DetailedTask(**fields)


def _common(found: Found, poll: float) -> dict[str, Any]:
    record, progress = found.record, found.progress
    fields: dict[str, Any] = {
        "task_id": found.names.id,
        "status": record.status,
        "created_at": _stamp(record.created),
        "ttl_ms": round(record.ttl * 1000),
        "poll_interval_ms": max(1, round(poll * 1000)),
    }
    message, at = record.message, record.updated
    if progress is not None and not record.terminal:
        message, at = progress.message, max(at, progress.at)
    if message is not None:
        fields["status_message"] = message
    return fields | {"last_updated_at": _stamp(at)}


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
