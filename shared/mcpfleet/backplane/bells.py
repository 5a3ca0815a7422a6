"""The bells of one process: who waits for which log, and how they are woken.

A bell has no memory but one bit, so ringing is idempotent and never blocks. Wakes are hints; the reader looks.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class PolledBell:
    """A bell that also counts `poll` seconds of silence as a ring."""

    def __init__(self, poll: float) -> None:
        self._poll = poll
        self._ringing = asyncio.Event()

    def ring(self) -> None:
        """Let the present or next `rung` return at once."""
        self._ringing.set()

    async def rung(self) -> None:
        """Wait for a ring, at most `poll` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._poll):
                await self._ringing.wait()
        self._ringing.clear()


class Bells:
    """Every bell of this process, by the name of its log."""

    def __init__(self) -> None:
        self._by_log: dict[str, set[PolledBell]] = {}

    def __contains__(self, log: str) -> bool:
        return log in self._by_log

    def __iter__(self) -> Iterator[str]:
        """Yield the logs that somebody watches now."""
        return iter(tuple(self._by_log))

    @contextmanager
    def hung(self, log: str, poll: float) -> Iterator[PolledBell]:
        """A new bell, on the log's list until the block ends."""
        bell = PolledBell(poll)
        self._by_log.setdefault(log, set()).add(bell)
        try:
            yield bell
        finally:
            bells = self._by_log[log]
            bells.remove(bell)
            if not bells:
                del self._by_log[log]

    def ring(self, log: str) -> None:
        """Ring every bell of one log."""
        for bell in self._by_log.get(log, ()):
            bell.ring()
