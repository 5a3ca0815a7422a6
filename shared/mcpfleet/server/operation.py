"""One call of a function that an author wrote, ready to be made, whatever kind of thing was called."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcpfleet.protocol.wire import CacheHint, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What is called, with what, and how."""

    method: str
    """The JSON-RPC method that asked for it."""
    target: str
    """The name of the tool or prompt, or the URI."""
    arguments: Mapping[str, Any]
    """As they came."""
    work: Callable[[], Awaitable[Result | Mapping[str, Any]]]
    """Makes the call."""
    timeout: float | None = None
    """Seconds that it may take; None: no limit of its own."""
    limit: int | None = None
    """How many calls of this target one process runs at once; None: any number."""
    cache: CacheHint | None = None
    """How long the result stays fresh, where the method's results are cacheable."""
    output_schema: Mapping[str, Any] | None = None
    """The called tool's."""
