"""What was done under one load, and how long it took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """Everything that users did in one step; an error is any wrong or missing answer."""

    latencies: list[float] = field(default_factory=list)
    """Seconds, in the order of their ends."""
    errors: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Note how long the block takes, or what it raises."""
        began = time.perf_counter()
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever a user runs into is what is looked for
            self.errors.append(f"{type(error).__name__}: {error}"[:300])
        else:
            self.latencies.append(time.perf_counter() - began)

    def quantile(self, part: float) -> float:
        """The seconds that this part of all did not exceed; 0.0 if there was nothing."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def must(is_so: bool, otherwise: str) -> None:
    """Raise unless an answer is right."""
    if not is_so:
        raise ValueError(otherwise)
