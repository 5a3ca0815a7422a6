"""Tasks in the store: made whole or not at all, changed by one write each, and counted for as long as they live."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

import pytest

from mcpfleet.backplane.base import Backplane, Bell
from mcpfleet.backplane.intercepted import Intercepted, Verb
from mcpfleet.errors import InDoubt, Unavailable
from mcpfleet.protocol.tasks import PARTITIONS
from mcpfleet.server.auth import ANYONE
from mcpfleet.server.tasks.names import bell, ends, names_of, queue
from mcpfleet.server.tasks.policy import TaskPolicy
from mcpfleet.server.tasks.record import Record
from mcpfleet.server.tasks.store import Step, Tasks, TooManyTasks, UnknownTask
from tests.backplane.conftest import Pair, rang
from tests.clock import Clock
from tests.server.tasks.samples import FORM, work

Result = TypeVar("Result")
ADA, BOB = ("", "ada", ""), ("", "bob", "")


Fault = Literal["fine", "unheard", "lost", "refused"]
"""What becomes of a verb: it happens, it happens and the reply is lost, it is lost itself, or it is not sent."""


class Way:
    """The way to a store, on which verbs go wrong as the test says."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self._faults: dict[str, list[Fault]] = defaultdict(list)

    def prepare(self, verb: Verb, *faults: Fault) -> None:
        """Say what becomes of the next ones of this verb, in order; all later ones are fine."""
        self._faults[verb] += faults

    async def verb(self, verb: Verb, _name: str, act: Callable[[], Awaitable[Result]], /) -> Result:
        faults = self._faults[verb]
        fault = faults.pop(0) if faults else "fine"
        if fault == "refused":
            raise Unavailable(verb)
        if fault == "lost":
            raise InDoubt(verb)
        result = await act()
        self.done.append(verb)
        if fault == "unheard":
            raise InDoubt(verb)
        return result

    def bell(self, inner: Bell, /) -> Bell:
        return inner


class Durable(Intercepted):
    """A store that is to be waited for."""

    durable = True


def tasks(backplane: Backplane, **policy: Any) -> Tasks:
    return Tasks(backplane, TaskPolicy(**policy))


async def queued(pair: Pair) -> list[str]:
    """All tasks that are to be run now, which are then put off."""
    found: list[str] = []
    for partition in range(PARTITIONS):
        found += (await pair.there.take(queue(partition, "default"), hold=60.0, limit=100)).members
    return found


async def left(pair: Pair) -> list[str]:
    """What is stored of tasks, or counted, by the end of its name."""
    return sorted(name.rpartition("/")[2] for name in await pair.store.names() if "tasks" in name)


async def test_a_task_is_found_by_every_process_as_it_was_made(pair: Pair) -> None:
    made = await tasks(pair.here).create(work(params=b'{"x":1}'), ttl=60.0)
    found = await tasks(pair.there).find(made.names.id)
    assert found == made
    assert (found.record.status, found.record.ttl, found.record.work.params) == ("working", 60.0, b'{"x":1}')
    assert await queued(pair) == [made.names.id]


async def test_to_make_one_wakes_whoever_runs_tasks(pair: Pair) -> None:
    own = Tasks(pair.here, TaskPolicy(), new_secret=lambda: "0f" * 16)
    async with pair.there.watch(bell(15), poll=60.0) as ringing:
        await pair.there.get("tasks.15/x")
        while await rang(ringing):
            pass
        made = await own.create(work(), ttl=60.0)
        async with asyncio.timeout(10):
            await ringing.rung()
    assert made.names.partition == 15


async def test_ids_are_random_and_spread_over_the_partitions(pair: Pair) -> None:
    own = tasks(pair.here)
    made = [(await own.create(work(), ttl=60.0)).names for _ in range(64)]
    assert len({names.id for names in made}) == 64
    assert len({names.partition for names in made}) > 4
    assert all(names_of(names.id) == names for names in made)


@pytest.mark.parametrize("task_id", ["", "t1", "t1-" + "0" * 32])
async def test_what_was_never_made_is_unknown(pair: Pair, task_id: str) -> None:
    with pytest.raises(UnknownTask):
        await tasks(pair.here).find(task_id)


async def test_what_is_gone_from_the_store_is_unknown(pair: Pair) -> None:
    own = tasks(pair.here)
    made = await own.create(work(), ttl=60.0)
    await pair.there.delete(made.names.record)
    with pytest.raises(UnknownTask):
        await own.find(made.names.id)
    with pytest.raises(UnknownTask):
        await own.change(made.names, lambda record: Step(record.cancelled(1.0)))


@pytest.mark.parametrize(
    ("kind", "faults"),
    [
        (Intercepted, ["unheard"]),
        (Intercepted, ["lost"]),
        (Durable, ["unheard"]),
        (Durable, ["lost"]),
        (Durable, ["fine", "unheard"]),
        (Durable, ["fine", "lost"]),
    ],
)
async def test_a_task_whose_making_was_in_doubt_is_made_once(
    pair: Pair, kind: type[Intercepted], faults: list[Fault]
) -> None:
    way = Way()
    way.prepare("commit", *faults)
    own = tasks(kind(pair.here, way))
    made = await own.create(work(owner=ADA), ttl=60.0)
    assert await queued(pair) == [made.names.id]
    assert (await own.find(made.names.id)).record == made.record
    assert (await left(pair)).count("record") == 1


