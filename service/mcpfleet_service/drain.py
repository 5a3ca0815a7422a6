"""Leaving in order: told to stop, a process first looks unready, then ends its streams, and its calls last."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Drain:
    """What becomes of the first signal to stop: `delay` seconds pass before `begin` is called and the server stops."""

    def __init__(self, begin: Callable[[], None], *, delay: float) -> None:
        self._begin = begin
        self._delay = delay
        self._server: dict[int, Any] = {}
        self.begun = False

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Stand before the web server's own signal handlers for the time of the block.

        A second signal, and an interrupt from a terminal, do not wait.
        """
        loop = asyncio.get_running_loop()

        def leave(number: int, frame: FrameType | None) -> None:
            wait = 0.0 if self.begun or number == signal.SIGINT else self._delay
            self.begun = True
            loop.call_soon_threadsafe(loop.call_later, wait, self._stop, number, frame)

        try:
            for number in SIGNALS:
                self._server[number] = signal.signal(number, leave)
        except ValueError:
            pass  # not the main thread: somebody else's server, whose signals are its own
        try:
            yield
        finally:
            for signalled, handler in self._server.items():
                signal.signal(signalled, handler)

    def give_up(self) -> None:
        """Let the web server stop at once, if it has begun to serve: this process can serve no more."""
        self.begun = True
        if self._server:
            self._stop(signal.SIGTERM, None)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._begin()
        if callable(self._server[number]):
            self._server[number](number, frame)
