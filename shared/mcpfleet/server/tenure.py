"""Which of the fleet's events one connection delivers, by the order in which connections entered the session's log.

Each connection enters a `Holder` that names the offset in the events log from which on it delivers. An earlier
connection of another stream delivers up to that offset and is silent from then on; an earlier one of the same stream is
over, since its client has come back. So every event is delivered on one stream, and none falls between two. A resumed
stream also passes over what was delivered on another one while it was silent.
"""

from typing import Final

from mcpfleet.server.signals import Holder

MAX_NEWER: Final = 3
"""How many newer streams a silent one sees come before it is over: four of a session are open at most."""


class Tenure:
    """One connection's turn; fed with every `Holder` of the log after the place where its stream was left."""

    def __init__(self, mine: Holder) -> None:
        self.held = False
        """Whether its own entry was read, from which on it may deliver."""
        self.over = False
        """Whether another connection has taken its place for good."""
        self._mine = mine
        self._silent_after: int | None = None
        self._passed_over: list[tuple[int, int]] = []
        self._newer: set[str] = set()

    @property
    def silent(self) -> bool:
        """Whether a newer stream delivers what comes."""
        return self._silent_after is not None

    def heed(self, holder: Holder) -> None:
        """Take note of the log's next entry."""
        if holder.stream != self._mine.stream:
            if self._silent_after is None:
                self._silent_after = holder.events
            if self.held:
                self._newer.add(holder.stream)
                self.over = self.over or len(self._newer) > MAX_NEWER
            return
        if self.held:
            self.over = True
            return
        if self._silent_after is not None:
            self._passed_over.append((self._silent_after, holder.events))
            self._silent_after = None
        self.held = holder == self._mine

    def delivers(self, offset: int) -> bool:
        """Whether the event at this offset is this connection's to deliver."""
        if self._silent_after is not None and offset > self._silent_after:
            return False
        return not any(after < offset <= until for after, until in self._passed_over)

    def begin_again(self) -> None:
        """Forget offsets: the events log has a new history, to which they mean nothing."""
        self._passed_over.clear()
        if self._silent_after is not None:
            self._silent_after = -1
