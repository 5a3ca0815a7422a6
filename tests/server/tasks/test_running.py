"""What a tool can do, and what its task comes to, while it runs as a task."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from mcpfleet import Context, Depends, Principal, ProtocolError, Server
from mcpfleet.backplane import base
from mcpfleet.errors import NotAnswered
from mcpfleet.protocol.headers import NO_HEADERS
from mcpfleet.server.tasks import attempt
from tests.answer import Json
from tests.server.tasks.clients import ask, becomes, begun, get, update
from tests.server.tasks.diggers import FORM
from tests.server.tasks.workshop import SERVES, TWICE, Workshop, policy, record
from tests.server.world import World, eventually

ADA = {"action": "accept", "content": {"name": "Ada"}}


def text(task: Json) -> str:
    """What a task's tool has returned."""
    said: str = task["result"]["content"][0]["text"]
    return said


async def test_a_cancelled_task_stops_its_tool_at_once_and_what_cleans_up_cannot_hang(world: World) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        try:
            await shop.held("dig")
        finally:
            shop.notes.append("cancelled")
            try:
                await ctx.report_progress(1, message="cleaning up")
                await ctx.step("clean", lambda: shop.done("clean"))
            finally:
                shop.notes.append("cleaned up")
        return "dug"

    node = await world.node(policy(), shop.server())
    task_id = await begun(node, "safe", job="dig")
    await shop.reached("dig")
    await ask(node, "tasks/cancel", task_id)
    await eventually(lambda: not node.engine._runner.running)
    assert shop.notes == ["cancelled", "cleaned up"]
    task = await get(node, task_id)
    assert (task["status"], "result" in task, "statusMessage" in task) == ("cancelled", False, False)


@pytest.mark.parametrize("how", ["cancelled", "expired", "leaving"])
async def test_who_asks_when_his_run_was_stopped_gets_no_answer_and_does_not_wait(memory: World, how: str) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        try:
            await shop.held("dig")
        finally:
            try:
                await ctx.elicit("Shall I clean up?", FORM)
            finally:
                shop.notes.append("cleaned up")
        return "dug"

    ttl = 0.2 if how == "expired" else 60.0
    node = await memory.node(policy(ttl=ttl), shop.server())
    serving = await memory.node(SERVES, shop.server())
    task_id = await begun(node, "safe", job="dig")
    await shop.reached("dig")
    if how == "cancelled":
        await ask(node, "tasks/cancel", task_id)
    if how == "leaving":
        node.engine._runner.stop()
    await eventually(lambda: not node.engine._runner.running)
    assert shop.notes == ["cleaned up"]
    assert "inputRequests" not in await get(serving, task_id)


async def test_a_part_of_a_run_that_finds_it_superseded_ends_with_it(memory: World) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(shop.held("for ever"))
            group.create_task(ctx.step("part", part))
        return "dug"

    async def part() -> None:
        await shop.held("part")

    node = await memory.node(policy(), shop.server())
    task_id = await begun(node, "safe", job="dig")
    await shop.reached("part")
    go = memory.links[node].hold("get tasks.*/record")  # it does not hear that the task has ended before it writes
    serving = await memory.node(SERVES, shop.server())
    await ask(serving, "tasks/cancel", task_id)
    shop.open("part")
    go()
    await eventually(lambda: not node.engine._runner.running)
    assert (await get(serving, task_id))["status"] == "cancelled"


