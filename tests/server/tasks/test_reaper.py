"""Tasks whose time is up end, whoever runs them or nobody."""

import asyncio
from typing import Any

import pytest

from mcpfleet import Server
from mcpfleet.backplane.base import Backplane, Plan, Put
from mcpfleet.backplane.faults import Doubtful, Fate
from mcpfleet.backplane.leases import Keeper
from mcpfleet.errors import Unavailable
from mcpfleet.server.policy import Policy
from mcpfleet.server.process import Process
from mcpfleet.server.tasks.names import Names, ends, names_of
from mcpfleet.server.tasks.policy import TaskPolicy
from mcpfleet.server.tasks.reaper import LEADER, Reaper
from mcpfleet.server.tasks.store import Found, Step, Tasks
from mcpfleet.server.tasks.verdict import EXPIRED
from tests.backplane.conftest import Pair
from tests.server.tasks.samples import FORM, work
from tests.server.world import eventually

LEASE = 0.3


def reaper(backplane: Backplane, *, makes_tasks: bool = True, keeper: Keeper | None = None) -> Reaper:
    process = Process(backplane, keeper or Keeper(backplane, lease=LEASE), Policy(lease=LEASE))
    server = Server("s")
    server.tool(task="optional" if makes_tasks else "never", name="dig")(lambda: "")
    return Reaper(process, Tasks(backplane, TaskPolicy()), lambda: server.registry)


async def made(backplane: Backplane, count: int = 1, ttl: float = 0.02, **fields: Any) -> list[Found]:
    """Tasks of one partition, in the order of their ids."""
    secrets = iter(f"00{number:030x}" for number in range(count))
    tasks = Tasks(backplane, TaskPolicy(), new_secret=lambda: next(secrets))
    return [await tasks.create(work(**fields), ttl=ttl) for _ in range(count)]


async def error(backplane: Backplane, names: Names) -> Any:
    """What a task has failed with; None: it has not."""
    record = (await Tasks(backplane, TaskPolicy()).find(names.id)).record
    return record.status == "failed" and record.message == EXPIRED.message


async def expired(backplane: Backplane, names: Names) -> bool:
    """Whether nothing is planned any more about its end."""
    return (await backplane.take(ends(names.partition), hold=0.001, limit=100)).wait is None


@pytest.mark.parametrize("state", ["queued", "parked", "running"])
async def test_what_has_expired_fails_in_whatever_state_it_is(pair: Pair, state: str) -> None:
    [found] = await made(pair.here)
    tasks = Tasks(pair.here, TaskPolicy())
    if state == "parked":
        await tasks.change(found.names, lambda record: tasks.given_back(found.names, record.asking("q", FORM, 1.0)))
    if state == "running":
        await pair.here.put(found.names.lease, b"another's", ttl=60.0)
        await tasks.replace(found, Step(found.record.claimed("another", 1.0)))

    async def ends_it() -> bool:
        await reaper(pair.there).round()
        return bool(await error(pair.here, found.names))

    await eventually(ends_it)
    record = (await tasks.find(found.names.id)).record
    assert (record.runner, record.questions) == ("", {})
    assert (await pair.here.take(found.names.queue("default"), hold=1.0, limit=1)).wait is None
    assert await pair.here.get(found.names.lease) is None


async def test_what_has_not_expired_or_has_ended_is_left_alone(pair: Pair) -> None:
    first, second = await made(pair.here, 2, ttl=60.0)
    tasks = Tasks(pair.here, TaskPolicy())
    agenda = Plan(ends(0), second.names.id, 0.0, 60.0)
    await tasks.change(second.names, lambda record: Step(record.completed({}, 1.0), (agenda,)))
    await reaper(pair.there).round()
    assert (await tasks.find(first.names.id)).record.status == "working"
    assert (await tasks.find(second.names.id)).record.status == "completed"


