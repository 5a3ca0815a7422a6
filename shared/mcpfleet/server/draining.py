"""Being told to stop: who waits for the world then hears of it, so that clients connect elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Draining:
    """Whether this process was told to stop, and whom to tell."""

    def __init__(self) -> None:
        self.begun = False
        self._told: set[Callable[[], None]] = set()

    def begin(self) -> None:
        """Tell everybody; a second time changes nothing."""
        if not self.begun:
            self.begun = True
            for tell in [*self._told]:
                tell()

    @contextmanager
    def telling(self, tell: Callable[[], None]) -> Iterator[None]:
        """For the time of the block, call `tell` when it begins; at once if it has begun."""
        self._told.add(tell)
        try:
            if self.begun:
                tell()
            yield
        finally:
            self._told.discard(tell)
