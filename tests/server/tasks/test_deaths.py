"""Processes that die, or are believed dead, while they run tasks."""

import pytest

from mcpfleet import Context
from mcpfleet.server.tasks.letters import DeadLetters
from tests.answer import Json
from tests.server.tasks.clients import becomes, begun, get, update
from tests.server.tasks.diggers import FORM
from tests.server.tasks.workshop import SERVES, Workshop, policy, record
from tests.server.world import World, eventually

ADA = {"action": "accept", "content": {"name": "Ada"}}


def text(task: Json) -> str:
    """What a task's tool has returned."""
    said: str = task["result"]["content"][0]["text"]
    return said


async def test_a_task_whose_process_dies_is_run_again_by_another(world: World) -> None:
    shop = Workshop()
    doomed, serving = await world.node(policy(), shop.server()), await world.node(SERVES, shop.server())
    task_id = await begun(serving, "safe", job="dig")
    await shop.reached("dig")
    other = await world.node(policy(), shop.server())
    await world.crash(doomed)
    await shop.reached("dig")
    assert (await get(serving, task_id))["status"] == "working"
    shop.open("dig")
    assert text(await becomes(other, task_id, "completed")) == "dig"
    assert shop.runs["dig"] == 2
    assert (await record(world, task_id)).attempt == 2


async def test_a_task_that_may_not_run_twice_fails_with_its_process(world: World) -> None:
    shop = Workshop()
    doomed, other = await world.node(policy(), shop.server()), await world.node(policy(), shop.server())
    task_id = await begun(other, "unsafe", job="dig")
    await shop.reached("dig")
    holder = doomed if doomed.engine._runner.running else other
    survivor = other if holder is doomed else doomed
    await world.crash(holder)
    task = await becomes(survivor, task_id, "failed")
    assert task["error"]["data"] == {"reason": "outcome_unknown"}
    assert shop.runs["dig"] == 1
    [letter] = await DeadLetters(world.store).all()
    assert (letter.task_id, letter.tool, letter.reason, letter.attempts) == (task_id, "unsafe", "outcome_unknown", 1)


async def test_a_task_that_every_process_dies_of_is_given_up_after_so_many_attempts(world: World) -> None:
    shop = Workshop()
    serving = await world.node(SERVES, shop.server())
    task_id = await begun(serving, "safe", job="poison")
    for _ in range(2):
        doomed = await world.node(policy(attempts=2), shop.server())
        await shop.reached("poison")
        await world.crash(doomed)
    last = await world.node(policy(attempts=2), shop.server())
    task = await becomes(last, task_id, "failed")
    assert task["error"]["data"] == {"reason": "attempts_exhausted"}
    assert shop.runs["poison"] == 2
    [letter] = await DeadLetters(world.store).all()
    assert (letter.task_id, letter.reason, letter.attempts) == (task_id, "attempts_exhausted", 2)


async def test_a_task_is_begun_again_only_after_a_pause_that_grows(memory: World) -> None:
    shop = Workshop()
    serving = await memory.node(SERVES, shop.server())
    task_id = await begun(serving, "safe", job="dig")
    doomed = await memory.node(policy(backoff=50.0), shop.server())
    await shop.reached("dig")
    other = await memory.node(policy(backoff=50.0), shop.server())
    await memory.crash(doomed)

    async def is_released() -> bool:
        return not (await record(memory, task_id)).runner

    await eventually(is_released)
    assert (await record(memory, task_id)).attempt == 1
    names = (await other.engine._runner._tasks.find(task_id)).names
    wait = (await memory.store.take(names.queue("default"), hold=1.0, limit=1)).wait
    assert wait is not None
    assert 40 < wait <= 50
    assert shop.runs["dig"] == 1


async def test_the_next_attempt_finds_what_was_done_in_steps_and_answered(world: World) -> None:
    shop = Workshop()

    @shop.job
    async def survey(ctx: Context) -> str:
        first = await ctx.step("first", lambda: shop.done("first", {"depth": 3}))
        name = await ctx.elicit("Who?", FORM)
        second = await ctx.step("second", lambda: shop.done("second", name.content))
        await shop.held("end")
        return f"{first} {second}"

    doomed = await world.node(policy(), shop.server())
    serving = await world.node(SERVES, shop.server())
    task_id = await begun(serving, "safe", job="survey")
    [key] = (await becomes(serving, task_id, "input_required"))["inputRequests"]
    await update(serving, task_id, **{key: ADA})
    await shop.reached("end")
    other = await world.node(policy(), shop.server())
    await world.crash(doomed)
    await shop.reached("end")
    shop.open("end")
    assert text(await becomes(other, task_id, "completed")) == "{'depth': 3} {'name': 'Ada'}"
    assert shop.steps == {"first": 1, "second": 1}
    assert shop.runs["survey"] == 2


