"""Every fault a backplane's users must bear, handed out on demand: for tests of a backend, and of what is built on one.

`Stepped` holds each verb before and after it acts, so that a test chooses the order of things, or goes through all
orders with `interleavings`. `Doubtful` loses commands and replies. `Rollback` returns the store to an earlier state, as
a failover does. Each has `view`, which puts it in front of a backplane; several views of one stand for processes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from random import Random
from typing import Any, Final, Generic, Literal, TypeVar

from mcpfleet.backplane.base import Backplane, Bell
from mcpfleet.backplane.intercepted import Intercepted, Verb
from mcpfleet.backplane.storecontrol import StoreControl
from mcpfleet.errors import BackplaneError, InDoubt, Unavailable

_Result = TypeVar("_Result")
_State = TypeVar("_State")

TURNS: Final = 25
"""How many turns of the event loop an actor has, after a step, to come to its next one."""

PATIENCE: Final = 10.0
"""After so many seconds without a step that could be taken, the actors are stuck."""

MOST_STEPS: Final = 2000
"""After so many steps the actors are stuck too: they poll for what nobody will do."""


class Died(BaseException):
    """Raised out of every verb of a view that was killed; no `except Exception` survives it."""


class Stuck(AssertionError):
    """Some actors have not ended, and nothing that can still happen would end them."""


class Stop:
    """A verb held before or after it acts, or a bell held before it rings, until `go` or `die`."""

    def __init__(self, view: "_SteppedView", what: str, moment: Literal["before", "after"], heard: int = -1) -> None:
        self.view = view
        self.what = what
        self.moment = moment
        self.heard = heard
        self._gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def go(self) -> None:
        """Let the verb act, or let its caller have the result."""
        self._gate.set_result(None)

    def die(self) -> None:
        """Kill the process: this verb and every later one of its view raise `Died`."""
        self.view.dead = True
        self._gate.set_exception(Died())

    async def passed(self) -> None:
        """Wait for the decision."""
        await self._gate

    def __str__(self) -> str:
        return f"{self.moment} {self.what} of view {self.view.number}"


class Stepped:
    """Holds the verbs of its views and lets them go one by one: in the order that `choose` says, or by hand.

    `choose` is given the number of possible next steps, always in the same order, and picks one; by default the first.
    `trace` lists the steps taken, for the message of a failed assertion.
    """

    def __init__(self, choose: Callable[[int], int] = lambda _: 0) -> None:
        self.trace: list[str] = []
        self.stops: list[Stop] = []
        self.acting = 0
        self.news = 0
        self.changed = asyncio.Event()
        self._choose = choose
        self._views = 0

    def view(self, inner: Backplane, *, mortal: bool = False) -> Backplane:
        """Return the backplane of one more process; a mortal one may also die after each of its verbs."""
        self._views += 1
        return Intercepted(inner, _SteppedView(self, self._views, mortal=mortal))

    async def run(self, *actors: Coroutine[Any, Any, object]) -> list[Any]:
        """Run the actors to their ends; return what each returned, or the exception it raised."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._outcome(actor)) for actor in actors]
            while not await self._quiet(lambda: all(task.done() for task in tasks)):
                self._step()
        return [task.result() for task in tasks]

    async def held(self) -> Sequence[Stop]:
        """For steps by hand: wait until something is held and nothing moves by itself, and return what is held."""
        await self._quiet(lambda: False)
        return tuple(self.stops)

    async def hold(self, stop: Stop) -> None:
        """Used by the views: wait at a stop."""
        self.stops.append(stop)
        self.changed.set()
        try:
            await stop.passed()
        finally:
            self.stops.remove(stop)

    async def _outcome(self, actor: Coroutine[Any, Any, object]) -> object:
        try:
            return await actor
        except (Exception, Died) as error:  # noqa: BLE001 - an actor's failure is a result for the test to judge
            return error
        finally:
            self.changed.set()

    async def _quiet(self, done: Callable[[], bool]) -> bool:
        """Wait until only a step can go on, and return False, or until all is done, and return True."""
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    for _ in range(TURNS):
                        await asyncio.sleep(0)
                    if not self.acting and (self.stops or done()):
                        return not self.stops
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            raise Stuck(str(self)) from None

    def _step(self) -> None:
        if len(self.trace) >= MOST_STEPS:
            raise Stuck(str(self))
        awake = [stop for stop in self.stops if stop.heard < self.news]
        choices = [(stop, stop.go) for stop in awake or self.stops]  # with nothing else to do, bells ring by `poll`
        choices += [(stop, stop.die) for stop in self.stops if stop.view.mortal and stop.moment == "after"]
        stop, decide = choices[self._choose(len(choices))]
        self.trace.append(f"{decide.__name__} {stop}")
        decide()

    def __str__(self) -> str:
        return "; ".join(self.trace)


