"""A small fleet that the search drives: real code, a real store in memory, and nothing that happens by itself.

Every process runs the product's own coroutines over a `MemoryBackplane`. Its verbs wait until the search lets them act,
each in one step, with the fate that the search chooses; so do its timers, its bells, and what breaks. What a process
does depends on nothing but what it has been told, so the store, the time and what each process was told so far are the
whole state of the world.
"""

import asyncio
import contextvars
import secrets
from asyncio.events import _set_running_loop
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar
from unittest import mock

from mcpfleet.backplane.base import Backplane, Bell
from mcpfleet.backplane.faults import Died, Fate
from mcpfleet.backplane.intercepted import Intercepted, Verb
from mcpfleet.backplane.leases import LEASE_SECONDS
from mcpfleet.backplane.memory import Contents, MemoryBackplane, MemoryStore
from mcpfleet.errors import BackplaneError, InDoubt, Unavailable
from tests.models.loop import Loop, at_once

_Result = TypeVar("_Result")

TICK: Final = LEASE_SECONDS / 3
PRIVATE: Final = "keepers/"
"""Cells that only one process ever looks at: when it does is nobody's concern."""

_WRITES: Final = frozenset({"put", "delete", "admit", "open", "append"})
_FATES: Final = (Fate.UNSENT, Fate.LOST, Fate.UNANSWERED, Fate.LATE)


class Choice(NamedTuple):
    """Something that can happen now; what is not `due` may also never happen."""

    label: str
    act: Callable[[], object]
    due: bool = True


@dataclass(eq=False)
class Process:
    """One process: what it was told so far decides all that it does."""

    name: str
    number: int
    sound: bool = False
    told: int = 0
    asked: int = 0
    minted: int = 0
    alive: bool = True
    awake: bool = True

    @property
    def moves(self) -> bool:
        return self.alive and self.awake

    def hears(self, *news: object) -> None:
        self.told = hash((self.told, repr(news)))


@dataclass(eq=False, slots=True)
class Work:
    """What a scenario lets a process do, and how it ended."""

    process: Process
    task: asyncio.Task[Any]
    arrival: asyncio.Future[None] | None
    may_arrive: Callable[[], bool]
    surely: bool
    enough: Callable[[], bool]

    @property
    def outcome(self) -> Any:
        """What it returned or raised; None while it runs, and when its process has died."""
        if not self.task.done() or not self.process.alive:
            return None
        return asyncio.CancelledError() if self.task.cancelled() else self.task.exception() or self.task.result()

    @property
    def over(self) -> bool:
        """Whether nothing more is to be expected of it."""
        return self.task.done() or not self.process.alive or self.arrival is not None or self.enough()


@dataclass(eq=False, slots=True)
class _Command:
    """A verb that waits for its turn."""

    process: Process
    number: int
    verb: Verb
    name: str
    act: Callable[[], Awaitable[Any]]
    reply: asyncio.Future[Any]

    @property
    def label(self) -> str:
        return f"{self.process.name}: {self.verb} {self.name} ({self.number})"


@dataclass(eq=False, slots=True)
class _Bell:
    """A bell that rings when the search lets it: there is news, or it has waited for `poll` seconds."""

    loop: Loop
    process: Process
    log: str
    poll: float
    news: bool = False
    since: float = 0.0
    ringing: asyncio.Future[None] | None = None

    @property
    def waits(self) -> bool:
        return self.process.moves and self.ringing is not None

    @property
    def is_due(self) -> bool:
        return self.waits and self.loop.now >= self.since + self.poll

    async def rung(self) -> None:
        self.since, self.ringing = self.loop.now, self.loop.create_future()
        try:
            await self.ringing
        finally:
            self.ringing = None
            self.news = False


class _Bells:
    """In the place of a store's bells: a ring wakes nobody by itself."""

    def __init__(self, loop: Loop) -> None:
        self.hanging: list[_Bell] = []
        self._loop = loop

    def __iter__(self) -> Iterator[str]:
        return iter({bell.log for bell in self.hanging})

    @contextmanager
    def hung(self, log: str, poll: float) -> Iterator[_Bell]:
        bell = _Bell(self._loop, _process.get(), log, poll)
        self.hanging.append(bell)
        try:
            yield bell
        finally:
            self.hanging.remove(bell)

    def ring(self, log: str) -> None:
        for bell in self.hanging:
            bell.news = bell.news or bell.log == log