async def test_a_parked_task_whose_process_dies_waits_for_its_answers_and_goes_on_elsewhere(world: World) -> None:
    shop = Workshop()

    @shop.job
    async def survey(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", FORM)
        return str(answer.content)

    doomed = await world.node(policy(), shop.server())
    serving = await world.node(SERVES, shop.server())
    task_id = await begun(serving, "safe", job="survey")
    [key] = (await becomes(serving, task_id, "input_required"))["inputRequests"]
    await world.crash(doomed)
    other = await world.node(policy(), shop.server())

    async def is_released() -> bool:
        return not (await record(world, task_id)).runner

    await eventually(is_released)
    assert (await get(serving, task_id))["inputRequests"].keys() == {key}
    assert shop.runs["survey"] == 1, "nothing runs while nobody has answered"
    await update(serving, task_id, **{key: ADA})
    assert text(await becomes(other, task_id, "completed")) == "{'name': 'Ada'}"
    assert shop.runs["survey"] == 2


async def test_an_answer_that_comes_while_the_process_is_dead_and_nobody_knows_resumes_the_task_once(
    world: World,
) -> None:
    shop = Workshop()

    @shop.job
    async def survey(ctx: Context) -> str:
        return str((await ctx.elicit("Who?", FORM)).content)

    doomed = await world.node(policy(), shop.server())
    serving = await world.node(SERVES, shop.server())
    task_id = await begun(serving, "safe", job="survey")
    [key] = (await becomes(serving, task_id, "input_required"))["inputRequests"]
    other = await world.node(policy(), shop.server())
    await world.crash(doomed)
    await update(serving, task_id, **{key: ADA})
    assert text(await becomes(other, task_id, "completed")) == "{'name': 'Ada'}"
    assert shop.runs["survey"] == 2


@pytest.mark.parametrize("act", ["progress", "step", "question", "end", "raise"])
async def test_a_process_that_was_believed_dead_and_wakes_writes_nothing_more(world: World, act: str) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        attempt = shop.runs["dig"]
        if attempt == 2:
            await shop.held("second")
            return "second"
        await shop.held("first")
        try:
            if act == "progress":
                await ctx.report_progress(1, message="from beyond")
                await shop.held("for ever")
            elif act == "step":
                await ctx.step("beyond", lambda: shop.done("beyond"))
            elif act == "question":
                await ctx.elicit("From beyond?", FORM)
            elif act == "raise":
                raise ValueError("from beyond")
            shop.notes.append("went on")
        finally:
            shop.notes.append("ended")
        return "first"

    zombie = await world.node(policy(), shop.server())
    serving = await world.node(SERVES, shop.server())
    task_id = await begun(serving, "safe", job="dig")
    await shop.reached("first")
    wake = world.links[zombie].hold("*")
    other = await world.node(policy(), shop.server())
    await shop.reached("second")
    shop.open("first")
    wake()
    await eventually(lambda: "ended" in shop.notes and not zombie.engine._runner.running)
    assert act == "end" or "went on" not in shop.notes
    task = await get(serving, task_id)
    assert (task["status"], task.get("statusMessage")) == ("working", None)
    shop.open("second")
    assert text(await becomes(other, task_id, "completed")) == "second"
    assert shop.runs["dig"] == 2
    stored = await record(world, task_id)
    assert (stored.attempt, stored.steps, stored.questions) == (2, b"{}", {})


async def test_a_task_that_ends_as_it_is_taken_for_dead_leaves_no_dead_letter(memory: World) -> None:
    """Whoever gives it up has written its letter, and finds that the task has ended all the same."""
    shop = Workshop()
    zombie = await memory.node(policy(), shop.server())
    serving = await memory.node(SERVES, shop.server())
    task_id = await begun(serving, "unsafe", job="dig")
    await shop.reached("dig")
    wake = memory.links[zombie].hold("*")
    other = await memory.node(policy(), shop.server())
    go = memory.links[other].hold("commit tasks.*")
    await memory.links[other].reached("commit tasks.*")
    assert [letter.task_id for letter in await DeadLetters(memory.store).all()] == [task_id]
    shop.open("dig")
    wake()
    assert text(await becomes(serving, task_id, "completed")) == "dig"
    go()

    async def is_withdrawn() -> bool:
        return not await DeadLetters(memory.store).all()

    await eventually(is_withdrawn)
