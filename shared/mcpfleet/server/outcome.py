"""What serving a request came to, before it is dressed for any wire."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcpfleet.errors import ArgumentsRefused, ProtocolError, ToolError
from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from mcpfleet.protocol.questions import InputRequiredResult
from mcpfleet.protocol.wire import CacheHint, Result


@dataclass(frozen=True, slots=True)
class Success:
    """A result in the newest vocabulary, and what dressing it needs to know."""

    result: Result | Mapping[str, Any]
    cache: CacheHint | None = None
    """How long it may be cached, where the method's results are cacheable."""
    output_schema: Mapping[str, Any] | None = None
    """The called tool's."""
    input_required: InputRequiredResult | None = None
    """What the handler must be told before it has a result."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A JSON-RPC error; its words are public."""

    code: int
    message: str
    data: Any = None

    @classmethod
    def because(cls, error: ProtocolError | ToolError) -> "Refusal":
        """The error that an exception with public words stands for."""
        if isinstance(error, ProtocolError):
            return cls(error.code, error.message, error.data)
        return cls(INVALID_PARAMS if isinstance(error, ArgumentsRefused) else INTERNAL_ERROR, str(error))

    @classmethod
    def internal(cls, correlation_id: str) -> "Refusal":
        """The error for what is no client's fault; the log has it under this id."""
        return cls(INTERNAL_ERROR, "Internal error", {"correlationId": correlation_id})


Outcome = Success | Refusal

STOPPED: Final = Refusal(
    INTERNAL_ERROR,
    "The server stopped before this request was finished; its outcome is unknown.",
    {"reason": "server_stopped"},
)
"""What becomes of a request that its process could not finish in time."""
STORE_AWAY: Final = Refusal(
    INTERNAL_ERROR, "The server cannot reach its store; try again.", {"reason": "store_unavailable"}
)
"""What becomes of a request that needs the store while it cannot be asked."""
