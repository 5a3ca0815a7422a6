"""A record that nobody can make sense of stops nobody."""

import asyncio

from mcpfleet import Server
from mcpfleet.backplane.base import Backplane, Plan, Put
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.stored import pack
from mcpfleet.server.engine import Engine
from mcpfleet.server.policy import Policy
from mcpfleet.server.tasks.names import names_of
from mcpfleet.server.tasks.policy import TaskPolicy
from mcpfleet.server.tasks.record import Record, Work
from mcpfleet.server.tasks.store import Found, Tasks

POISON = Work(tool="work", owner=("", "", ""), params=b"[", caller=b"{}", memory=b"{}", queue="default")
SOUND = Work(
    tool="work",
    owner=("", "", ""),
    params=b'{"name":"work"}',
    caller=b'{"revision":"2026-07-28","info":null,"capabilities":{},"log_level":null,"given":{},"state":null,"anonymous":true}',
    memory=b'{"asked":[],"answers":{},"steps":{}}',
    queue="default",
)


def server() -> Server:
    made = Server("s")
    made.tool(task="optional", name="work")(lambda: "done")
    return made


async def ended(backplane: Backplane, tasks: Tasks, found: Found) -> str:
    """How a task ended."""
    async with asyncio.timeout(10), backplane.watch(found.names.record) as bell:
        while not (record := (await tasks.find(found.names.id)).record).terminal:
            await bell.rung()
    return record.status


async def test_a_task_whose_record_is_broken_stops_no_other() -> None:
    backplane = MemoryBackplane(MemoryStore())
    policy = Policy(drain=0.2, tasks=TaskPolicy(worker=True, concurrency=1))
    tasks = Tasks(backplane, policy.tasks)
    garbled = names_of("t1-" + "0" * 32)
    assert garbled is not None
    async with Engine(server(), backplane, policy).running():
        await tasks.create(POISON, ttl=60)
        broken = Put(garbled.record, b"\x07", 60), Plan(garbled.queue("default"), garbled.id, 0, 60)
        await backplane.commit(*broken, expect={}, ring=(garbled.bell,))
        newer = names_of("t1-" + "1" * 32)
        assert newer is not None
        record = pack(Record(work=POISON, created=0.0, updated=0.0, ttl=1e9))
        planned = Put(newer.record, record, 60), Plan(newer.queue("default"), newer.id, 0, 60)
        await backplane.commit(*planned, expect={}, ring=(newer.bell,))
        assert await ended(backplane, tasks, await tasks.create(SOUND, ttl=60)) == "completed"