@pytest.mark.parametrize(
    ("kind", "faults"),
    [
        (Intercepted, ["unheard", "unheard"]),
        (Intercepted, ["lost", "lost"]),
        (Intercepted, ["unheard", "lost"]),
        (Intercepted, ["refused"]),
        (Durable, ["unheard", "refused"]),
        (Durable, ["fine", "unheard", "unheard"]),
        (Durable, ["fine", "lost", "lost"]),
        (Durable, ["fine", "refused"]),
    ],
)
async def test_of_a_task_that_could_not_be_made_nothing_is_left(
    pair: Pair, kind: type[Intercepted], faults: list[Fault]
) -> None:
    way = Way()
    way.prepare("commit", *faults)
    with pytest.raises(Unavailable):
        await tasks(kind(pair.here, way)).create(work(owner=ADA), ttl=60.0)
    assert await queued(pair) == []
    assert await left(pair) == []


async def test_nothing_runs_of_a_task_that_did_not_become_durable(pair: Pair) -> None:
    way = Way()
    way.prepare("settle", "refused")
    with pytest.raises(Unavailable):
        await tasks(Durable(pair.here, way)).create(work(owner=ADA), ttl=60.0)
    assert way.done.count("commit") == 2, "one that made it, and one that undid it"
    assert await queued(pair) == []
    assert await left(pair) == []


async def test_a_task_is_to_be_run_only_once_it_is_durable(pair: Pair) -> None:
    way, seen = Way(), []

    class Settling(Durable):
        async def settle(self, scope: str) -> None:
            seen.append((scope, await queued(pair)))

    made = await tasks(Settling(pair.here, way)).create(work(), ttl=60.0)
    assert seen == [(made.names.scope, []), (made.names.scope, [made.names.id])], "stored first, and then queued"


async def test_a_task_whose_place_in_the_queue_did_not_become_durable_is_undone(pair: Pair) -> None:
    way = Way()
    way.prepare("settle", "fine", "refused")
    with pytest.raises(Unavailable):
        await tasks(Durable(pair.here, way)).create(work(owner=ADA), ttl=60.0)
    assert await queued(pair) == []
    assert await left(pair) == []


async def test_places_are_given_back_if_one_of_them_cannot_be_had(pair: Pair) -> None:
    way = Way()
    way.prepare("admit", "fine", "refused")
    with pytest.raises(Unavailable):
        await tasks(Intercepted(pair.here, way)).create(work(owner=ADA), ttl=60.0)
    assert await left(pair) == []
    await tasks(pair.here, max_tasks_each=1).create(work(owner=ADA), ttl=60.0)


async def test_each_owner_has_so_many_tasks_and_all_have_so_many(pair: Pair) -> None:
    here, there = (tasks(view, max_tasks_each=2, max_tasks=3) for view in (pair.here, pair.there))
    await here.create(work(owner=ADA), ttl=60.0)
    second = await there.create(work(owner=ADA), ttl=60.0)
    with pytest.raises(TooManyTasks) as full:
        await here.create(work(owner=ADA), ttl=60.0)
    assert 0 < full.value.retry_after <= 120
    await here.create(work(owner=BOB), ttl=60.0)
    with pytest.raises(TooManyTasks):
        await here.create(work(owner=BOB), ttl=60.0)
    await there.change(second.names, lambda record: there.ended(second.names, record.cancelled(1.0)))
    await here.create(work(owner=BOB), ttl=60.0)
    with pytest.raises(TooManyTasks):
        await here.create(work(owner=ANYONE), ttl=60.0)
    assert (await left(pair)).count("record") == 4, "who is refused has made nothing"


@pytest.mark.parametrize("how", ["unheard", "lost"])
async def test_a_place_is_given_back_although_the_end_was_in_doubt(pair: Pair, how: Fault) -> None:
    way = Way()
    own = tasks(Intercepted(pair.here, way), max_tasks_each=1)
    made = await own.create(work(owner=ADA), ttl=60.0)
    way.prepare("commit", how)
    ended = await own.change(
        made.names, lambda record: None if record.terminal else own.ended(made.names, record.cancelled(1.0))
    )
    assert ended.status == "cancelled"
    await own.create(work(owner=ADA), ttl=60.0)


async def test_changes_at_once_are_all_made(pair: Pair) -> None:
    here, there = tasks(pair.here), tasks(pair.there)
    made = await here.create(work(), ttl=60.0)

    async def ask(own: Tasks, number: int) -> None:
        await own.change(made.names, lambda record: Step(record.asking(f"q{number}", FORM, 1.0)))

    await asyncio.gather(*(ask((here, there)[number % 2], number) for number in range(6)))
    assert len((await here.find(made.names.id)).record.questions) == 6


