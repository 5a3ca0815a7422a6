"""One request of a client, before an era has dressed it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcpfleet.protocol.jsonrpc import Notification

Hear = Callable[[Notification], Awaitable[None]]


async def _unheard(notification: Notification) -> None:
    """Drop it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is asked, and who hears what is told about it while it runs."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that mirror arguments; eras without such pass over them."""
    progress: bool = False
    """Whether the server is asked to report progress; then the token is the id of the request."""
    hear: Hear = _unheard

    def retried(self, **more: Any) -> "Ask":
        """The same once more, with further parameters, and without those of that name that are None."""
        params = {name: value for name, value in {**self.params, **more}.items() if value is not None}
        return replace(self, params=params)
