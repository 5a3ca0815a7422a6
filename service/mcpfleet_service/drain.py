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
        self._loop: asyncio.AbstractEventLoop | None = None
        self.begun = False

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Stand before the web server's own signal handlers for the time of the block.

        A second signal, and an interrupt from a terminal, do not wait.
        """
        self._loop = asyncio.get_running_loop()
        try:
            for number in SIGNALS:
                self._server[number] = signal.signal(number, self._leave)
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

    def _leave(self, number: int, frame: FrameType | None) -> None:
        wait = 0.0 if self.begun or number == signal.SIGINT else self._delay
        self.begun = True
        handler = self._server[number]
        if isinstance(getattr(handler, "__self__", None), Drain):
            # Another application in the same process: it waits at the same time, and stops the server.
            handler(number, frame)
            self._soon(wait, self._begin)
        else:
            self._soon(wait, self._stop, number, frame)

    def _soon(self, wait: float, act: Callable[..., None], *args: Any) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.call_later, wait, act, *args)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._begin()
        if callable(self._server[number]):
            self._server[number](number, frame)
