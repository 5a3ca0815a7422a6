"""A backplane beside its reference, for hypothesis to choose what both are asked and what goes wrong."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    precondition,
    rule,
)

from mcpfleet.backplane.base import ABSENT, ANYTHING, EMPTY, Bell, Plan, Position, Put, Remove, Taken, Unplan
from mcpfleet.backplane.faults import Doubtful, Fate
from mcpfleet.errors import BackplaneError, InDoubt, LogMoved, Unavailable
from tests.backplane.conftest import Pair, answered
from tests.backplane.reference import Reference, State

CELL: Final = "s/cell"
LOG: Final = "t/log"
POOL: Final = "u/pool"
AGENDA: Final = "s/agenda"
"""One of each is enough, since but for `commit` no verb concerns two; in a Cluster they may be on three masters."""

VALUES: Final = st.sampled_from([b"", b"1"])
LIVES: Final = st.sampled_from([100.0, 1000.0])
SPANS: Final = st.sampled_from([70.0, 70.0, 70.0, 700.0])
"""No sum of these is within ten seconds of a life, or of half of one, however long the test itself takes."""
DELAYS: Final = st.sampled_from([0.0, 100.0, 1000.0])
SLACK: Final = 10.0
FEW: Final = st.sampled_from([1, 2, 100])
VIEWS: Final = st.sampled_from([0, 1])
FATES: Final = st.sampled_from([fate for fate in Fate if fate is not Fate.DONE])
END: Final = object()
"""Stands for wherever the log ends."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Two processes with one store, and what else can be done to the store and to the connections for bells."""

    pair: Pair
    faults: tuple[Callable[[], object], ...] = ()


@dataclass(slots=True)
class Listener:
    """A bell that is watched, and how much has happened that it has told of."""

    name: str
    bell: Bell
    heard: int


Result = TypeVar("Result")


