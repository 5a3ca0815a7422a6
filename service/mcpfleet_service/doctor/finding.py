"""One thing that was looked at."""

from dataclasses import dataclass
from enum import Enum


class Grade(Enum):
    """How good it was found to be."""

    FINE = "ok"
    WARNING = "warning"
    """It works, and not as well as it could."""
    FAULT = "fault"
    """It does not work, or promises are void."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, what was found, and of what is not fine, how it is mended."""

    grade: Grade
    subject: str
    words: str

    def __str__(self) -> str:
        return f"{self.grade.value:<8} {self.subject:<12} {self.words}"


def fine(subject: str, words: str) -> Finding:
    """Nothing is to be done."""
    return Finding(Grade.FINE, subject, words)


def warning(subject: str, words: str) -> Finding:
    """Something had better be done."""
    return Finding(Grade.WARNING, subject, words)


def fault(subject: str, words: str) -> Finding:
    """Something must be done."""
    return Finding(Grade.FAULT, subject, words)