class _SteppedView:
    """The interceptor of one process."""

    def __init__(self, steps: Stepped, number: int, *, mortal: bool) -> None:
        self.steps = steps
        self.number = number
        self.mortal = mortal
        self.dead = False

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        what = f"{verb}({name})"
        await self._hold(Stop(self, what, "before"))
        try:
            result = await self._act(verb, act)
        except BackplaneError:
            await self._hold(Stop(self, what, "after"))
            raise
        await self._hold(Stop(self, what, "after"))
        return result

    def bell(self, inner: Bell, /) -> Bell:
        return _SteppedBell(self)

    async def ring(self, heard: int) -> int:
        await self._hold(Stop(self, "a bell", "before", heard))
        return self.steps.news

    async def _hold(self, stop: Stop) -> None:
        if self.dead:
            raise Died
        await self.steps.hold(stop)

    async def _act(self, verb: Verb, act: Callable[[], Awaitable[_Result]]) -> _Result:
        self.steps.acting += 1
        try:
            return await act()
        finally:
            self.steps.acting -= 1
            self.steps.news += verb in ("append", "delete", "commit")
            self.steps.changed.set()


class _SteppedBell:
    """Rings when its turn comes, after news if there are any, so that no real time passes."""

    def __init__(self, view: _SteppedView) -> None:
        self._view = view
        self._heard = view.steps.news

    async def rung(self) -> None:
        self._heard = await self._view.ring(self._heard)


def interleavings(most: int = 50_000) -> Iterator[Stepped]:
    """Yield a `Stepped` for every order in which the steps of the same actors can happen.

    The body of the loop builds everything anew, runs the actors with `Stepped.run` and judges; what it does must depend
    on nothing but the order. More than `most` orders are an error, since the rest would go unseen.
    """
    path: list[int] = []
    for _ in range(most):
        taken: list[tuple[int, int]] = []

        def choose(count: int, path: Sequence[int] = path, taken: list[tuple[int, int]] = taken) -> int:
            choice = path[len(taken)] if len(taken) < len(path) else 0
            taken.append((choice, count))
            return choice

        yield Stepped(choose)
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return
        path = [choice for choice, _ in taken[:-1]] + [taken[-1][0] + 1]
    raise AssertionError(f"there are more than {most} orders")


def shuffles(seed: int, times: int) -> Iterator[Stepped]:
    """Yield a `Stepped` for so many random orders, the same for the same seed: where there are too many to try all."""
    for number in range(times):
        yield Stepped(Random(f"{seed}/{number}").randrange)  # noqa: S311 - repeatable, not secret


class Fate(Enum):
    """What becomes of one verb."""

    DONE = "done"
    UNSENT = "nothing was sent: Unavailable"
    LOST = "the command was lost on its way: InDoubt, and it never happens"
    UNANSWERED = "it happened and the reply was lost: InDoubt"
    LATE = "InDoubt, and it happens when `deliver` is called"


class Doubtful:
    """Gives each verb of its views, in turn, the next fate; when there are no more, every verb is done."""

    def __init__(self, fates: Iterable[Fate] = ()) -> None:
        self._fates = iter(fates)
        self._late: list[Callable[[], Awaitable[object]]] = []

    def view(self, inner: Backplane) -> Backplane:
        """Return the backplane of one process."""
        return Intercepted(inner, self)

    async def deliver(self) -> None:
        """Let what is late happen now, in order; nobody hears the replies."""
        late, self._late = self._late, []
        for act in late:
            with suppress(BackplaneError):
                await act()

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        """See `Interceptor.verb`."""
        fate = next(self._fates, Fate.DONE)
        if fate is Fate.DONE:
            return await act()
        if fate is Fate.UNSENT:
            raise Unavailable(f"{verb}({name}): {fate.value}")
        if fate is Fate.UNANSWERED:
            with suppress(BackplaneError):  # a refusal is a reply too
                await act()
        if fate is Fate.LATE:
            self._late.append(act)
        raise InDoubt(f"{verb}({name}): {fate.value}")

    def bell(self, inner: Bell, /) -> Bell:
        """See `Interceptor.bell`."""
        return inner


class Rollback(Generic[_State]):
    """Remembers the store before each verb that may write, and returns it to any of these moments.

    `moments` names them, oldest first. A reader, a writer or a lease from after the moment then knows of a history that
    never was: as after a failover to a replica that lacked the last writes.
    """

    def __init__(self, store: StoreControl[_State]) -> None:
        self.moments: list[str] = []
        self._store = store
        self._states: list[_State] = []

    def view(self, inner: Backplane) -> Backplane:
        """Return the backplane of one process."""
        return Intercepted(inner, self)

    async def back(self, moment: int = -1) -> None:
        """Return the store to what it was just before the verb `moments[moment]`."""
        await self._store.restore(self._states[moment])

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        """See `Interceptor.verb`."""
        if verb not in ("read", "settle"):
            self._states.append(await self._store.save())
            self.moments.append(f"{verb}({name})")
        return await act()

    def bell(self, inner: Bell, /) -> Bell:
        """See `Interceptor.bell`."""
        return inner
