"""The legacy calls that one process runs."""

import asyncio
from contextlib import suppress
from typing import NoReturn

from mcpfleet.errors import Unavailable
from mcpfleet.protocol.jsonrpc import Request
from mcpfleet.server.call import Call, Means
from mcpfleet.server.caller import Caller
from mcpfleet.server.delivery import server_stopped
from mcpfleet.server.sessions import Session


class Calls:
    """Starts calls, and keeps their tasks until they end; `run` it as a task of the process."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._running: dict[asyncio.Task[None], Call] = {}
        self._group = asyncio.TaskGroup()
        self._open = False
        self._ready = asyncio.Event()

    @property
    def running(self) -> int:
        """How many calls have not ended yet."""
        return len(self._running)

    async def run(self) -> NoReturn:
        """Keep the calls' tasks until cancelled."""
        async with self._group:
            self._open = True
            self._ready.set()
            try:
                await asyncio.Event().wait()
            finally:
                self._open = False
        raise AssertionError("an event that nobody sets was set")

    async def ready(self) -> None:
        """Return once calls can be started."""
        await self._ready.wait()

    def start(
        self,
        request: Request,
        caller: Caller,
        session: Session,
        *,
        may_stream: bool = True,
        may_hang_up: bool = False,
        held: bool = False,
    ) -> Call:
        """Begin to serve a request, whatever becomes of its connection; raises `Unavailable` once stopped.

        A call that is `held` opens its stream first, and is not run before `Call.go`.
        """
        if not self._open:
            raise Unavailable("this process takes no more calls")
        call = Call(self._means, request, caller, session, may_stream=may_stream, may_hang_up=may_hang_up, held=held)
        task = self._group.create_task(call.run())
        self._running[task] = call
        task.add_done_callback(self._forget)
        return call

    def stop(self) -> None:
        """Take no more calls, and end each that still runs with an error, at once."""
        self._open = False
        for call in [*self._running.values()]:
            call.revoke(server_stopped(call.request.id))

    async def ended(self, *, within: float) -> None:
        """Wait until no call runs, for so many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self._running:
                    await asyncio.wait(self._running)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task).forsake()
