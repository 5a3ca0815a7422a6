"""Bells that ring when the search lets them."""

import asyncio
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.models.loop import Loop
from tests.models.process import CURRENT, Process


@dataclass(eq=False, slots=True)
class HeldBell:
    """A bell that may ring once there is news, and does when it has waited for `poll` seconds."""

    loop: Loop
    process: Process
    log: str
    poll: float
    news: bool = False
    since: float = 0.0
    ringing: asyncio.Future[None] | None = None

    @property
    def waits(self) -> bool:
        return self.process.moves and self.ringing is not None

    @property
    def is_due(self) -> bool:
        return self.waits and self.loop.now >= self.since + self.poll

    async def rung(self) -> None:
        self.since, self.ringing = self.loop.now, self.loop.create_future()
        try:
            await self.ringing
        finally:
            self.ringing = None
            self.news = False


class HeldBells:
    """In the place of a store's bells: a ring wakes nobody by itself."""

    def __init__(self, loop: Loop) -> None:
        self.hanging: list[HeldBell] = []
        self._loop = loop

    def __iter__(self) -> Iterator[str]:
        return iter({bell.log for bell in self.hanging})

    @contextmanager
    def hung(self, log: str, poll: float) -> Iterator[HeldBell]:
        bell = HeldBell(self._loop, CURRENT.get(), log, poll)
        self.hanging.append(bell)
        try:
            yield bell
        finally:
            self.hanging.remove(bell)

    def ring(self, log: str) -> None:
        for bell in self.hanging:
            bell.news = bell.news or bell.log == log

    def wake(self, bell: HeldBell) -> None:
        """Let a bell ring, of which its process takes note."""
        assert bell.ringing is not None
        own = [each for each in self.hanging if each.process is bell.process]
        bell.process.hears("bell", own.index(bell), self._loop.now)
        bell.ringing.set_result(None)

    def wake_one_by_the_clock(self) -> bool:
        """Let a bell ring that has waited for long enough; False if there is none."""
        for bell in self.hanging:
            if bell.is_due and bell.ringing is not None:
                bell.ringing.set_result(None)
                return True
        return False

    def key(self) -> Hashable:
        return tuple((each.process.number, each.news) for each in self.hanging)
