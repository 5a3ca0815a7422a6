"""A way to cancel a request from elsewhere than the task that waits for it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcpfleet.errors import Cancelled


class CancelToken:
    """Cancels every request that it was given to, now and later; for use from one event loop."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Task[Any]] = set()
        self._reason: str | None = None
        self._used = False

    @property
    def used(self) -> bool:
        """Whether `cancel` was called."""
        return self._used

    def cancel(self, reason: str | None = None) -> None:
        """Cancel them; each raises `Cancelled` where it is awaited. Only the first reason counts."""
        if not self._used:
            self._used, self._reason = True, reason
            for task in self._waiting:
                task.cancel()

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Raise `Cancelled` from the block once `cancel` is called."""
        task = asyncio.current_task()
        if self._used or task is None:
            raise Cancelled(self._reason)
        self._waiting.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if not self._used or task.uncancel():
                raise
            raise Cancelled(self._reason) from None
        finally:
            self._waiting.discard(task)
