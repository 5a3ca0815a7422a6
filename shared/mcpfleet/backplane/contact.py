"""For how long the store has answered this process without a break: whom it may call dead depends on that."""

import time
from collections.abc import Callable


class Contact:
    """Unbroken contact with the store, by this process's own monotonic clock.

    An outage lets every lease in the fleet run out, and a process that slept through it would not know. So contact is
    broken by any failed command, and by more than `patience` seconds without an answered one. As long as `patience`
    is less than what the most recently renewed lease has left, no outage that ends a lease passes unnoticed.
    """

    def __init__(self, *, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._clock = clock
        self._since: float | None = None
        self._proven = 0.0

    def answered(self, asked: float) -> None:
        """Note that everything asked at that moment has been answered by now."""
        now = self._clock()
        if self._since is None or now - self._proven > self._patience:
            self._since = now
        self._proven = asked

    def lost(self) -> None:
        """Note a failed command."""
        self._since = None

    def unbroken_for(self, seconds: float) -> bool:
        """Whether the store has answered throughout the last `seconds`."""
        now = self._clock()
        if self._since is None or now - self._proven > self._patience:
            return False
        return now - self._since >= seconds
