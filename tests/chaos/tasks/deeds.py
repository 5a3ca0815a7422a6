"""What the runs of tasks have really done, counted outside of the fleet: lines at the end of one file.

One line is one write to a file opened for appending, so lines of all processes are whole, and stand in the order in
which they were written.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILE: Final = "CHAOS_DEEDS"
"""The variable that names the file."""

BEGUN: Final = "begun"
"""A run has begun; with the id of its task."""
ENDED: Final = "ended"
"""A run is about to return."""
DID: Final = "did"
"""The work of a step was done; with the step and what it came to."""
STORED: Final = "stored"
"""A step has returned: what it came to is known from now on; with both, too."""


@dataclass(frozen=True, slots=True)
class Deed:
    """One line: a run of the task of this tag has done something."""

    tag: str
    run: str
    what: str
    more: str = ""

    @property
    def step(self) -> tuple[str, str]:
        """A step, and what it came to."""
        name, _, value = self.more.partition("=")
        return name, value


class Writer:
    """The end of the file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)

    def note(self, deed: Deed) -> None:
        """Add a line."""
        os.write(self._file, f"{deed.tag} {deed.run} {deed.what} {deed.more}\n".encode())


def read(path: Path) -> Sequence[Deed]:
    """All lines so far, in order."""
    return [Deed(*line.split(" ", 3)) for line in path.read_text().splitlines()] if path.exists() else []
