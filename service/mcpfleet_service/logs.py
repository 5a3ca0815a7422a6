"""What processes write to standard error: everybody's words in one form, as text or as a JSON object a line."""

import json
import logging
import re
import traceback
from datetime import UTC, datetime
from typing import Any, Final

from uvicorn.config import LOGGING_CONFIG

from mcpfleet.protocol import tracecontext
from mcpfleet.server import tracing
from mcpfleet.server.incoming import Incoming
from mcpfleet_service.accounts import SERVED
from mcpfleet_service.settings import Settings

OURS: Final = ("mcpfleet", "mcpfleet_service", "mcpfleet_workers")
MAX_WORD: Final = 256
"""How much of what a client has named is repeated."""

_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


def configuration(settings: Settings) -> dict[str, Any]:
    """For `logging.config.dictConfig` and the web server: ours from `log_level` on, those of tools from WARNING."""
    level = settings.log_level.upper()
    default = (
        {"()": f"{__name__}.JsonLines"} if settings.log_format == "json" else LOGGING_CONFIG["formatters"]["default"]
    )
    return {
        **LOGGING_CONFIG,
        "formatters": {**LOGGING_CONFIG["formatters"], "default": default},
        "loggers": {**LOGGING_CONFIG["loggers"], **{name: {"level": level} for name in OURS}},
        "root": {"handlers": ["default"], "level": "WARNING"},
    }


class JsonLines:
    """Formats each record as one JSON object, with the request and the trace that it belongs to."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        found: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
            **_of_the_message(getattr(record, "incoming", None) or SERVED.get()),
        }
        for name, value in (("correlationId", "correlation_id"), ("audit", "audit"), ("taskId", "task_id")):
            if hasattr(record, value):
                found[name] = getattr(record, value)
        if record.exc_info and record.exc_info[1] is not None:
            found["exception"] = "".join(traceback.format_exception(record.exc_info[1]))
        return json.dumps(found, ensure_ascii=False, default=str)


def _of_the_message(message: Incoming | None) -> dict[str, Any]:
    """What is known of the message that is being served; of its params nothing but what it is for."""
    found: dict[str, Any] = {}
    if message is not None:
        told = {
            "method": message.method,
            "target": message.target,
            "requestId": message.request_id,
            "sessionId": message.session_id,
            "taskId": message.caller.task_id,
            "protocolVersion": message.protocol_version,
        }
        found = {name: _short(value) for name, value in told.items() if value is not None}
    trace = tracing.CURRENT.get() or ({} if message is None else tracecontext.carrier(message.meta))
    parent = _TRACEPARENT.fullmatch(trace.get(tracecontext.TRACEPARENT, ""))
    return found if parent is None else {**found, "traceId": parent[1], "spanId": parent[2]}


def _short(value: object) -> object:
    return value[:MAX_WORD] if isinstance(value, str) else value