async def test_what_is_gone_is_forgotten(pair: Pair) -> None:
    [found] = await made(pair.here)
    await pair.here.delete(found.names.record)

    async def forgets() -> bool:
        await reaper(pair.there).round()
        return await expired(pair.here, found.names)

    await eventually(forgets)


async def test_two_who_both_believe_to_be_the_leader_end_each_task_once(pair: Pair) -> None:
    found = await made(pair.here, 8)

    async def ends_all() -> bool:
        await asyncio.gather(reaper(pair.here).round(), reaper(pair.there).round())
        return all([await error(pair.here, each.names) for each in found])

    await eventually(ends_all)


async def test_a_record_that_cannot_be_read_keeps_no_other_alive(pair: Pair) -> None:
    """It is the first of its partition, and comes up with the others again and again."""
    garbled, *sound = await made(pair.here, 3, ttl=60.0)
    plans = [Plan(ends(0), each.names.id, 0.0, 60.0) for each in (garbled, *sound)]
    await pair.here.commit(Put(garbled.names.record, b"\x07", 60.0), *plans, expect={})
    await reaper(pair.there).round()
    assert all([await error(pair.here, each.names) for each in sound])


async def test_an_id_that_nobody_could_have_made_harms_nothing(pair: Pair) -> None:
    [sound] = await made(pair.here, ttl=60.0)
    assert names_of("forged") is None
    plans = Plan(ends(0), "forged", 0.0, 60.0), Plan(ends(0), sound.names.id, 0.0, 60.0)
    await pair.here.commit(*plans, expect={})
    await reaper(pair.there).round()
    assert await error(pair.here, sound.names)


async def test_while_the_store_is_away_nothing_is_lost(pair: Pair) -> None:
    [found] = await made(pair.here, ttl=60.0)
    await pair.here.commit(Plan(ends(0), found.names.id, 0.0, 60.0), expect={})
    away = Doubtful([Fate.DONE, Fate.UNSENT]).view(pair.there)
    with pytest.raises(Unavailable):
        await reaper(away).round()
    assert not await error(pair.here, found.names)

    async def ends_it() -> bool:
        await reaper(pair.there).round()
        return bool(await error(pair.here, found.names))

    await eventually(ends_it)


async def test_one_of_several_processes_ends_them_and_another_one_when_it_is_gone(pair: Pair) -> None:
    await pair.here.put(LEADER, b"another's", ttl=0.2)
    [found] = await made(pair.there)
    keeper = Keeper(pair.there, lease=LEASE)
    running = asyncio.ensure_future(reaper(pair.there, keeper=keeper).run())
    try:
        while await pair.here.get(LEADER) == b"another's":
            assert not await error(pair.here, found.names)
            await asyncio.sleep(0.01)

        async def is_ended() -> bool:
            return bool(await error(pair.here, found.names))

        await eventually(is_ended)
        assert await pair.here.get(LEADER) is not None
    finally:
        running.cancel()
        await asyncio.wait([running])
    assert await pair.here.get(LEADER) is None


async def test_after_an_outage_it_goes_on(pair: Pair) -> None:
    [found] = await made(pair.here)
    away = Doubtful([Fate.UNSENT] * 2).view(pair.there)
    running = asyncio.ensure_future(reaper(away, keeper=Keeper(away, lease=LEASE)).run())
    try:

        async def is_ended() -> bool:
            return bool(await error(pair.here, found.names))

        await eventually(is_ended)
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_where_no_tool_makes_tasks_the_store_is_not_asked(pair: Pair) -> None:
    asked: list[str] = []

    class Way(Doubtful):
        async def verb(self, verb: Any, name: str, act: Any, /) -> Any:
            asked.append(verb)
            return await super().verb(verb, name, act)

    running = asyncio.ensure_future(reaper(Way().view(pair.here), makes_tasks=False).run())
    await asyncio.sleep(2 * LEASE / 3)
    running.cancel()
    await asyncio.wait([running])
    assert asked == []
