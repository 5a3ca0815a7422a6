"""Which era servers were found to speak, so that none is asked again and again."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from mcpfleet.protocol.revisions import Era

KNOWN_SECONDS: Final = 3600.0
MAX_ORIGINS: Final = 1000


class ErasKnown:
    """Remembers the era of each origin for a while, of so many origins; clients of one program may share one."""

    def __init__(self, *, seconds: float = KNOWN_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._known: OrderedDict[str, tuple[Era, float]] = OrderedDict()

    def recall(self, origin: str) -> Era | None:
        """The era of an origin, if it was found not too long ago."""
        era, until = self._known.get(origin, (None, 0.0))
        return era if self._clock() < until else None

    def learn(self, origin: str, era: Era) -> None:
        """Note what an origin was found to speak; nothing of one without a name."""
        if origin:
            self._known[origin] = (era, self._clock() + self._seconds)
            self._known.move_to_end(origin)
            if len(self._known) > MAX_ORIGINS:
                self._known.popitem(last=False)

    def forget(self, origin: str) -> None:
        """Ask an origin anew the next time."""
        self._known.pop(origin, None)
