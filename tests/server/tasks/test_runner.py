"""Which tasks a process takes, when, and how many at once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcpfleet import Context, Server
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.server.engine import Engine
from mcpfleet.server.tasks import runner
from mcpfleet.server.tasks.names import queue
from tests.server.tasks.clients import becomes, begun, get, update
from tests.server.tasks.diggers import FORM
from tests.server.tasks.hands import Hand, maker
from tests.server.tasks.hands import call as tasks_call
from tests.server.tasks.workshop import SERVES, TWICE, Workshop, policy, record
from tests.server.world import World, eventually

DECLINED = {"action": "decline"}


async def test_a_process_runs_so_many_tasks_at_once(world: World) -> None:
    shop = Workshop()
    node = await world.node(policy(concurrency=2), shop.server())
    for number in range(4):
        await begun(node, "safe", job=str(number))
    await eventually(lambda: shop.runs.total() == 2)
    first, second = shop.runs
    shop.open(first)
    await eventually(lambda: shop.runs.total() == 3)
    assert node.engine._runner.running == 2
    for number in range(4):
        shop.open(str(number))
    await eventually(lambda: shop.runs.total() == 4 and not node.engine._runner.running)
    assert second != first


async def test_tasks_that_wait_for_their_clients_keep_no_others_out(world: World) -> None:
    shop = Workshop()

    @shop.job
    async def ask(ctx: Context) -> str:
        return (await ctx.elicit("Who?", FORM)).action

    node = await world.node(policy(concurrency=1), shop.server())
    asking = [await begun(node, "safe", job="ask") for _ in range(20)]
    keys = [[*(await becomes(node, each, "input_required"))["inputRequests"]] for each in asking]
    shop.open("dig")
    await becomes(node, await begun(node, "safe", job="dig"), "completed")
    assert node.engine._runner.running == 20
    for task_id, [key] in zip(asking, keys, strict=True):
        await update(node, task_id, **{key: DECLINED})
    for task_id in asking:
        await becomes(node, task_id, "completed")
    assert shop.runs["ask"] == 20, "each was woken, not begun again"
    shop.open("again")
    await becomes(node, await begun(node, "safe", job="again"), "completed")


async def test_an_answered_task_waits_for_a_place_to_go_on(memory: World) -> None:
    shop = Workshop()

    @shop.job
    async def ask(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", FORM)
        shop.notes.append("went on")
        return answer.action

    node = await memory.node(policy(concurrency=1), shop.server())
    asking = await begun(node, "safe", job="ask")
    [key] = (await becomes(node, asking, "input_required"))["inputRequests"]
    busy = await begun(node, "safe", job="dig")
    await shop.reached("dig")
    await update(node, asking, **{key: DECLINED})
    await becomes(node, asking, "working")
    assert shop.notes == []
    shop.open("dig")
    await becomes(node, busy, "completed")
    await becomes(node, asking, "completed")
    assert shop.notes == ["went on"]


async def test_a_tool_has_no_more_runs_in_a_process_than_it_may(world: World) -> None:
    shop = Workshop()
    node = await world.node(policy(), shop.server(limit=1))
    first = await begun(node, "safe", job="first")
    await shop.reached("first")
    second = await begun(node, "safe", job="second")
    other = await begun(node, "unsafe", job="other")
    await shop.reached("other")
    assert shop.runs == {"first": 1, "other": 1}
    shop.open("first")
    await becomes(node, first, "completed")
    await shop.reached("second")
    shop.open("second")
    shop.open("other")
    await becomes(node, second, "completed")
    await becomes(node, other, "completed")


async def test_the_more_tasks_wait_for_a_place_of_their_tool_the_less_often_each_is_looked_at() -> None:
    kept = MemoryStore()
    shop, backplane = Workshop(), MemoryBackplane(kept)
    hand = Hand(backplane, shop.server(limit=1))

    async def pauses(count: int) -> list[float]:
        """How long so many tasks are put off."""
        made = [(await maker(backplane).create(tasks_call("safe", "dig"), ttl=600.0)).names for _ in range(count)]
        await hand.takes()
        agenda, now = kept.agenda(made[0].queue("default")), kept.clock()
        return [agenda[names.id] - now for names in made]

    await maker(backplane).create(tasks_call("safe", "first"), ttl=600.0)
    running = asyncio.ensure_future(hand.takes())
    await shop.reached("first")
    waits = await pauses(30)
    assert min(waits) < 0.6
    assert max(waits) > 1.9
    shop.open("first")
    await running
    await maker(backplane).create(tasks_call("safe", "second"), ttl=600.0)
    running = asyncio.ensure_future(hand.takes())
    await shop.reached("second")
    assert max(await pauses(1)) < 0.6
    shop.open("second")
    await running


def queues(shop: Workshop) -> Server:
    """A server with a tool for each of three queues."""
    server = Server("queues", version="1")
    for name in ("default", "fast", "slow"):
        server.tool(name=name, task="optional", queue=name, annotations=TWICE)(digging(shop, name))
    return server


def digging(shop: Workshop, name: str) -> Callable[[], Awaitable[str]]:
    """A tool that notes that it was begun, and waits."""

    async def dig() -> str:
        shop.runs[name] += 1
        shop.notes.append(name)
        await shop.held(name)
        return name

    return dig


async def test_nothing_of_a_later_queue_is_begun_while_an_earlier_one_has_something(world: World) -> None:
    shop = Workshop()
    serving = await world.node(SERVES, queues(shop))
    for name in ("slow", "default", "slow", "fast", "default", "fast"):
        shop.open(name)
        await begun(serving, name)
    await world.node(policy(concurrency=1, queues=("fast", "slow", "default")), queues(shop))
    await eventually(lambda: len(shop.notes) == 6)
    assert shop.notes == ["fast", "fast", "slow", "slow", "default", "default"]


async def test_a_process_takes_from_its_queues_and_no_others(world: World) -> None:
    shop = Workshop()
    serving = await world.node(SERVES, queues(shop))
    tasks = {name: await begun(serving, name) for name in ("default", "fast", "slow")}
    for name in tasks:
        shop.open(name)
    worker = await world.node(policy(queues=("fast", "slow")), queues(shop))
    await becomes(worker, tasks["slow"], "completed")
    await becomes(worker, tasks["fast"], "completed")
    assert (await get(worker, tasks["default"]))["status"] == "working"
    assert shop.runs["default"] == 0


async def test_unless_told_a_process_takes_from_every_queue_of_its_tools_the_default_one_first(world: World) -> None:
    shop = Workshop()
    serving = await world.node(SERVES, queues(shop))
    for name in ("slow", "fast", "default"):
        shop.open(name)
        await begun(serving, name)
    await world.node(policy(concurrency=1), queues(shop))
    await eventually(lambda: len(shop.notes) == 3)
    assert shop.notes == ["default", "fast", "slow"]


async def test_a_task_whose_tool_is_not_here_waits_for_a_process_that_has_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "ELSEWHERE_SECONDS", 0.05)
    shop = Workshop()
    newer = await world.node(SERVES, shop.server())
    task_id = await begun(newer, "safe", job="dig")
    older = await world.node(policy(), queues(shop))
    shop.open("default")
    await becomes(older, await begun(older, "default"), "completed")
    await eventually(lambda: world.links[older].verbs.count(f"commit {names(task_id)}") > 2)
    assert (await get(newer, task_id))["status"] == "working"
    shop.open("dig")
    await world.node(policy(), shop.server())
    await becomes(newer, task_id, "completed")


def names(task_id: str) -> str:
    """The agenda that a task of the default queue is on."""
    return queue(int(task_id[1:].partition("-")[0]), "default")


async def test_processes_that_serve_run_tasks_only_while_no_worker_lives(world: World) -> None:
    shop = Workshop()
    serving = await world.node(policy(worker=False), shop.server())
    worker = await world.node(policy(), shop.server())
    await world.beat(worker, serving)
    for number in range(4):
        await begun(serving, "safe", job=str(number))
    await eventually(lambda: worker.engine._runner.running == 4)
    assert serving.engine._runner.running == 0
    await world.crash(worker)
    for number in range(4):
        shop.open(str(number))
    await serving.engine._pulse.round()
    serving.engine._pulse._members.pop(worker.engine.id)
    await eventually(lambda: shop.runs.total() == 8 and not serving.engine._runner.running)


async def test_a_process_that_does_not_know_the_fleet_yet_takes_no_tasks() -> None:
    engine = Engine(Workshop().server(), MemoryBackplane(MemoryStore()), policy(worker=False))
    assert not engine._runs_tasks("default")
    await engine._pulse.round()
    assert engine._runs_tasks("default")


async def test_a_worker_that_leaves_is_followed_at_once_by_those_that_serve(memory: World) -> None:
    shop = Workshop()
    serving = await memory.node(policy(worker=False), shop.server())
    worker = await memory.node(policy(), shop.server())
    await memory.beat(worker, serving)
    task_id = await begun(serving, "safe", job="dig")
    await shop.reached("dig")
    await memory.stop(worker)
    await memory.beat(serving)
    await shop.reached("dig")
    assert serving.engine._runner.running == 1
    assert (await record(memory, task_id)).attempt == 1


async def test_a_worker_that_drains_is_none_any_more(memory: World) -> None:
    shop = Workshop()
    serving = await memory.node(policy(worker=False), shop.server())
    worker = await memory.node(policy(drain=60.0), shop.server())
    await memory.beat(worker, serving)
    busy = await begun(serving, "unsafe", job="busy")
    await shop.reached("busy")
    worker.engine.drain()
    await memory.beat(worker, serving)
    await begun(serving, "safe", job="dig")
    await shop.reached("dig")
    assert serving.engine._runner.running == 1
    assert worker.engine._runner.running == 1
    shop.open("busy")
    await becomes(serving, busy, "completed")


async def test_a_worker_of_some_queues_leaves_the_others_to_those_that_serve(memory: World) -> None:
    shop = Workshop()
    serving = await memory.node(policy(worker=False), queues(shop))
    worker = await memory.node(policy(queues=("slow",)), queues(shop))
    await memory.beat(worker, serving)
    await begun(serving, "slow")
    await begun(serving, "fast")
    await shop.reached("slow")
    await shop.reached("fast")
    assert (worker.engine._runner.running, serving.engine._runner.running) == (1, 1)


@pytest.mark.parametrize("idle", ["unwanted", "draining"])
async def test_a_process_that_takes_no_tasks_waits_quietly(memory: World, idle: str) -> None:
    shop = Workshop()
    node = await memory.node(policy(worker=idle == "draining", drain=60.0), shop.server())
    own = node.engine._runner
    if idle == "draining":
        node.engine.drain()
    else:
        worker = await memory.node(policy(), shop.server())
        await memory.beat(worker, node)
    looks: list[Any] = []
    asked = own._queues

    def counting() -> Any:
        looks.append(None)
        return asked()

    own._queues = counting  # type: ignore[method-assign]  # nobody else tells how often it is asked
    shop.open("dig")
    await begun(node, "safe", job="dig")
    await asyncio.sleep(0.4)
    assert len(looks) < 8


async def test_a_task_that_becomes_due_later_is_begun_then(memory: World) -> None:
    """Nothing rings for it."""
    shop = Workshop()
    node = await memory.node(policy(backoff=0.3), shop.server())
    serving = await memory.node(SERVES, shop.server())
    task_id = await begun(serving, "safe", job="dig")
    await shop.reached("dig")
    other = await memory.node(policy(backoff=0.3), shop.server())
    await memory.crash(node)
    await shop.reached("dig")
    shop.open("dig")
    await becomes(other, task_id, "completed")


async def test_a_bell_that_is_missed_costs_a_while_and_no_task(memory: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LOOK_EVERY", 0.2)
    shop = Workshop()
    shop.open("dig")
    node = await memory.node(policy(), shop.server())
    node.engine._runner._woken.set = lambda: None  # type: ignore[method-assign]  # it hears of none
    await becomes(node, await begun(node, "safe", job="dig"), "completed")


async def test_after_an_outage_tasks_are_taken_again(world: World) -> None:
    shop = Workshop()
    serving, worker = await world.node(SERVES, shop.server()), await world.node(policy(), shop.server())
    world.links[worker].away = True
    shop.open("dig")
    task_id = await begun(serving, "safe", job="dig")
    await asyncio.sleep(0.1)
    assert shop.runs.total() == 0
    world.links[worker].away = False
    await becomes(serving, task_id, "completed")