class Loop:
    """An event loop in this thread, which moves only while something is asked of it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._held: list[tuple[asyncio.Event, asyncio.Task[None]]] = []

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._loop.run_until_complete(work)

    def enter(self, held: AbstractAsyncContextManager[Result]) -> Result:
        """Enter it, in a task of its own, which leaves it when the loop is closed."""
        entered: asyncio.Future[Result] = self._loop.create_future()
        leave = asyncio.Event()

        async def hold() -> None:
            async with held as value:
                entered.set_result(value)
                await leave.wait()

        task = self._loop.create_task(hold())
        self._held.append((leave, task))
        self.run(_first_of(entered, task))
        return entered.result()

    def close(self) -> None:
        """Leave what was entered, the last first."""
        for leave, task in reversed(self._held):
            leave.set()
            self._loop.run_until_complete(task)
        self._loop.close()


Subjects: TypeAlias = Callable[[], AbstractAsyncContextManager[Subject]]


class Machine(RuleBasedStateMachine):
    """Every verb goes to the subject, perhaps through a fault, and to the reference, which knows of the fault."""

    positions = Bundle[Position]("positions")
    states = Bundle[tuple[Any, State]]("states")
    listeners = Bundle[Listener]("listeners")

    def __init__(self, subject: Subjects) -> None:
        super().__init__()
        self.loop = Loop()
        self.subject = self.loop.enter(subject())
        self.pair = self.subject.pair
        self.fate = Fate.DONE
        self.doubtful = Doubtful(iter(lambda: self.fate, None))
        self.views = [self.doubtful.view(self.pair.here), self.doubtful.view(self.pair.there)]
        self.reference = Reference()
        self.known: list[Position] = []
        self.late: list[Callable[[], object]] = []
        self.appends = 0
        self.last: tuple[bytes, dict[str, Any]] | None = None
        self.empty = self.save()
        self.agree(0, "open", LOG, ttl=1000.0)

    def teardown(self) -> None:
        self.loop.close()

    @rule(view=VIEWS, ttl=st.none() | LIVES)
    def get(self, view: int, ttl: float | None) -> None:
        self.agree(view, "get", CELL, ttl=ttl)

    @rule(view=VIEWS, value=VALUES, ttl=LIVES, expect=st.sampled_from([ANYTHING, ABSENT]) | VALUES)
    def put(self, view: int, value: bytes, ttl: float, expect: Any) -> None:
        self.agree(view, "put", CELL, value, ttl=ttl, expect=expect)

    @rule(view=VIEWS, expect=st.sampled_from([ANYTHING, ABSENT]) | VALUES)
    def delete_the_cell(self, view: int, expect: Any) -> None:
        self.agree(view, "delete", CELL, expect=expect)

    @rule(view=VIEWS, member=st.sampled_from("abc"), ttl=st.just(0.0) | LIVES, cap=st.sampled_from([1, 2]))
    def admit(self, view: int, member: str, ttl: float, cap: int) -> None:
        self.agree(view, "admit", POOL, member, ttl=ttl, cap=cap)

    @rule(
        view=VIEWS,
        cell=st.none() | st.builds(Put, st.just(CELL), VALUES, LIVES) | st.just(Remove(CELL)),
        plans=st.dictionaries(st.sampled_from("abc"), st.none() | DELAYS, max_size=2),
        ttl=LIVES,
        expect=st.none() | st.just(ABSENT) | VALUES,
        ring=st.sampled_from([(), (CELL,)]),
    )
    def commit(
        self, view: int, cell: Any, plans: dict[str, float | None], ttl: float, expect: Any, ring: tuple[str, ...]
    ) -> None:
        """All of it or nothing; with None for a delay, the member is taken off."""
        writes = [] if cell is None else [cell]
        for member, within in plans.items():
            writes.append(Unplan(AGENDA, member) if within is None else Plan(AGENDA, member, within, ttl))
        if writes:
            self.agree(view, "commit", *writes, expect={} if expect is None else {CELL: expect}, ring=ring)

    @rule(view=VIEWS, hold=DELAYS, limit=FEW)
    def take(self, view: int, hold: float, limit: int) -> None:
        self.agree(view, "take", AGENDA, hold=hold or 100.0, limit=limit)

    @rule(view=VIEWS, name=st.sampled_from([AGENDA, POOL]))
    def count(self, view: int, name: str) -> None:
        self.agree(view, "count", name)

    @rule(target=positions, view=VIEWS, ttl=LIVES, create=st.sampled_from([True, True, False]))
    def open(self, view: int, ttl: float, create: bool) -> Any:
        return self.learn(self.agree(view, "open", LOG, ttl=ttl, create=create))

    @rule(
        target=positions,
        view=VIEWS,
        data=VALUES,
        ttl=LIVES,
        keep=FEW,
        expect=st.sampled_from([ANYTHING, EMPTY, END]) | positions,
    )
    def append(self, view: int, data: bytes, ttl: float, keep: int, expect: Any) -> Any:
        self.appends += 1
        expect = (self.reference.end(LOG) or ANYTHING) if expect is END else expect
        self.last = data, {"ttl": ttl, "keep": keep, "expect": expect, "mark": f"{self.appends:016x}"}
        return self.append_again(view)

    @precondition(lambda self: self.last)
    @rule(target=positions, view=VIEWS)
    def append_again(self, view: int) -> Any:
        """The same append: the same mark, the same expectation."""
        assert self.last is not None
        data, options = self.last
        return self.learn(self.agree(view, "append", LOG, data, **options))

    @rule(view=VIEWS, after=positions, limit=FEW, ttl=st.none() | LIVES)
    def read(self, view: int, after: Position, limit: int, ttl: float | None) -> None:
        self.agree(view, "read", LOG, after=after, limit=limit, ttl=ttl)

    @rule(target=listeners, view=VIEWS, name=st.sampled_from([LOG, CELL]))
    def watch(self, view: int, name: str) -> Listener:
        bell = self.loop.enter(self.views[view].watch(name, poll=600))
        return Listener(name, bell, self.reference.rings[name])

    @rule(target=listeners, listener=consumes(listeners))
    def listen(self, listener: Listener) -> Listener:
        """A bell rings after whatever happened since it was heard; it may also ring without a reason."""
        rings = self.reference.rings[listener.name]
        if rings > listener.heard:
            self.loop.run(_rung(listener.bell))
        listener.heard = rings
        return listener

    @rule(fate=FATES)
    def doubt(self, fate: Fate) -> None:
        """The next verb has this fate."""
        self.fate = fate

    @precondition(lambda self: self.late)
    @rule()
    def deliver(self) -> None:
        """What is late arrives."""
        self.loop.run(self.doubtful.deliver())
        for act in self.late:
            act()
        self.late = []

    @rule(seconds=SPANS)
    def let_time_pass(self, seconds: float) -> None:
        self.loop.run(self.pair.store.age(seconds))
        self.reference.age(seconds)

    @rule(target=states)
    def save(self) -> tuple[Any, State]:
        return self.loop.run(self.pair.store.save()), self.reference.save()

    @rule(state=states)
    def fail_over(self, state: tuple[Any, State]) -> None:
        """An older copy takes over."""
        self.loop.run(self.pair.store.restore(state[0]))
        self.reference.restore(state[1])
        self.reference.rings.update((LOG, CELL))

    @rule(view=VIEWS, kind=st.sampled_from(["delete", "flush", "break", "break"]), data=st.data())
    def lose(self, view: int, kind: str, data: st.DataObject) -> None:
        """The log is deleted, or the store begins again empty, or what is broken loses nothing but rings."""
        if kind == "delete":
            self.agree(view, "delete", LOG)
        elif kind == "flush":
            self.fail_over(self.empty)
        elif self.subject.faults:
            data.draw(st.sampled_from(self.subject.faults))()
            for each in (self.pair.here, self.pair.there):
                self.loop.run(answered(each))
            self.reference.rings.update((LOG, CELL))

    @invariant()
    def all_looks_the_same(self) -> None:
        """Looks that extend no life, undisturbed."""
        fate, self.fate = self.fate, Fate.DONE
        self.agree(0, "get", CELL)
        for position in self.known[-4:]:
            self.agree(0, "read", LOG, after=position)
        self.fate = fate

    def learn(self, said: Any) -> Any:
        """Add a position to those that are known."""
        if not isinstance(said, Position):
            return multiple()
        self.known.append(said)
        return said

    def agree(self, view: int, verb: str, *values: Any, **options: Any) -> Any:
        """Let both act; return what the subject said, which must be what the reference says."""

        async def ask() -> Any:
            try:
                return await getattr(self.views[view], verb)(*values, **options)
            except BackplaneError as error:
                return error

        def act() -> Any:
            try:
                return getattr(self.reference, verb)(*values, **options)
            except BackplaneError as error:
                return error

        said, fate = self.loop.run(ask()), self.fate
        self.fate = Fate.DONE
        if fate is Fate.LATE:
            self.late.append(act)
        meant = act() if fate in (Fate.DONE, Fate.UNANSWERED) else None
        if fate is not Fate.DONE:
            assert type(said) is (Unavailable if fate is Fate.UNSENT else InDoubt)
        elif isinstance(said, Position) and meant is None:
            self.reference.born(LOG, said)
        elif isinstance(said, LogMoved) and self.reference.end(LOG) is None:
            self.reference.born(LOG, Position.parse(said.end))
        else:
            assert _plain(said) == pytest.approx(_plain(meant), abs=SLACK), f"{verb}{values}{options}"
        return said


async def _first_of(entered: asyncio.Future[Any], held: asyncio.Task[None]) -> None:
    await asyncio.wait({entered, held}, return_when=asyncio.FIRST_COMPLETED)
    if held.done():
        held.result()


def _plain(said: Any) -> Any:
    """What is said, in a form that can be compared."""
    match said:
        case LogMoved():
            return said.end
        case BackplaneError():
            return type(said)
        case [*entries]:
            return entries
        case Taken():
            return [*sorted(said.members), -1.0 if said.wait is None else said.wait]
    return said


async def _rung(bell: Bell) -> None:
    async with asyncio.timeout(10):
        await bell.rung()
