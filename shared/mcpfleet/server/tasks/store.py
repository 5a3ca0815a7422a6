"""Tasks in the store: every change is one write that holds only if the record is still what it was made of.

A write whose fate is unknown is not sent again but looked for: whoever changes a record says in terms of the record
what is to be, so that a change that has happened already is none.
"""

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import ABSENT, Backplane, CommitExpectation, Plan, Put, Remove, Taken, Unplan, Write
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.limits import Seats
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import BackplaneError, InDoubt, McpFleetError, Unavailable
from mcpfleet.protocol.jsontext import dumps
from mcpfleet.protocol.tasks import PARTITIONS, task_id
from mcpfleet.server.auth import ANYONE
from mcpfleet.server.tasks.names import Names, names_of
from mcpfleet.server.tasks.policy import TaskPolicy
from mcpfleet.server.tasks.record import GRACE, Record, Work

LIVE: Final = "tasks/live"
"""The places of all unfinished tasks."""
CHANGE_TRIES: Final = 16

Owner = tuple[str, str, str]
Change = Callable[[Record], "Step | None"]
"""From a record as it is to what is to be written; None: it is as it should be."""


@dataclass(frozen=True, slots=True)
class Step:
    """A record as it is to be, and what is written with it."""

    record: Record
    writes: Sequence[Write] = ()
    wakes: bool = False
    """Whether something is then to be run at once."""


class Progress(msgspec.Struct, frozen=True):
    """What a run last said of itself, and when."""

    message: str
    at: float


@dataclass(frozen=True, slots=True)
class Found:
    """A task as one look found it."""

    names: Names
    record: Record
    raw: bytes
    """The record as it is stored."""
    progress: Progress | None = None


class UnknownTask(McpFleetError):
    """There is no such task, or there is none any more."""


