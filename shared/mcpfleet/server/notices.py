"""What becomes of notifications: they are heeded in the background, since nobody waits for them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, NoReturn

from mcpfleet.errors import ProtocolError, ToolError
from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, Notification, encode_failure
from mcpfleet.protocol.revisions import Era
from mcpfleet.server import rootschange
from mcpfleet.server.around import Around
from mcpfleet.server.boundary import is_ours
from mcpfleet.server.caller import Caller
from mcpfleet.server.context import Context
from mcpfleet.server.failures import Failures
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.notification import HEED_SECONDS
from mcpfleet.server.outlet import Silent
from mcpfleet.server.peer import Answer
from mcpfleet.server.server import Server
from mcpfleet.server.threads import Threads

MAX_RUNNING: Final = 1000
"""How many notifications a process heeds at once; one more is refused."""
CROWDED: Final = Answer(
    503,
    encode_failure(None, INTERNAL_ERROR, "Too many notifications", {"reason": "too_many_notifications"}),
    headers=(("Retry-After", "1"),),
)

Heed = Callable[[Incoming, Context], Awaitable[Any]]

log = logging.getLogger("mcpfleet.notices")


class Notices:
    """Heeds the notifications of one process; `run` it as a task of the process."""

    def __init__(self, server: Server, threads: Threads, around: Around, failures: Failures) -> None:
        self._server = server
        self._threads = threads
        self._around = around
        self._failures = failures
        self._group = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()
        self._open = False

    async def run(self) -> NoReturn:
        """Keep the tasks of what is heeded until cancelled."""
        async with self._group:
            self._open = True
            try:
                await asyncio.Event().wait()
            finally:
                self._open = False
        raise AssertionError("an event that nobody sets was set")

    def take(self, notification: Notification, caller: Caller) -> bool:
        """Begin to heed a notification, if any function is for it; False if it was not taken, since too many are."""
        heed, timeout = self._heeding(notification, caller)
        if heed is None and not self._around.of(notification.method):
            return True
        if not self._open or len(self._running) >= MAX_RUNNING:
            log.warning("%d notifications are being heeded; another is refused", len(self._running))
            return False
        message = Incoming.of(notification, caller)
        task = self._group.create_task(self._heed(message, heed or _nobody, timeout))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return True

    def stop(self) -> None:
        """Take no more, and cancel what is still being heeded."""
        self._open = False
        for task in self._running:
            task.cancel()

    async def ended(self, *, within: float) -> None:
        """Wait until nothing is being heeded, for so many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self._running:
                    await asyncio.wait(self._running)

    def _heeding(self, notification: Notification, caller: Caller) -> tuple[Heed | None, float]:
        """The author's function for a notification, and how long it may take."""
        custom = self._server.registry.notifications.get(notification.method)
        if custom is not None:
            return lambda message, context: custom.call(message.params, context, self._threads), custom.timeout
        hook = self._server.roots_hook
        if hook is not None and notification.method == rootschange.METHOD and caller.revision.era is Era.LEGACY:
            return lambda _, context: rootschange.tell(hook, context), rootschange.HOOK_SECONDS
        return None, HEED_SECONDS

    async def _heed(self, message: Incoming, heed: Heed, timeout: float) -> None:
        context = self._around.context(message.caller, Silent())
        try:
            async with asyncio.timeout(timeout):
                await self._around.message(message, context, lambda given: heed(given, context))
        except (ProtocolError, ToolError) as error:
            log.warning("%s was refused: %s", message, error)
        except BaseException as error:  # the boundary of what authors wrote: no response could tell of it
            if not is_ours(error):
                raise
            self._failures.note(error, message)


async def _nobody(_message: Incoming, _context: Context) -> None:
    """Do nothing: only hooks wanted to know."""