async def test_a_change_that_happened_although_nobody_heard_so_is_not_made_again(pair: Pair) -> None:
    way = Way()
    own = tasks(Intercepted(pair.here, way))
    made = await own.create(work(), ttl=60.0)
    way.prepare("commit", "unheard")
    seen: list[int] = []

    def claim(record: Record) -> Step | None:
        seen.append(record.attempt)
        return None if record.runner == "a1" else Step(record.claimed("a1", 1.0))

    assert (await own.change(made.names, claim)).attempt == 1
    assert seen == [0, 1]


async def test_a_record_that_never_stays_the_same_is_given_up(pair: Pair) -> None:
    own, other = tasks(pair.here), tasks(pair.there)
    made = await own.create(work(), ttl=60.0)

    async def disturb(record: Record) -> None:
        await other.replace(await other.find(made.names.id), Step(record.stepped(str(len(record.steps)), 1, 1.0)))

    class Disturbed(Intercepted):
        async def commit(self, *writes: Any, **options: Any) -> bool:
            await disturb((await other.find(made.names.id)).record)
            return await super().commit(*writes, **options)

    with pytest.raises(Unavailable, match="changed"):
        await tasks(Disturbed(pair.here, Way())).change(made.names, lambda record: Step(record.asking("q", FORM, 1.0)))
    assert (await own.find(made.names.id)).record.questions == {}


@pytest.mark.parametrize(("how", "made"), [("fine", True), ("unheard", True), ("lost", False)])
async def test_a_task_is_replaced_only_as_it_was_found(pair: Pair, how: Fault, made: bool) -> None:
    way = Way()
    own = tasks(Intercepted(pair.here, way))
    found = await own.create(work(), ttl=60.0)
    way.prepare("commit", how)
    claimed = Step(found.record.claimed("a1", 1.0))
    assert await own.replace(found, claimed) is made
    if made:
        assert not await own.replace(found, Step(found.record.claimed("a2", 1.0)))
        assert (await own.find(found.names.id)).record.runner == "a1"


async def test_what_a_run_says_counts_while_it_has_the_lease(pair: Pair) -> None:
    own = tasks(pair.here)
    made = await own.create(work(), ttl=60.0)
    await pair.here.put(made.names.lease, b"mine", ttl=60.0)
    assert await own.say(made.names, b"mine", "halfway", life=60.0)
    assert not await own.say(made.names, b"another's", "finished", life=60.0)
    progress = (await tasks(pair.there).find(made.names.id)).progress
    assert progress is not None
    assert progress.message == "halfway"


async def test_of_a_task_that_has_ended_nothing_is_left_but_its_record(pair: Pair) -> None:
    own = tasks(pair.here)
    made = await own.create(work(), ttl=60.0)
    await pair.here.put(made.names.lease, b"mine", ttl=60.0)
    await own.say(made.names, b"mine", "halfway", life=60.0)
    await own.change(made.names, lambda record: own.ended(made.names, record.completed({}, 1.0)))
    assert await left(pair) == ["record"]
    assert await queued(pair) == []
    assert (await pair.there.take(ends(made.names.partition), hold=1.0, limit=9)).wait is None


async def test_a_task_that_waits_for_its_client_is_on_no_queue_until_it_is_answered(pair: Pair) -> None:
    own = tasks(pair.here)
    names = (await own.create(work(), ttl=60.0)).names
    await own.change(names, lambda record: own.given_back(names, record.asking("q", FORM, 1.0)))
    assert await queued(pair) == []
    await own.change(names, lambda record: own.queued(names, record.answered({"q": {}}, 2.0)))
    assert await queued(pair) == [names.id]


async def test_a_task_is_given_back_to_be_run_at_once_or_later(pair: Pair) -> None:
    own = tasks(pair.here)
    names = (await own.create(work(), ttl=60.0)).names
    assert await queued(pair) == [names.id]
    await own.change(names, lambda record: own.given_back(names, record, within=600.0))
    assert await queued(pair) == []
    await own.change(names, lambda record: own.given_back(names, record))
    assert await queued(pair) == [names.id]


async def test_who_would_put_off_or_forget_a_task_that_has_changed_does_not(pair: Pair) -> None:
    own = tasks(pair.here)
    found = await own.create(work(), ttl=60.0)
    agenda = queue(found.names.partition, "default")
    await own.change(found.names, lambda record: Step(record.asking("q", FORM, 1.0)))
    await own.put_off(found, 600.0)
    await own.forget(found.names, agenda, found)
    await own.forget(found.names, agenda, None)
    assert await queued(pair) == [found.names.id]
    await own.forget(found.names, agenda, await own.find(found.names.id))
    assert (await own.due(agenda, hold=1.0, limit=9)).wait is None


async def test_a_task_is_kept_for_its_life(pair: Pair) -> None:
    clock = Clock()
    own = Tasks(pair.here, TaskPolicy(), clock=clock)
    made = await own.create(work(), ttl=60.0)
    clock.pass_by(59.0)
    changed = await own.change(made.names, lambda record: Step(record.claimed("a1", clock())))
    assert (changed.created, changed.updated, changed.ends) == (1000.0, 1059.0, 1060.0)
