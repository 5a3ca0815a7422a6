"""An answer against the death of whoever asked, at each step of either, and what the fleet then makes of the call.

An answer that was accepted has reached its asker, or the asker's call has ended; one that was refused has changed
nothing; and nobody waits for ever.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any, NamedTuple

import pytest

from mcpfleet.backplane.base import Position
from mcpfleet.backplane.faults import Died, Stepped, Stop
from mcpfleet.backplane.replies import Reply, Verdict, answer, ask, await_answer
from mcpfleet.backplane.stored import unpack
from mcpfleet.server.streams import CallEnded
from tests.backplane.conftest import Pair
from tests.server.runners import Impatient, Reader, Runner

SOON = 20.0
LEASE = 10.0
LAPSE = 15.0
"""Longer than a lease; twice this is less than what else there is lives for."""
WAITING = range(3)
"""How far one who waits gets without an answer: before and after it reads, and at its bell."""
ANSWERING = range(7)
"""How far one who answers gets: before and after it looks at the question and at the lease, and appends."""
APPENDED = 5
GETTING = range(9)
"""How far one who waits gets with an answer: bell and read, and before and after it ends and releases its call."""


class Halt(Enum):
    """How the asker's process comes to renew its lease no more."""

    DEATH = "it dies"
    SLEEP = "it sleeps, and goes on with its call"
    LAPSE = "it sleeps, and first finds that its lease had run out"


class Told(NamedTuple):
    """What everybody is told in the end."""

    verdict: Verdict
    asker: bytes | None
    caller: bytes | None


class Moment(NamedTuple):
    """When the asker's process stops: it has taken steps, the answerer has, and it has taken some more."""

    before: int
    answered: int
    after: int


def moments() -> Iterator[Moment]:
    """Every one that can be told from the others: without an answer neither's steps concern the other."""
    for before in WAITING:
        for answered in ANSWERING:
            for after in GETTING if answered >= APPENDED else [0]:
                yield Moment(before, answered, after)


class Walker:
    """One process that takes its steps by hand."""

    def __init__(self, steps: Stepped, number: int, work: "asyncio.Task[Any]") -> None:
        self.works = [work]
        self._steps = steps
        self._number = number

    async def stops(self) -> list[Stop]:
        """Where it is held; nowhere once it has ended."""
        return [stop for stop in await self._steps.held() if stop.view.number == self._number]

    async def walk(self, steps: int) -> None:
        """Take so many steps, or as many as there are."""
        for _ in range(steps):
            for stop in (await self.stops())[:1]:
                stop.go()
        await self._steps.held()

    async def end(self, which: int = 0) -> Any:
        """Take all its steps, the oldest (0) or the newest (-1) of those that it can take first."""
        async with asyncio.timeout(SOON):
            while not all(work.done() for work in self.works):
                for stop in (await self.stops())[which:][:1]:
                    stop.go()
        return self.works[0].result()

    async def die(self) -> None:
        """Take no step any more."""
        for stop in await self.stops():
            stop.die()


class Case:
    """One process runs a call, in which it asks; another one answers, and one more delivers the call."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.steps = Stepped()
        self.runner = Runner(self.steps.view(pair.here), lease=LEASE)
        self.question = self.runner.exchange.question("1")
        self.start: Position | None = None
        self.answering = Reader(self.steps.view(pair.there)).in_contact()
        self.delivering = Reader(Impatient(pair.there)).in_contact()

    @asynccontextmanager
    async def walkers(self) -> AsyncIterator[tuple[Walker, Walker]]:
        """The one who asks, once it has asked, and the one who answers."""
        async with asyncio.TaskGroup() as tasks:
            idle = tasks.create_task(self.steps.view(self.pair.there).get("session/idle"))  # since `held` waits for one
            asker = Walker(self.steps, 1, tasks.create_task(self.asks()))
            while self.start is None:
                await asker.walk(1)
            answerer = Walker(self.steps, 2, tasks.create_task(self.answer(self.answering, b"yes")))
            yield asker, answerer
            idle.cancel()

    async def asks(self) -> bytes | None:
        """Run a call that asks, and ends with the answer; return what it got."""
        got = None
        try:
            async with asyncio.TaskGroup() as tasks:
                stream = await self.runner.open(tasks)
                self.runner.start.set_result(stream.start)
                self.start = await ask(self.runner.view, self.question, ttl=60)
                got = await await_answer(self.runner.view, self.question, self.start, deadline=SOON)
                await stream.end(got)
        except* (CallEnded, Died):
            pass
        return got

    async def wake(self, asker: Walker, which: int) -> bytes | None:
        """Let the asker's process go on to the end of its call, and its keeper make the round that is due."""
        async with asyncio.TaskGroup() as tasks:
            asker.works.append(tasks.create_task(self.runner.keeper.round()))
            got: bytes | None = await asker.end(which)
        return got

    def answer(self, process: Reader, data: bytes) -> Coroutine[Any, Any, Verdict]:
        """Answer, as that process."""
        return answer(process.view, process.keeper, self.question, self.runner.exchange.alive, data)

    async def replies(self) -> list[bytes | None]:
        """What is in the question's log."""
        assert self.start is not None
        entries = await self.pair.there.read(self.question, after=self.start)
        return [unpack(Reply, entry.data).answer for entry in entries]


@pytest.mark.parametrize("lapsed", [True, False], ids=["lapsed-before-the-answer", "lapsed-after-it"])
@pytest.mark.parametrize("halt", [*Halt])
async def test_an_answer_and_its_askers_death_agree_at_every_step(pair: Pair, halt: Halt, lapsed: bool) -> None:
    told = {await race(pair, moment, halt, lapsed=lapsed) for moment in moments()}
    assert told == {
        Told(Verdict.ACCEPTED, b"yes", b"yes"),
        Told(Verdict.ACCEPTED, b"yes", b"unknown"),  # it stopped with the answer, or woke too late
        *([Told(Verdict.ACCEPTED, None, b"unknown")] if halt is not Halt.SLEEP else []),
        *([Told(Verdict.REFUSED, None, b"unknown")] if lapsed else []),
    }


async def race(pair: Pair, moment: Moment, halt: Halt, *, lapsed: bool) -> Told:
    """What is told to who answers, to the asker, and, as the end of its call, to who made it."""
    case = Case(pair)
    async with case.walkers() as (asker, answerer):
        await asker.walk(moment.before)
        await answerer.walk(moment.answered)
        await asker.walk(moment.after)
        if halt is Halt.DEATH:
            await asker.die()
        if lapsed:
            await pair.store.age(LAPSE)
        verdict = await answerer.end()
        replies = await case.replies()
        await pair.store.age(LAPSE)
        async with asyncio.timeout(SOON):
            *_, end = await case.delivering.read(case.runner)
        got = await asker.end() if halt is Halt.DEATH else await case.wake(asker, -1 if halt is Halt.LAPSE else 0)
        assert replies == ([b"yes"] if verdict is Verdict.ACCEPTED else []), moment
        assert await case.answer(case.delivering, b"no") is Verdict.REFUSED, moment
        again = Verdict.REPEATED if verdict is Verdict.ACCEPTED else Verdict.REFUSED
        assert await case.answer(case.delivering, b"yes") is again, moment
    return Told(verdict, got, end)
