"""The processes of a small fleet, and what each is let do."""

import asyncio
import contextvars
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


@dataclass(eq=False)
class Process:
    """One process: what it was told so far decides all that it does. A sound one neither dies nor freezes."""

    name: str
    number: int
    sound: bool = False
    told: int = 0
    asked: int = 0
    minted: int = 0
    alive: bool = True
    asleep_since: float | None = None

    @property
    def moves(self) -> bool:
        return self.alive and self.asleep_since is None

    def hears(self, *news: object) -> None:
        self.told = hash((self.told, repr(news)))


CURRENT: Final[contextvars.ContextVar[Process]] = contextvars.ContextVar("process")
"""The process whose code runs."""


@dataclass(eq=False, slots=True)
class Work:
    """What a scenario lets a process do, and how it ended."""

    process: Process
    task: asyncio.Task[Any]
    arrival: asyncio.Future[None] | None
    may_arrive: Callable[[], bool]
    surely: bool
    enough: Callable[[], bool]

    @property
    def outcome(self) -> Any:
        """What it returned or raised; None while it runs, and when its process has died."""
        if not self.task.done() or not self.process.alive:
            return None
        return asyncio.CancelledError() if self.task.cancelled() else self.task.exception() or self.task.result()

    @property
    def over(self) -> bool:
        """Whether nothing more is to be expected of it."""
        return self.task.done() or not self.process.alive or self.arrival is not None or self.enough()
