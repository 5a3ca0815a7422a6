"""The five ways in which a fleet may break its promises."""

from dataclasses import dataclass
from enum import Enum


class Sin(Enum):
    """What no client may ever see."""

    LOST = "lost"
    """Acknowledged, and neither delivered nor reported as lost; or reported as lost without a cause."""
    DUPLICATED = "duplicated"
    DISORDERED = "disordered"
    """Out of its turn, or in another's place."""
    HUNG = "hung"
    """Not ended in time, or at work although nobody waits for it."""
    LEAKED = "leaked"
    """Shown to another principal, or taken from one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken promise."""

    sin: Sin
    what: str

    def __str__(self) -> str:
        return f"{self.sin.value}: {self.what}"
