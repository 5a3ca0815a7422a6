"""How long to wait before trying again."""

from collections.abc import Callable
from random import SystemRandom
from typing import Final

_uniform: Final = SystemRandom().random


class Backoff:
    """Growing pauses with jitter, so that a fleet that lost one server does not return to it in step.

    Each pause is random between half a bound and the bound, which doubles from `first` to `most` seconds.
    """

    def __init__(self, first: float = 0.05, most: float = 2.0, *, random: Callable[[], float] = _uniform) -> None:
        self._first = first
        self._most = most
        self._random = random
        self._failures = 0

    def pause(self) -> float:
        """The seconds to wait after one more failure."""
        bound = min(self._most, self._first * 2.0 ** min(self._failures, 32))
        self._failures += 1
        return bound * (1 + self._random()) / 2

    def reset(self) -> None:
        """Begin with short pauses again, after a success."""
        self._failures = 0
