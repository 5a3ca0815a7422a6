"""Processes that take tasks when they are told to, with nothing around them, and may die at any verb."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Literal, TypeVar

import msgspec

from mcpfleet import Server
from mcpfleet.backplane.base import Backplane, Bell
from mcpfleet.backplane.faults import Died
from mcpfleet.backplane.intercepted import Verb
from mcpfleet.backplane.leases import Keeper
from mcpfleet.protocol.jsonrpc import Request
from mcpfleet.protocol.jsontext import dumps
from mcpfleet.protocol.tasks import EXTENSION
from mcpfleet.server.dispatch import Dispatcher
from mcpfleet.server.failures import Failures
from mcpfleet.server.outlet import Silent
from mcpfleet.server.process import Process
from mcpfleet.server.tasks.names import Names, names_of, queue
from mcpfleet.server.tasks.policy import TaskPolicy
from mcpfleet.server.tasks.reaper import Reaper
from mcpfleet.server.tasks.record import Work
from mcpfleet.server.tasks.run import Run
from mcpfleet.server.tasks.runner import Due, Runner
from mcpfleet.server.tasks.slots import Slots
from mcpfleet.server.tasks.store import Found, Tasks, UnknownTask
from mcpfleet.server.tasks.work import caller_of
from mcpfleet.server.threads import Threads
from tests.backplane.conftest import Pair
from tests.clock import Clock
from tests.server.tasks.samples import work
from tests.server.tasks.workshop import policy

LEASE = 5.0
ANSWER = {"action": "accept", "content": {"name": "Ada"}}
CALLER = {
    "revision": "2026-07-28",
    "info": None,
    "capabilities": {"elicitation": {}, "extensions": dict(EXTENSION)},
    "log_level": None,
    "anonymous": True,
    "given": {},
    "state": None,
}

_Result = TypeVar("_Result")
_ids = count()


class Mortal:
    """The way of a process to the store; it dies before or after the verb of this number."""

    def __init__(self, number: int, moment: Literal["before", "after"]) -> None:
        self.dead = False
        self.told: list[str] = []
        self._number = number
        self._moment = moment

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        number = len(self.told)
        self.told.append(f"{verb} {name}")
        if self.dead or (number == self._number and self._moment == "before"):
            self._die()
        result = await act()
        if self.dead or number == self._number:
            self._die()
        return result

    def bell(self, inner: Bell, /) -> Bell:
        return inner

    def _die(self) -> None:
        self.dead = True
        raise Died

    def __str__(self) -> str:
        return f"dead {self._moment} {self._number} of {self.told}"


def deaths() -> Iterator[Mortal]:
    """Every death there may be; break when one does not come."""
    for number in count():
        yield from (Mortal(number, "before"), Mortal(number, "after"))


class Hand:
    """One process, with a store that looks settled to it."""

    def __init__(self, backplane: Backplane, server: Server, **tasks: Any) -> None:
        self._clock = Clock()
        own = policy(lease=LEASE, **tasks)
        self.keeper = Keeper(backplane, lease=LEASE, clock=self._clock)
        self.process = Process(backplane, self.keeper, own)
        self.tasks = Tasks(backplane, own.tasks)
        self.dispatcher = Dispatcher(server, Threads(1), tasks=self.tasks)
        run = Run(self.dispatcher, self.tasks, Failures(), msgspec.to_builtins(server.info))
        self.runner = Runner(self.process, self.tasks, run, lambda: server.registry)
        self.reaper = Reaper(self.process, self.tasks, lambda: server.registry)
        self._slots = Slots(100)

    async def settles_in(self) -> None:
        """Be in touch for a lease time, after which it knows the dead."""
        for _ in range(4):
            await self.keeper.round()
            self._clock.pass_by(LEASE / 3)

    async def takes(self) -> None:
        """Serve what is due, of the one partition that these tests use, to its end."""
        agenda = queue(0, "default")
        for member in (await self.tasks.due(agenda, hold=LEASE, limit=100)).members:
            await self.runner._serve(Due(made_names(member), agenda), await self._slots.take())


def made_names(task_id: str) -> Names:
    """The names of a task that there is."""
    names = names_of(task_id)
    assert names is not None
    return names


def call(tool: str, job: str = "dig") -> Work:
    """A call of one of the workshop's tools."""
    return work(
        tool=tool,
        params=dumps({"name": tool, "arguments": {"job": job}}),
        caller=dumps(CALLER),
        memory=dumps({"asked": [], "answers": {}, "steps": {}}),
    )


def maker(backplane: Backplane) -> Tasks:
    """Makes tasks, all of them in one partition."""
    return Tasks(backplane, TaskPolicy(), new_secret=lambda: f"00{next(_ids):030x}")


@asynccontextmanager
async def answering(pair: Pair, server: Server, found: Found) -> AsyncIterator[None]:
    """Have a client there that answers whatever the task asks."""
    there = Hand(pair.there, server)
    caller = caller_of(found.record.work, found.names.id)

    async def answers() -> None:
        while True:
            try:
                asked = (await there.tasks.find(found.names.id)).record.questions
            except UnknownTask:
                return
            if asked:
                params = {"taskId": found.names.id, "inputResponses": dict.fromkeys(asked, ANSWER)}
                await there.dispatcher.serve(Request(1, "tasks/update", params), caller, Silent())
            await asyncio.sleep(0.001)

    client = asyncio.ensure_future(answers())
    try:
        yield
    finally:
        client.cancel()
        await asyncio.wait([client])


async def finished(pair: Pair, server: Server, found: Found, *, lives: int = 4) -> str:
    """How the task ends once some other processes have looked after it."""
    for _ in range(lives):
        record = (await maker(pair.there).find(found.names.id)).record
        if record.terminal:
            return record.status
        await pair.store.age(LEASE * 1.1)
        hand = Hand(pair.there, server)
        await hand.settles_in()
        await hand.takes()
    return (await maker(pair.there).find(found.names.id)).record.status
