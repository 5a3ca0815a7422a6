"""Processes that are told to stop while they run tasks, and stores that are away meanwhile."""

import asyncio
from fnmatch import fnmatchcase

import pytest

from mcpfleet import Context
from mcpfleet.server.auth import Principal
from mcpfleet.server.tasks.letters import DeadLetters
from tests.answer import Json
from tests.server.tasks.clients import TAKES, becomes, begun, get, update
from tests.server.tasks.diggers import FORM
from tests.server.tasks.workshop import LEASE, SERVES, Workshop, policy, record
from tests.server.world import World, eventually

ADA = {"action": "accept", "content": {"name": "Ada"}}


def text(task: Json) -> str:
    """What a task's tool has returned."""
    said: str = task["result"]["content"][0]["text"]
    return said


def asking() -> Workshop:
    """A job that asks, or that asks once it may."""
    shop = Workshop()

    @shop.job
    async def ask(ctx: Context) -> str:
        return str((await ctx.elicit("Who?", FORM)).content)

    @shop.job
    async def ask_later(ctx: Context) -> str:
        await shop.held("ask_later")
        return str((await ctx.elicit("Who?", FORM)).content)

    return shop


@pytest.mark.parametrize("job", ["ask", "ask_later"])
async def test_a_parked_task_leaves_a_draining_process_at_once_and_goes_on_elsewhere(world: World, job: str) -> None:
    """Whether it waited for its client when its process was told to stop, or begins to then."""
    shop = asking()
    serving = await world.node(SERVES, shop.server())
    leaving = await world.node(policy(drain=60.0), shop.server())
    task_id = await begun(serving, "safe", job=job)
    if job == "ask_later":
        await shop.reached(job)
        leaving.engine.drain()
        shop.open(job)
        [key] = (await becomes(serving, task_id, "input_required"))["inputRequests"]
    else:
        [key] = (await becomes(serving, task_id, "input_required"))["inputRequests"]
        leaving.engine.drain()
    await eventually(lambda: not leaving.engine._runner.running)
    given_back = await record(world, task_id)
    assert (given_back.runner, given_back.attempt, given_back.status) == ("", 0, "input_required")
    other = await world.node(policy(), shop.server())
    await update(other, task_id, **{key: ADA})
    assert text(await becomes(serving, task_id, "completed")) == "{'name': 'Ada'}"
    assert shop.runs[job] == 2


async def test_a_parked_task_that_may_not_run_twice_stays_for_the_time_to_drain(memory: World) -> None:
    shop = asking()
    serving = await memory.node(SERVES, shop.server())
    leaving = await memory.node(policy(drain=60.0), shop.server())
    task_id = await begun(serving, "unsafe", job="ask")
    [key] = (await becomes(serving, task_id, "input_required"))["inputRequests"]
    leaving.engine.drain()
    await update(serving, task_id, **{key: ADA})
    assert text(await becomes(serving, task_id, "completed")) == "{'name': 'Ada'}"
    assert shop.runs["ask"] == 1


async def test_a_process_that_stops_finishes_what_it_can(world: World) -> None:
    shop = Workshop()
    serving, leaving = await world.node(SERVES, shop.server()), await world.node(policy(drain=60.0), shop.server())
    task_id = await begun(serving, "unsafe", job="dig")
    await shop.reached("dig")
    stopping = asyncio.ensure_future(world.stop(leaving))
    later = await begun(serving, "safe", job="later")
    await eventually(lambda: leaving.engine.draining)
    shop.open("dig")
    await stopping
    assert text(await get(serving, task_id)) == "dig"
    assert shop.runs == {"dig": 1}, "it has taken no more"
    shop.open("later")
    await world.node(policy(), shop.server())
    await becomes(serving, later, "completed")


async def test_what_a_process_that_stops_cannot_finish_is_given_back_or_fails(world: World) -> None:
    shop = Workshop()
    serving, leaving = await world.node(SERVES, shop.server()), await world.node(policy(), shop.server())
    safe, unsafe = await begun(serving, "safe", job="safe"), await begun(serving, "unsafe", job="unsafe")
    await shop.reached("safe")
    await shop.reached("unsafe")
    await world.stop(leaving)
    assert (await get(serving, unsafe))["error"]["data"] == {"reason": "server_stopped"}
    given_back = await record(world, safe)
    assert (given_back.status, given_back.runner, given_back.attempt) == ("working", "", 0)
    assert [name for name in await world.keys() if name.endswith("/alive")] == []
    assert await DeadLetters(world.store).all() == ()
    shop.open("safe")
    await world.node(policy(), shop.server())
    await becomes(serving, safe, "completed")
    assert (await record(world, safe)).attempt == 1


async def test_a_tool_that_takes_no_notice_is_left_behind_and_what_it_returns_too(memory: World) -> None:
    shop = Workshop()

    @shop.job
    async def stubborn(ctx: Context) -> str:
        while True:
            try:
                await shop.held("stubborn")
            except asyncio.CancelledError:
                shop.notes.append("cancelled")
                continue
            return "at last"

    node = await memory.node(policy(), shop.server())
    task_id = await begun(node, "safe", job="stubborn")
    await shop.reached("stubborn")
    node.engine._runner.stop()
    await eventually(lambda: shop.notes == ["cancelled"])
    shop.open("stubborn")
    await eventually(lambda: not node.engine._runner.running)
    assert (await record(memory, task_id)).status == "working"


