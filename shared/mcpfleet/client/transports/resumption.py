"""When a stream that broke off is asked for again, and from where (Streamable HTTP, "Resumability and Redelivery")."""

from typing import Final

from mcpfleet.protocol.sse import Event

RETRY_SECONDS: Final = 1.0
"""How long to wait if the server does not say."""
FLOOR_SECONDS: Final = 0.1
BUDGET_SECONDS: Final = 300.0
"""How long resuming one stream may take in all, from when it first broke off; what arrives begins it anew."""
MOST_FAILURES: Final = 2
"""How often in a row a stream is asked for in vain."""


class Resumption:
    """Where one stream would be taken up again; times are seconds of whatever clock the caller has."""

    def __init__(self) -> None:
        self.last_event_id: str | None = None
        self.retry = RETRY_SECONDS
        """How long the server wants to be left alone first."""
        self._failures = 0
        self._since: float | None = None

    def heard(self, event: Event) -> None:
        """Note what an event says of where to go on, and that the stream flows."""
        if event.id:
            self.last_event_id = event.id
        if event.retry_ms is not None:
            self.retry = max(FLOOR_SECONDS, event.retry_ms / 1000)
        self._failures = 0
        self._since = None

    def pause(self, now: float) -> float | None:
        """How long to wait before the stream is asked for again; None: it is not."""
        if self._since is None:
            self._since = now
        is_over = now + self.retry > self._since + BUDGET_SECONDS
        if self.last_event_id is None or self._failures >= MOST_FAILURES or is_over:
            return None
        self._failures += 1
        return self.retry
