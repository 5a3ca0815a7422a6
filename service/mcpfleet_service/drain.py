"""Leaving in order: told to stop, a process first looks unready, then ends its streams, and its calls last."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from mcpfleet.server.engine import Engine

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Drain:
    """What becomes of the first signal to stop: `delay` seconds pass before the web server hears of it."""

    def __init__(self, engine: Engine, *, delay: float) -> None:
        self._engine = engine
        self._delay = delay
        self.begun = False

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Stand before the web server's own signal handlers for the time of the block.

        A second signal, and an interrupt from a terminal, do not wait.
        """
        loop = asyncio.get_running_loop()
        before: dict[int, Any] = {}

        def leave(number: int, frame: FrameType | None) -> None:
            wait = 0.0 if self.begun or number == signal.SIGINT else self._delay
            self.begun = True
            loop.call_soon_threadsafe(loop.call_later, wait, stop, number, frame)

        def stop(number: int, frame: FrameType | None) -> None:
            self._engine.drain()
            if callable(before[number]):
                before[number](number, frame)

        try:
            for number in SIGNALS:
                before[number] = signal.signal(number, leave)
        except ValueError:
            pass  # not the main thread: somebody else's server, whose signals are its own
        try:
            yield
        finally:
            for signalled, handler in before.items():
                signal.signal(signalled, handler)