async def test_a_result_that_is_due_while_the_store_is_away_is_delivered_when_it_is_back(world: World) -> None:
    shop = Workshop()
    serving, node = await world.node(SERVES, shop.server()), await world.node(policy(), shop.server())
    task_id = await begun(serving, "unsafe", job="dig")
    await shop.reached("dig")
    world.links[node].away = True
    shop.open("dig")
    await asyncio.sleep(0.2)
    assert (await get(serving, task_id))["status"] == "working"
    world.links[node].away = False
    assert text(await becomes(serving, task_id, "completed")) == "dig"
    assert shop.runs["dig"] == 1


async def test_a_result_is_not_held_for_ever(memory: World) -> None:
    shop = Workshop()
    serving, node = await memory.node(SERVES, shop.server()), await memory.node(policy(hold=0.1), shop.server())
    task_id = await begun(serving, "unsafe", job="dig")
    await shop.reached("dig")
    memory.links[node].away = True
    shop.open("dig")
    await eventually(lambda: not node.engine._runner.running)
    await memory.node(policy(), shop.server())
    assert (await becomes(serving, task_id, "failed"))["error"]["data"] == {"reason": "outcome_unknown"}


@pytest.mark.parametrize("tool", ["safe", "unsafe"])
async def test_an_outage_for_all_that_ends_every_lease_ends_no_task_and_runs_none_again(
    memory: World, tool: str
) -> None:
    shop = Workshop()
    nodes = [await memory.node(policy(), shop.server()) for _ in range(3)]
    tasks = [await begun(nodes[0], tool, job=str(number)) for number in range(4)]
    await eventually(lambda: shop.runs.total() == 4)
    for node in nodes:
        memory.links[node].away = True
    await memory.control.age(3 * LEASE)
    await asyncio.sleep(LEASE)
    for node in nodes:
        memory.links[node].away = False
    await asyncio.sleep(3 * LEASE)
    for number in range(4):
        shop.open(str(number))
    for task_id in tasks:
        await becomes(nodes[0], task_id, "completed")
    assert shop.runs.total() == 4


async def test_a_step_that_is_done_while_the_store_is_away_is_kept(world: World) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        await shop.held("dig")
        return str(await ctx.step("one", lambda: shop.done("one", 1)))

    node = await world.node(policy(), shop.server())
    task_id = await begun(node, "safe", job="dig")
    await shop.reached("dig")
    world.links[node].away = True
    shop.open("dig")
    await eventually(lambda: shop.steps["one"] == 1)
    await asyncio.sleep(0.1)
    world.links[node].away = False
    assert text(await becomes(node, task_id, "completed")) == "1"
    assert shop.steps["one"] == 1


@pytest.mark.parametrize("how", ["completes", "is cancelled", "expires", "dies", "ends unheard"])
async def test_whose_task_has_ended_may_make_another_one(memory: World, how: str) -> None:
    shop = Workshop()
    ada = Principal("ada")
    tasks: Json = {"max_tasks_each": 1, "max_tasks": 1, "ttl": 0.3 if how == "expires" else 60.0}
    serving = await memory.node(policy(queues=("nothing",), **tasks), shop.server())
    node = await memory.node(policy(**tasks), shop.server())
    task_id = await begun(serving, "unsafe", ada, job="dig")
    await shop.reached("dig")
    if how == "completes":
        shop.open("dig")
    if how == "is cancelled":
        await serving.modern("tasks/cancel", {"taskId": task_id}, meta=TAKES, principal=ada).got()
    if how == "dies":
        await memory.node(policy(**tasks), shop.server())
        await memory.crash(node)
    if how == "ends unheard":
        link = memory.links[node]
        link.lossy = "commit tasks.*"  # the task has ended, and the process hears only later that it has
        link.cut_at("get tasks.*")
        shop.open("dig")
        await eventually(lambda: link.away)
        link.restore()

    async def is_free() -> bool:
        got = await serving.modern(
            "tools/call", {"name": "safe", "arguments": {"job": "more"}}, meta=TAKES, principal=ada
        ).got()
        return got.status == 200

    await eventually(is_free)


@pytest.mark.parametrize("tool", ["safe", "unsafe"])
async def test_what_a_process_that_stops_has_taken_and_not_begun_is_given_back(memory: World, tool: str) -> None:
    shop = Workshop()
    serving, leaving = await memory.node(SERVES, shop.server()), await memory.node(policy(), shop.server())
    go = memory.links[leaving].hold("commit tasks.*/record")
    task_id = await begun(serving, tool, job="dig")
    await memory.links[leaving].reached("commit tasks.*/record")
    leaving.engine._runner.stop()
    go()

    def changes() -> int:
        return len([verb for verb in memory.links[leaving].verbs if fnmatchcase(verb, "commit tasks.*/record")])

    await eventually(lambda: changes() == 2 and not leaving.engine._runner.running)
    await memory.stop(leaving)
    given_back = await record(memory, task_id)
    assert (given_back.status, given_back.runner, given_back.attempt, shop.runs.total()) == ("working", "", 0, 0)
    shop.open("dig")
    await memory.node(policy(), shop.server())
    await becomes(serving, task_id, "completed")


async def test_who_stops_as_a_result_is_being_stored_stores_it(memory: World) -> None:
    shop = Workshop()
    serving, node = await memory.node(SERVES, shop.server()), await memory.node(policy(), shop.server())
    task_id = await begun(serving, "unsafe", job="dig")
    await shop.reached("dig")
    go = memory.links[node].hold("commit tasks.*/record")
    shop.open("dig")
    await memory.links[node].reached("commit tasks.*/record")
    node.engine._runner.stop()
    await asyncio.sleep(0)
    go()
    assert text(await becomes(serving, task_id, "completed")) == "dig"
