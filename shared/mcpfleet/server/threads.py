"""Synchronous functions run beside the event loop, in a bounded number of threads.

The event loop counts who runs and who waits; the threads only run. So a caller that gives up leaves no work behind, and
the queue between the two never holds more jobs than there are threads. The threads are daemons: a function that never
returns does not keep the process alive.
"""

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from mcpfleet.errors import Overloaded
from mcpfleet.server.places import PATIENCE, TAKEN, WAITING, Place, Places

LIMIT: Final = 40

T = TypeVar("T")
Job = Callable[[], None]


class Threads:
    """Runs up to `limit` functions at once; up to `waiting` more wait, each at most `patience` seconds.

    For use from one event loop. Beyond these bounds `run` raises `Overloaded`.
    """

    def __init__(self, limit: int = LIMIT, waiting: int = WAITING, patience: float = PATIENCE) -> None:
        self._places = Places(limit, waiting, patience)
        self._running = 0
        self._started = 0
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()

    async def run(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Call the function in a thread, in a copy of the current `contextvars` context, and return what it returns.

        Cancellation returns at once: a function that waits is not begun, one that runs goes on unheard and keeps its
        thread, and the place that its caller is in, until it ends.
        """
        await self._places.take()
        self._provide_thread()
        place = TAKEN.get()
        if place is not None:
            place.hold()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()

        def job() -> None:
            value, error = None, None
            try:
                value = context.run(function, *args, **kwargs)
            except BaseException as raised:  # noqa: BLE001 - the caller raises it again, on its own thread
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._finish, answer, value, error, place)

        self._running += 1
        self._jobs.put(job)
        return await answer

    def close(self) -> None:
        """Let every thread end after what it runs now; nothing may be run afterwards."""
        for _ in range(self._started):
            self._jobs.put(None)

    def _provide_thread(self) -> None:
        if self._started > self._running:
            return
        thread = threading.Thread(target=_work, args=(self._jobs,), name=f"mcpfleet-{self._started + 1}", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system gives no more threads
            self._places.leave()
            raise Overloaded from None
        self._started += 1

    def _finish(
        self, answer: "asyncio.Future[Any]", value: Any, error: BaseException | None, place: Place | None
    ) -> None:
        self._running -= 1
        self._places.leave()
        if place is not None:
            place.drop()
        if answer.cancelled():
            return
        if error is None:
            answer.set_result(value)
        elif isinstance(error, StopIteration | SystemExit | KeyboardInterrupt | asyncio.CancelledError):
            # A future refuses the first, and the others would end the event loop or pass for the caller's own.
            escaped = RuntimeError(f"the function raised {type(error).__name__}")
            escaped.__cause__ = error
            answer.set_exception(escaped)
        else:
            answer.set_exception(error)


def _work(jobs: "queue.SimpleQueue[Job | None]") -> None:
    while (job := jobs.get()) is not None:
        job()
