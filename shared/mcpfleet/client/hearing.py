"""What is told about one request while it runs."""

import inspect
from collections.abc import Awaitable, Callable

import msgspec

from mcpfleet.client.desk import Desk
from mcpfleet.client.patience import Patience
from mcpfleet.protocol.jsonrpc import Notification
from mcpfleet.protocol.messages.notifications import Progress

OnProgress = Callable[[float, float | None, str | None], Awaitable[None] | None]
"""Hears how far a request has come, of how much in all, and in words."""


class Hearing:
    """Lets progress be heard by who waits for the request, and everything else by the client's handlers."""

    def __init__(self, desk: Desk, patience: Patience, on_progress: OnProgress | None) -> None:
        self._desk = desk
        self._patience = patience
        self._on_progress = on_progress
        self._last: float | None = None

    async def hear(self, notification: Notification) -> None:
        """Hear one; progress that does not grow is passed over, and shows no life ("Progress")."""
        if notification.method != Progress.METHOD:
            await self._desk.hear(notification)
            return
        try:
            told = msgspec.convert(notification.params, Progress)
        except msgspec.ValidationError:
            return
        if self._on_progress is None or (self._last is not None and told.progress <= self._last):
            return
        self._last = told.progress
        self._patience.extend()
        heard = self._on_progress(told.progress, told.total, told.message)
        if inspect.isawaitable(heard):
            await heard