async def test_a_task_that_vanished_stops_its_tool_without_a_failure(
    memory: World, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        await shop.held("dig")
        await ctx.step("more", lambda: shop.done("more"))
        shop.notes.append("went on")
        return "dug"

    node = await memory.node(policy(), shop.server())
    task_id = await begun(node, "safe", job="dig")
    await shop.reached("dig")
    names = (await node.engine._runner._tasks.find(task_id)).names
    await memory.store.delete(names.record)
    shop.open("dig")
    await eventually(lambda: not node.engine._runner.running)
    assert shop.notes == []
    assert "failed; correlation id" not in caplog.text


async def test_a_task_ends_when_its_time_is_up_although_it_runs(world: World) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        try:
            await shop.held("dig")
        except asyncio.CancelledError:
            shop.notes.append("cancelled")
            raise
        return "dug"

    node = await world.node(policy(ttl=0.3), shop.server())
    task_id = await begun(node, "safe", job="dig")
    task = await becomes(node, task_id, "failed")
    await eventually(lambda: shop.notes == ["cancelled"])
    assert task["error"]["data"] == {"reason": "expired"}


async def test_a_parked_task_ends_when_its_time_is_up(world: World) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        return (await ctx.elicit("Who?", FORM)).action

    node = await world.node(policy(ttl=0.3), shop.server())
    task_id = await begun(node, "safe", job="dig")
    [key] = (await becomes(node, task_id, "input_required"))["inputRequests"]
    task = await becomes(node, task_id, "failed")
    assert task["error"]["data"] == {"reason": "expired"}
    assert "inputRequests" not in task
    await update(node, task_id, **{key: ADA})
    assert (await get(node, task_id)) == task
    await eventually(lambda: not node.engine._runner.running)


async def test_a_synchronous_tool_learns_that_its_task_was_cancelled(memory: World) -> None:
    server, seen = Server("s", version="1"), asyncio.Event()
    loop, begins = asyncio.get_running_loop(), asyncio.Event()

    @server.tool(task="optional")
    def dig(ctx: Context) -> str:
        loop.call_soon_threadsafe(begins.set)
        while not ctx.cancelled:
            pass
        loop.call_soon_threadsafe(seen.set)
        return "dug"

    node = await memory.node(policy(), server)
    task_id = await begun(node, "dig")
    async with asyncio.timeout(10):
        await begins.wait()
        await ask(node, "tasks/cancel", task_id)
        await seen.wait()
    assert (await get(node, task_id))["status"] == "cancelled"


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 1


@pytest.mark.parametrize("tool", ["safe", "unsafe"])
@pytest.mark.parametrize(
    "raised",
    [
        ProtocolError(-32050, "no JSON", {"data": object()}),
        ProtocolError(-32050, "no Unicode: \ud800"),
        ProtocolError(-32050, "too deep", nested(300)),
    ],
    ids=["an object", "a surrogate", "too deep"],
)
async def test_an_error_that_cannot_be_stored_ends_the_task_all_the_same(
    memory: World, tool: str, raised: ProtocolError, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        raise raised

    node = await memory.node(policy(), shop.server())
    task = await becomes(node, await begun(node, tool, job="dig"), "failed")
    assert (task["error"]["code"], task["error"]["message"]) == (-32603, "Internal error")
    assert task["error"]["data"]["correlationId"] in caplog.text
    assert shop.runs["dig"] == 1


@pytest.mark.parametrize("result", [{"a": float("nan")}, {"a": nested(300)}, 7], ids=["NaN", "too deep", "no result"])
async def test_a_result_that_cannot_be_sent_ends_the_task_all_the_same(memory: World, result: Any) -> None:
    shop = Workshop()
    shop.open("dig")
    server = shop.server()

    @server.around_request("tools/call")
    async def spoil(message: Any, call_next: Any) -> Any:
        given = await call_next(message)
        return result if shop.runs["dig"] else given

    node = await memory.node(policy(), server)
    task = await becomes(node, await begun(node, "unsafe", job="dig"), "failed" if result != 7 else "completed")
    assert "correlationId" in str(task) or "Correlation id" in str(task)
    assert shop.runs["dig"] == 1


async def test_a_result_that_the_store_does_not_take_fails_the_task(
    memory: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        return "x" * 5000

    node = await memory.node(policy(), shop.server())
    monkeypatch.setattr(base, "MAX_ENTRY_BYTES", 4000)
    task = await becomes(node, await begun(node, "unsafe", job="dig"), "failed")
    assert task["error"]["data"] == {"reason": "result_too_large"}


async def test_progress_is_the_message_of_the_task_while_it_runs_and_not_when_it_has_ended(world: World) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        await ctx.report_progress(1, total=4)
        await shop.held("first")
        await ctx.report_progress(2, message="halfway")
        await shop.held("second")
        await ctx.report_progress(3, message="never stored")
        return "dug"

    node = await world.node(policy(), shop.server())
    task_id = await begun(node, "safe", job="dig")

    async def says(message: str) -> None:
        async def said() -> bool:
            return (await get(node, task_id)).get("statusMessage") == message

        await eventually(said)

    await says("1 of 4")
    shop.open("first")
    await says("halfway")
    shop.open("second")
    task = await becomes(node, task_id, "completed")
    assert "statusMessage" not in task
    assert [name for name in await world.keys() if name.endswith(("/progress", "/alive"))] == []


async def test_of_what_is_said_at_once_the_newest_is_stored(memory: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        for number in range(1, 501):
            await ctx.report_progress(number)
            await asyncio.sleep(0)
        await shop.held("dig")
        return "dug"

    assert attempt.SAY_EVERY == 0.25
    monkeypatch.setattr(attempt, "SAY_EVERY", 0.05)
    node = await memory.node(policy(), shop.server())
    task_id = await begun(node, "safe", job="dig")

    async def is_told() -> bool:
        return (await get(node, task_id)).get("statusMessage") == "500"

    await eventually(is_told)
    said = [verb for verb in memory.links[node].verbs if verb.startswith("commit") and verb.endswith("/progress")]
    assert 1 <= len(said) < 50
    shop.open("dig")
    await becomes(node, task_id, "completed")


@pytest.mark.parametrize("message", ["x" * 5000, "\ud800"], ids=["too large", "no Unicode"])
async def test_what_cannot_be_said_does_not_end_the_run(
    memory: World, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        try:
            await ctx.report_progress(1, message=message)
        except ValueError:
            shop.notes.append("refused")
        await asyncio.sleep(0.05)
        await ctx.report_progress(2, message="fine")
        await shop.held("dig")
        return "dug"

    monkeypatch.setattr(attempt, "SAY_EVERY", 0.01)
    node = await memory.node(policy(), shop.server())
    monkeypatch.setattr(base, "MAX_ENTRY_BYTES", 4000)
    task_id = await begun(node, "unsafe", job="dig")

    async def is_told() -> bool:
        return (await get(node, task_id)).get("statusMessage") == "fine"

    await eventually(is_told)
    shop.open("dig")
    await becomes(node, task_id, "completed")
    assert shop.notes == (["refused"] if message == "\ud800" else [])


@pytest.mark.parametrize("replayed", [False, True])
async def test_a_question_is_given_up_after_its_time_and_stays_so(world: World, replayed: bool) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        try:
            patience = 0.1 if shop.runs["dig"] == 1 else 600.0  # which counts once
            said: str = (await ctx.elicit("Who?", FORM, timeout=patience)).action
        except NotAnswered as error:
            said = str(error)
        shop.notes.append(said)
        await shop.held("dig")
        return said

    serving, node = await world.node(SERVES, shop.server()), await world.node(policy(), shop.server())
    task_id = await begun(serving, "safe", job="dig")
    [key] = (await becomes(serving, task_id, "input_required"))["inputRequests"]
    await shop.reached("dig")
    assert "inputRequests" not in await get(serving, task_id)
    await update(serving, task_id, **{key: ADA})
    if replayed:
        await world.crash(node)
        node = await world.node(policy(), shop.server())
        await shop.reached("dig")
    shop.open("dig")
    task = await becomes(node, task_id, "completed")
    assert text(task) == "The client did not answer in time."
    assert shop.notes == [text(task)] * (2 if replayed else 1)


async def test_two_questions_at_once_can_be_answered_one_by_one(world: World) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        async def one(question: str) -> str:
            said = str((await ctx.elicit(question, FORM)).content)
            shop.notes.append(question)
            return said

        return " and ".join(await asyncio.gather(one("first"), one("second")))

    node = await world.node(policy(concurrency=1), shop.server())
    task_id = await begun(node, "safe", job="dig")

    async def both_ask() -> bool:
        return len((await get(node, task_id)).get("inputRequests", {})) == 2

    await eventually(both_ask)
    asked = (await get(node, task_id))["inputRequests"]
    keys = {each["params"]["message"]: key for key, each in asked.items()}
    await update(node, task_id, **{keys["second"]: ADA})
    await eventually(lambda: shop.notes == ["second"])
    left = await get(node, task_id)
    assert (left["status"], left["inputRequests"].keys()) == ("input_required", {keys["first"]})
    await update(node, task_id, **{keys["first"]: {"action": "accept", "content": {"name": "Bob"}}})
    assert text(await becomes(node, task_id, "completed")) == "{'name': 'Bob'} and {'name': 'Ada'}"
    assert shop.runs["dig"] == 1


async def test_hooks_lifespan_and_dependencies_are_there_in_a_run(memory: World) -> None:
    @dataclass
    class Shovel:
        size: int

    @asynccontextmanager
    async def live(_: Server) -> AsyncIterator[Shovel]:
        yield Shovel(3)

    server, seen = Server("s", version="1", lifespan=live), []

    @server.around_request
    async def around(message: Any, call_next: Any, ctx: Context) -> Any:
        seen.append((message.method, ctx.task_id is not None))
        ctx.state.dirt = "clay"
        return await call_next(message)

    def shovel(ctx: Context) -> Shovel:
        found: Shovel = ctx.lifespan
        return found

    @server.tool(task="required", annotations=TWICE)
    async def dig(tool: Annotated[Shovel, Depends(shovel)], ctx: Context) -> str:
        return f"{tool.size} {ctx.state.dirt}"

    node = await memory.node(policy(), server)
    task = await becomes(node, await begun(node, "dig"), "completed")
    assert text(task) == "3 clay"
    assert [each for each in seen if each[0] == "tools/call"] == [("tools/call", False), ("tools/call", True)]


async def test_no_secret_of_a_request_is_stored_and_its_run_has_none(world: World) -> None:
    shop = Workshop()
    principal = Principal("ada", "https://id.example", "cli", claims={"ssn": "123-45"}, state={"db": "hunter2"})

    @shop.job
    async def dig(ctx: Context) -> str:
        assert ctx.principal is not None
        shop.notes += [ctx.headers == NO_HEADERS, ctx.principal.claims, vars(ctx.state), ctx.principal.subject]
        await shop.held("dig")
        return "dug"

    node = await world.node(policy(), shop.server())
    options: Json = {"meta": None, "principal": principal, "Authorization": "Bearer sesame", "X_Token": "sesame"}
    options["meta"] = {
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    }
    got = await node.modern("tools/call", {"name": "safe", "arguments": {"job": "dig"}}, **options).got()
    task_id = got.result["taskId"]
    await shop.reached("dig")
    everything = repr([await record(world, task_id), await world.control.save()])
    assert "ada" in everything
    assert not [secret for secret in ("sesame", "123-45", "hunter2") if secret in everything]
    assert shop.notes == [True, {}, {}, "ada"]
    shop.open("dig")
    await becomes(node, task_id, "completed", principal)


async def test_what_a_run_logs_names_its_task(memory: World, caplog: pytest.LogCaptureFixture) -> None:
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        await ctx.log("warning", "there is rock")
        await ctx.log("debug", "not asked for")
        return "dug"

    node = await memory.node(policy(), shop.server())
    meta = {
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
        "io.modelcontextprotocol/logLevel": "info",
    }
    params = {"name": "safe", "arguments": {"job": "dig"}}
    task_id = (await node.modern("tools/call", params, meta=meta).got()).result["taskId"]
    await becomes(node, task_id, "completed")
    [line] = [each for each in caplog.records if each.name == "mcpfleet.tasks.run"]
    assert (line.levelname, line.getMessage()) == ("WARNING", f"{task_id}: there is rock")


async def test_an_answer_that_comes_at_the_last_moment_counts(world: World) -> None:
    """The time is up, but before that is written the answer is."""
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        return str((await ctx.elicit("Who?", FORM, timeout=0.3)).content)

    serving, node = await world.node(SERVES, shop.server()), await world.node(policy(), shop.server())
    task_id = await begun(serving, "safe", job="dig")
    [key] = (await becomes(serving, task_id, "input_required"))["inputRequests"]
    go = world.links[node].hold("get tasks.*/record")
    await update(serving, task_id, **{key: ADA})
    await asyncio.sleep(0.4)
    go()
    assert text(await becomes(serving, task_id, "completed")) == "{'name': 'Ada'}"
