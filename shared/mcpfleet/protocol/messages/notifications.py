"""Notifications about a running request ("Progress"; "Logging"; "Cancellation")."""

from typing import Any, ClassVar, Final, Literal, get_args

from msgspec import Struct

from mcpfleet.protocol.jsonrpc import RequestId

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LOG_LEVELS: Final[tuple[str, ...]] = get_args(LogLevel)
"""Least severe first."""


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How far a request has come; `progress` grows with each."""

    METHOD: ClassVar[str] = "notifications/progress"

    progress_token: RequestId
    progress: float
    total: float | None = None
    message: str | None = None


class LogMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A line of the server's log; `data` is any JSON value."""

    METHOD: ClassVar[str] = "notifications/message"

    level: LogLevel
    logger: str | None = None
    data: Any


class Cancelled(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The sender no longer wants the answer to a request of its own."""

    METHOD: ClassVar[str] = "notifications/cancelled"

    request_id: RequestId
    reason: str | None = None