class TooManyTasks(McpFleetError):
    """Its owner, or the fleet, has as many tasks as it may; a place may be free in `retry_after` seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"there are too many tasks; try again in {retry_after:.0f} s")
        self.retry_after = retry_after


class Tasks:
    """Makes, finds and changes tasks; keeps none in memory."""

    def __init__(
        self,
        backplane: Backplane,
        policy: TaskPolicy,
        *,
        clock: Callable[[], float] = time.time,
        new_secret: Callable[[], str] = lambda: secrets.token_hex(16),
        on_end: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`clock` tells Unix seconds; `new_secret` makes 32 hexadecimal digits that nobody can guess.

        `on_end` is called with the status of each task that is ended here.
        """
        self._on_end = on_end
        self._backplane = backplane
        self.policy = policy
        self._new_secret = new_secret
        self.clock = clock

    async def create(self, work: Work, *, ttl: float) -> Found:
        """Make a task that is to be run at once; it is stored, as durably as configured, when this returns.

        Raises `TooManyTasks`, and `Unavailable` if it could not be stored so: it is then undone as far as possible.
        """
        now = self.clock()
        record = Record(work=work, created=now, updated=now, ttl=ttl)
        secret = self._new_secret()
        names = names_of(task_id(int(secret[:2], 16) % PARTITIONS, secret))
        if names is None:
            raise ValueError("a secret is 32 hexadecimal digits")
        data, life = pack(record), record.life(now)
        put, end = Put(names.record, data, life), Plan(names.ends, names.id, ttl, life)
        start, bell = Plan(names.queue(work.queue), names.id, 0.0, life), (names.bell,)
        try:
            await self._admit(names.id, work.owner, ttl)
            if self._backplane.durable:  # then nothing runs before it has settled
                await self._create(names, put, end)
                await self._backplane.settle(names.scope)
                await settled(lambda: self._backplane.commit(start, expect={names.record: data}, ring=bell))
                await self._backplane.settle(names.scope)  # or a failover might keep the task and forget to run it
            else:
                await self._create(names, put, end, start, ring=bell)
        except BackplaneError:
            await self._discard(names, work)
            raise
        return Found(names, record, data)

    async def find(self, task_id: str) -> Found:
        """The task of this id; `UnknownTask` if there is none."""
        names = names_of(task_id)
        if names is None:
            raise UnknownTask(task_id)
        data, progress = await asyncio.gather(self._backplane.get(names.record), self._backplane.get(names.progress))
        if data is None:
            raise UnknownTask(task_id)
        return Found(names, unpack(Record, data), data, None if progress is None else unpack(Progress, progress))

    async def change(self, names: Names, change: Change) -> Record:
        """Change a task, by compare-and-set, and return it as it then is.

        `change` is called again whenever the record has changed meanwhile. Raises what it raises, `UnknownTask`, and
        `Unavailable` under contention or if the store is away.
        """
        backoff = Backoff(first=0.002, most=0.2)
        for _ in range(CHANGE_TRIES):
            data = await self._backplane.get(names.record)
            if data is None:
                raise UnknownTask(names.id)
            record = unpack(Record, data)
            step = change(record)
            if step is None:
                if record.terminal:  # perhaps by an earlier write of this process, of which it has not heard
                    await self._leave(names.id, record.work.owner)
                return record
            with suppress(InDoubt):  # what is found next tells
                if await self._write(names, data, step):
                    if step.record.terminal:
                        self._on_end(step.record.status)
                        await self._leave(names.id, step.record.work.owner)
                    return step.record
            await asyncio.sleep(backoff.pause())
        raise Unavailable(f"a task changed {CHANGE_TRIES} times meanwhile")

    async def replace(self, found: Found, step: Step) -> bool:
        """Change a task that is as it was found; False if it is not, and then nothing happened."""
        names = found.names
        try:
            made = await self._write(names, found.raw, step)
        except InDoubt:
            made = await self._backplane.get(names.record) == pack(step.record)
        if made and step.record.terminal:
            self._on_end(step.record.status)
            await self._leave(names.id, step.record.work.owner)
        return made

    async def say(self, names: Names, lease: bytes, message: str, *, life: float) -> bool:
        """Note what the run of a task says of itself; False once its lease is no longer this one."""
        progress = Put(names.progress, pack(Progress(message, self.clock())), life)
        return await self._backplane.commit(progress, expect={names.lease: lease}, ring=(names.record,))

    async def put_off(self, found: Found, within: float) -> None:
        """Let a task be looked at again in so many seconds, unless it changes meanwhile."""
        step = self.queued(found.names, found.record, within=within)
        await self._backplane.commit(*step.writes, expect={found.names.record: found.raw})

    async def forget(self, names: Names, agenda: str, found: Found | None) -> None:
        """Take a task that is as it was found, or is no more (None), off an agenda."""
        expect: CommitExpectation = {names.record: ABSENT if found is None else found.raw}
        await self._backplane.commit(Unplan(agenda, names.id), expect=expect)

    async def due(self, agenda: str, *, hold: float, limit: int) -> Taken:
        """The tasks whose time has come on an agenda, put off by `hold` seconds for everybody else."""
        return await self._backplane.take(agenda, hold=hold, limit=limit)

    def ended(self, names: Names, record: Record) -> Step:
        """The step by which a task ends: nothing of its run is left."""
        queue = names.queue(record.work.queue)
        return Step(
            record,
            (Unplan(queue, names.id), Unplan(names.ends, names.id), Remove(names.lease), Remove(names.progress)),
        )

    def given_back(self, names: Names, record: Record, *, within: float = 0.0) -> Step:
        """The step by which a task that is in nobody's hands goes on: in so many seconds, or once it is answered."""
        done = (Remove(names.lease), Remove(names.progress))
        if record.status == "input_required":
            return Step(record, (Unplan(names.queue(record.work.queue), names.id), *done))
        return self.queued(names, record, within=within, writes=done)

    def queued(self, names: Names, record: Record, *, within: float = 0.0, writes: Sequence[Write] = ()) -> Step:
        """The step by which a task is to be run in so many seconds."""
        plan = Plan(names.queue(record.work.queue), names.id, within, record.life(self.clock()))
        return Step(record, (plan, *writes), wakes=not within)

    async def _create(self, names: Names, *writes: Write, ring: Sequence[str] = ()) -> None:
        """Store a new record: its name is new, so if it is there it was stored by this very call."""
        made = await settled(lambda: self._backplane.commit(*writes, expect={names.record: ABSENT}, ring=ring))
        if not made and await self._backplane.get(names.record) is None:
            raise Unavailable("the task was lost as it was made")

    async def _write(self, names: Names, data: bytes, step: Step) -> bool:
        put = Put(names.record, pack(step.record), step.record.life(self.clock()))
        ring = (names.record, names.bell) if step.wakes else (names.record,)
        return await self._backplane.commit(put, *step.writes, expect={names.record: data}, ring=ring)

    async def _discard(self, names: Names, work: Work) -> None:
        """Undo a creation that has failed, as far as the store can be reached; what is left expires."""
        writes = (Remove(names.record), Unplan(names.queue(work.queue), names.id), Unplan(names.ends, names.id))
        with suppress(Unavailable):
            await settled(lambda: self._backplane.commit(*writes, expect={}, ring=(names.record,)))
        await self._leave(names.id, work.owner)

    async def _admit(self, task_id: str, owner: Owner, ttl: float) -> None:
        """Take the places of a task, which run out with it at the latest."""
        for seats in self._seats(owner):
            if wait := await seats.take(task_id, ttl=ttl + GRACE):
                await self._leave(task_id, owner)
                raise TooManyTasks(wait)

    async def _leave(self, task_id: str, owner: Owner) -> None:
        for seats in self._seats(owner):
            with suppress(Unavailable):
                await seats.leave(task_id)

    def _seats(self, owner: Owner) -> Iterator[Seats]:
        """The places that a task of this owner takes: its own first."""
        if owner != ANYONE and self.policy.max_tasks_each is not None:
            pool = hashlib.blake2b(dumps(owner), digest_size=16).hexdigest()
            yield Seats(self._backplane, f"{pool}/tasks", cap=self.policy.max_tasks_each)
        if self.policy.max_tasks is not None:
            yield Seats(self._backplane, LIVE, cap=self.policy.max_tasks)
