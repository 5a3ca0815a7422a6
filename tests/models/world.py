"""A small fleet that the search drives: real code, a real store in memory, and nothing that happens by itself.

Every process runs the product's own coroutines over a `MemoryBackplane`. Its verbs wait until the search lets them act,
each in one step, with the fate that the search chooses; so do its timers, its bells, and what breaks. What a process
does depends on nothing but what it has been told, so the store, the time and what each process was told so far are the
whole state of the world.
"""

import contextvars
import secrets
from asyncio.events import _set_running_loop
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final
from unittest import mock

from mcpfleet.backplane.base import Backplane
from mcpfleet.backplane.leases import LEASE_SECONDS
from tests.models.choice import Choice
from tests.models.harm import Harm
from tests.models.loop import Loop
from tests.models.process import CURRENT, Process, Work
from tests.models.store import Store

TICK: Final = LEASE_SECONDS / 3


class World:
    """Processes, their store, and what can happen next.

    `ticks` says how much time may pass before the search ends, and `faults` how often which `Harm` may be done.
    """

    def __init__(self, *, ticks: int = 0, **faults: int) -> None:
        self.loop = Loop(TICK)  # type: ignore[abstract]  # it has what tasks use
        self.store = Store(self.loop)
        self.trace: list[str] = []
        self._ticks = ticks
        self._processes: list[Process] = []
        self._work: list[Work] = []
        self._harm = Harm(self.loop, self.store, self._processes, self._work, faults)

    @property
    def history_was_lost(self) -> bool:
        """Whether the store has ever forgotten what it had acknowledged."""
        return self.store.history_was_lost

    @property
    def somebody_stopped(self) -> bool:
        """Whether a process has ever died or frozen."""
        return self._harm.somebody_stopped

    def process(self, name: str, *, sound: bool = False) -> Process:
        """One more process."""
        self._processes.append(Process(name, len(self._processes), sound))
        return self._processes[-1]

    def backplane(self, process: Process) -> Backplane:
        """The store as this process sees it."""
        return self.store.view(process)

    def start(
        self,
        process: Process,
        work: Callable[[], Awaitable[Any]],
        *,
        after: Callable[[], bool] | None = None,
        surely: bool = False,
        enough: Callable[[], bool] = lambda: False,
    ) -> Work:
        """Let the process do something, of which no end is expected once there is `enough` of it.

        With `after` it begins when a message from outside arrives: once that is true, and then at any time or never,
        or `surely` before time passes.
        """
        arrival = None if after is None else self.loop.create_future()

        async def begin() -> Any:
            if arrival is not None:
                await arrival
            return await work()

        context = contextvars.copy_context()
        context.run(CURRENT.set, process)
        task = self.loop.create_task(begin(), context=context)
        self._work.append(Work(process, task, arrival, after or _always, surely, enough))
        return self._work[-1]

    @contextmanager
    def going(self) -> Iterator[None]:
        """Be the running loop, with marks that are the same in every run; at the end everything is given up."""
        with mock.patch.object(secrets, "token_hex", self.store.token):
            _set_running_loop(self.loop)
            try:
                yield
            finally:
                self._give_up()
                _set_running_loop(None)

    def choices(self) -> list[Choice]:
        """All that can happen now, in an order that depends on nothing but the state."""
        found = [*self._steps(), *self._arrivals(), *self._harm.choices()]
        if self._ticks and not any(choice.due for choice in found):
            found.append(Choice("time passes", self._pass_time))
        return found

    def take(self, choice: Choice) -> None:
        """Let it happen, and let whoever hears of it go on to its next wait."""
        self.trace.append(choice.label)
        choice.act()
        self.settle()

    def settle(self) -> None:
        """Let everybody go on to the next wait that concerns others too."""
        self.loop.run()
        while self._fires() or self.store.bells.wake_one_by_the_clock() or self.store.act_on_one_alone():
            self.loop.run()

    def calm_down(self, most: int = 500) -> bool:
        """Let everybody go on, without further harm and for as long as it takes; False if some do not end."""
        self._harm.end()
        while not all(work.over for work in self._work):
            if len(self.trace) > most:
                return False
            steps = self._steps()
            self.take(steps[len(self.trace) % len(steps)] if steps else Choice("time passes", self._pass_time))
        return True

    def key(self) -> Hashable:
        """The whole state."""
        return (
            self.loop.now,
            self._ticks,
            self._harm.key(),
            self.store.key(),
            tuple((each.told, each.alive, each.asleep_since) for each in self._processes),
        )

    def _steps(self) -> list[Choice]:
        """What processes do that are awake."""
        store = self.store
        found = [Choice(each.label, partial(store.act, each)) for each in store.commands if each.process.moves]
        return found + [
            Choice(f"{bell.process.name}: the bell of {bell.log}", partial(store.bells.wake, bell))
            for bell in store.bells.hanging
            if bell.waits and bell.news
        ]

    def _arrivals(self) -> Iterator[Choice]:
        """What clients may send."""
        for number, work in enumerate(self._work):
            if work.arrival is not None and work.process.moves and work.may_arrive():
                label = f"{work.process.name}: message {number} arrives"
                yield Choice(label, partial(self._arrive, number, work), work.surely)

    def _fires(self) -> bool:
        """Let a timer fire; False if none can."""
        for timer in self.loop.due():
            if timer._context[CURRENT].moves:  # type: ignore[attr-defined]  # a handle has the context of its task
                self.loop.fire(timer)
                return True
        return False

    def _arrive(self, number: int, work: Work) -> None:
        assert work.arrival is not None
        work.process.hears("message", number, self.loop.now)
        work.arrival.set_result(None)
        work.arrival = None

    def _pass_time(self) -> None:
        self._ticks -= 1
        self.loop.now += TICK
        for process in self._processes:
            if process.moves:
                process.hears("time", self.loop.now)

    def _give_up(self) -> None:
        self.store.close()
        while unended := [task for task in self.loop.tasks if not task.done()]:
            for task in unended:
                task.cancel()
            self.loop.run()


def _always() -> bool:
    return True