_process: contextvars.ContextVar[Process] = contextvars.ContextVar("_process")


class World:
    """Processes, their store, and what can happen next.

    `ticks` says how much time may pass before the search ends, and `faults` how often which harm may be done: `doubt`
    (a command or its reply is lost, or late), `kill`, `freeze` (in the first tick, for longer than a lease), `cancel`,
    `deafen`, `outage` (from the first tick on), `wipe`, `failover`.
    """

    def __init__(self, *, ticks: int = 0, **faults: int) -> None:
        self.loop = Loop(TICK)  # type: ignore[abstract]  # it has what tasks use
        self.store = MemoryStore(clock=self.loop.time)
        self.bells = _Bells(self.loop)
        self.store.bells = self.bells  # type: ignore[assignment]  # as much of them as a store and its views use
        self.history_was_lost = False
        self.somebody_stopped = False
        self.trace: list[str] = []
        self._ticks = ticks
        self._faults = Counter(faults)
        self._away = False
        self._over = False
        self._nobody = Process("", 255)
        self._acting: _Command | None = None
        self._replica: Contents | None = None
        self._processes: list[Process] = []
        self._work: list[Work] = []
        self._commands: list[_Command] = []
        self._late: list[_Command] = []

    def process(self, name: str, *, sound: bool = False) -> Process:
        """One more process; a sound one neither dies nor freezes."""
        self._processes.append(Process(name, len(self._processes), sound))
        return self._processes[-1]

    def backplane(self, process: Process) -> Backplane:
        """The store as this process sees it."""
        return Intercepted(MemoryBackplane(self.store), _Held(self, process))

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
        context.run(_process.set, process)
        task = self.loop.create_task(begin(), context=context)
        self._work.append(Work(process, task, arrival, after or _always, surely, enough))
        return self._work[-1]

    @contextmanager
    def going(self) -> Iterator[None]:
        """Be the running loop, with marks that are the same in every run; at the end everything is given up."""
        with mock.patch.object(secrets, "token_hex", self._token):
            _set_running_loop(self.loop)
            try:
                yield
            finally:
                self._give_up()
                _set_running_loop(None)

    async def ask(self, process: Process, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]]) -> _Result:
        """Used by the views: wait until the verb has acted, or not, and return what its caller shall see."""
        if self._over:
            raise Died
        process.asked += 1
        reply: asyncio.Future[_Result] = self.loop.create_future()
        command = _Command(process, process.asked, verb, name, act, reply)
        self._commands.append(command)
        try:
            return await reply
        except asyncio.CancelledError:
            if command in self._commands:
                self._commands.remove(command)
                if verb in _WRITES:  # it may have been under way
                    self._late.append(command)
            raise

    def choices(self) -> list[Choice]:
        """All that can happen now, in an order that depends on nothing but the state."""
        found = [*self._steps(), *self._chances(), *self._harm()]
        if self._ticks and not any(choice.due for choice in found):
            found.append(Choice("time passes", self._pass_time))
        return found

    def take(self, choice: Choice) -> None:
        """Let it happen, and let whoever hears of it go on to its next wait."""
        self.trace.append(choice.label)
        choice.act()
        self.settle()

    def calm_down(self, most: int = 500) -> bool:
        """Let everybody go on, without further harm and for as long as it takes; False if some do not end."""
        self._faults.clear()
        self._return()
        for process in self._processes:
            self._wake(process)
        while not all(work.over for work in self._work):
            if len(self.trace) > most:
                return False
            steps = self._steps()
            self.take(steps[len(self.trace) % len(steps)] if steps else Choice("time passes", self._pass_time))
        return True

    def key(self) -> Hashable:
        """The whole state."""
        return (
            (
                self.loop.now,
                self._ticks,
                self._away,
                self.history_was_lost,
                self.somebody_stopped,
                tuple(sorted((+self._faults).items())),
            ),
            tuple((each.told, each.alive, each.awake) for each in self._processes),
            tuple(sorted(each.label for each in self._late)),
            tuple((each.process.number, each.news) for each in self.bells.hanging),
            _canonical(self.store.snapshot(), self.loop.now),
            self._replica and _canonical(self._replica, self.loop.now),
        )

    def _steps(self) -> list[Choice]:
        """What processes do that are awake."""
        found = [Choice(each.label, partial(self._act, each)) for each in self._commands if each.process.moves]
        return found + [
            Choice(f"{bell.process.name}: the bell of {bell.log}", partial(self._ring, bell))
            for bell in self.bells.hanging
            if bell.waits and bell.news
        ]

    def _chances(self) -> list[Choice]:
        """What may happen or not."""
        found = [Choice(f"late {each.label}", partial(self._land, each), False) for each in self._late]
        for number, work in enumerate(self._work):
            if work.arrival is not None and work.process.moves and work.may_arrive():
                found.append(
                    Choice(f"{work.process.name}: message {number} arrives", partial(self._arrive, work), work.surely)
                )
        found += [
            Choice(f"{each.name} wakes", partial(self._wake, each), False)
            for each in self._processes
            if each.alive and not each.awake and self.loop.now >= LEASE_SECONDS
        ]
        if self._away:
            found.append(Choice("the store is back", self._return, False))
        if self._replica is not None:
            found.append(Choice("the replica takes over", self._take_over, False))
        return found

    def _harm(self) -> list[Choice]:
        """What may break, as long as there is any left of its kind."""
        found: list[Choice] = []
        for kind in +self._faults:
            harms: Iterable[tuple[str, Callable[[], object]]] = getattr(self, f"_{kind}")()
            found += [Choice(label, partial(self._do_harm, kind, act), False) for label, act in harms]
        return found

    def _do_harm(self, kind: str, act: Callable[[], object]) -> None:
        self._faults[kind] -= 1
        act()

    def _doubt(self) -> Iterator[tuple[str, Callable[[], object]]]:
        for each in self._commands:
            if each.process.moves:
                for fate in _FATES if each.verb in _WRITES else _FATES[:1]:
                    yield f"{each.label}: {fate.value}", partial(self._act, each, fate)

    def _kill(self) -> Iterator[tuple[str, Callable[[], object]]]:
        for process in self._processes:
            if process.alive and not process.sound:
                yield f"{process.name} dies", partial(self._halt, process, "alive")

    def _freeze(self) -> Iterator[tuple[str, Callable[[], object]]]:
        for process in self._processes:
            if process.moves and not process.sound and not self.loop.now:
                yield f"{process.name} freezes", partial(self._halt, process, "awake")

    def _cancel(self) -> Iterator[tuple[str, Callable[[], object]]]:
        for number, work in enumerate(self._work):
            if work.process.moves and not work.over:
                yield f"{work.process.name}: work {number} is cancelled", partial(self._stop, work)

    def _deafen(self) -> Iterator[tuple[str, Callable[[], object]]]:
        for bell in self.bells.hanging:
            if bell.waits and bell.news:
                yield f"{bell.process.name} misses the bell of {bell.log}", partial(setattr, bell, "news", False)

    def _outage(self) -> Iterator[tuple[str, Callable[[], object]]]:
        if not self._away and not self.loop.now:
            yield "the store is away", partial(setattr, self, "_away", True)

    def _wipe(self) -> Iterator[tuple[str, Callable[[], object]]]:
        yield "the store is emptied", partial(self._lose, Contents())

    def _failover(self) -> Iterator[tuple[str, Callable[[], object]]]:
        if self._replica is None:
            yield "the replica falls behind", self._fall_behind

    def settle(self) -> None:
        """Let everybody go on to the next wait that concerns others too."""
        self.loop.run()
        while self._moves_alone():
            self.loop.run()

    def _moves_alone(self) -> bool:
        """Let a timer fire, a bell ring by the clock, or a command act that is private or fails; False if none can."""
        for timer in self.loop.due():
            if timer._context[_process].moves:  # type: ignore[attr-defined]  # a handle has the context of its task
                self.loop.fire(timer)
                return True
        for bell in self.bells.hanging:
            if bell.is_due and bell.ringing is not None:
                bell.ringing.set_result(None)
                return True
        for command in self._commands:
            if command.process.moves and (self._away or command.name.startswith(PRIVATE)):
                self._act(command)
                return True
        return False

    def _act(self, command: _Command, fate: Fate = Fate.DONE) -> None:
        self._commands.remove(command)
        if self._away or fate is Fate.UNSENT:
            return self._tell(command, Unavailable("the store is away"))
        if fate is Fate.LATE:
            self._late.append(command)
        said = self._done(command) if fate in (Fate.DONE, Fate.UNANSWERED) else None
        self._tell(command, said if fate is Fate.DONE else InDoubt(fate.name))
        return None

    def _done(self, command: _Command) -> Any:
        self._acting = command
        try:
            return at_once(command.act())
        except BackplaneError as error:
            return error
        finally:
            self._acting = None

    def _tell(self, command: _Command, said: Any) -> None:
        command.process.hears(command.label, self.loop.now, said)
        if isinstance(said, BackplaneError):
            command.reply.set_exception(said)
        else:
            command.reply.set_result(said)

    def _land(self, command: _Command) -> None:
        self._late.remove(command)
        self._done(command)

    def _ring(self, bell: _Bell) -> None:
        assert bell.ringing is not None
        own = [each for each in self.bells.hanging if each.process is bell.process]
        bell.process.hears("bell", own.index(bell), self.loop.now)
        bell.ringing.set_result(None)

    def _arrive(self, work: Work) -> None:
        assert work.arrival is not None
        work.process.hears("message", self._work.index(work), self.loop.now)
        work.arrival.set_result(None)
        work.arrival = None

    def _stop(self, work: Work) -> None:
        work.process.hears("cancel", self._work.index(work), self.loop.now)
        work.task.cancel()

    def _return(self) -> None:
        self._away = False

    def _halt(self, process: Process, how: str) -> None:
        setattr(process, how, False)
        self.somebody_stopped = True

    def _wake(self, process: Process) -> None:
        process.awake = True
        process.hears("wakes", self.loop.now)

    def _fall_behind(self) -> None:
        self._replica = self.store.snapshot()

    def _take_over(self) -> None:
        assert self._replica is not None
        self._lose(self._replica)
        self._replica = None

    def _lose(self, contents: Contents) -> None:
        self.history_was_lost = True
        self.store.restore(contents)

    def _pass_time(self) -> None:
        self._ticks -= 1
        self.loop.now += TICK
        for process in self._processes:
            if process.moves:
                process.hears("time", self.loop.now)

    def _token(self, size: int) -> str:
        if self._acting is not None:  # a birth mark, which its process did not make
            return f"{self._acting.process.number:02x}ff{self._acting.number:0{2 * size - 4}x}"
        process = _process.get(self._nobody)
        process.minted += 1
        return f"{process.number:02x}00{process.minted:0{2 * size - 4}x}"

    def _give_up(self) -> None:
        self._over = True
        while unended := [task for task in self.loop.tasks if not task.done()]:
            for task in unended:
                task.cancel()
            self.loop.run()


def _always() -> bool:
    return True


class _Held:
    """The interceptor of one process: every verb waits for the search."""

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        return await self._world.ask(self._process, verb, name, act)

    def bell(self, inner: Bell, /) -> Bell:
        return inner


def _canonical(contents: Contents, now: float) -> Hashable:
    """What is alive of a store's contents, in one order."""
    cells = sorted((name, each.value, each.deadline) for name, each in contents.cells.items() if each.deadline > now)
    logs = sorted(
        (name, str(each.start), str(each.end), each.deadline, tuple(each.entries.items()))
        for name, each in contents.logs.items()
        if each.deadline > now
    )
    return tuple(cells), tuple(logs)
