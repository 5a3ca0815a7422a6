"""An event loop that the search drives: nothing moves by itself, and time passes only when told."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Loop(asyncio.AbstractEventLoop):
    """As much of an event loop as tasks, task groups, events and timeouts use.

    Random jitter must not decide what comes first, so a timer counts from the next tick on, and of those that are due
    the oldest is first.
    """

    def __init__(self, tick: float) -> None:
        self.now = 0.0
        self.timers: list[asyncio.TimerHandle] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self._tick = tick
        self._ready: deque[asyncio.Handle] = deque()

    def run(self) -> None:
        """Run whatever is ready, and what that makes ready, until nothing is."""
        while self._ready:
            handle = self._ready.popleft()
            if not handle.cancelled():
                handle._run()

    def due(self) -> list[asyncio.TimerHandle]:
        """The timers whose time has come."""
        self.timers = [timer for timer in self.timers if not timer.cancelled()]
        return [timer for timer in self.timers if timer.when() <= self.now]

    def fire(self, timer: asyncio.TimerHandle) -> None:
        """Let a timer's callback be called."""
        self.timers.remove(timer)
        self._ready.append(timer)

    def time(self) -> float:
        return self.now

    def get_debug(self) -> bool:
        return False

    def call_soon(  # type: ignore[override]  # the types of the arguments do not matter here
        self, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]  # likewise
        self, delay: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]  # likewise
        self, when: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(-(-when // self._tick) * self._tick, callback, args, self, context)
        self.timers.append(timer)
        return timer

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, _Result] | Generator[Any, None, _Result],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[_Result]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self.tasks.append(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """What is lost with a process that died is of no interest."""

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass


def at_once(work: Awaitable[_Result]) -> _Result:
    """The result of work that waits for nobody."""
    steps = work.__await__()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # which is what the end of a coroutine carries
