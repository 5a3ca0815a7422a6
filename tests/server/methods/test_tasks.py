"""`tasks/get`, `tasks/update` and `tasks/cancel`, on any process and whoever runs the task."""

import asyncio
from typing import Any

import pytest

from mcpfleet import Incoming, Principal, Server
from mcpfleet.backplane import base
from mcpfleet.server.methods.tasks import MAX_ANSWERS
from mcpfleet.server.policy import Policy
from mcpfleet.server.tasks.policy import TaskPolicy
from tests.answer import Json
from tests.server.tasks.clients import MISSING, TAKES_NONE, acknowledged, ask, becomes, begun, call, get, update
from tests.server.tasks.diggers import Digging
from tests.server.wire import DEADLINE, Node
from tests.server.world import World, eventually

RUNS = Policy(spread=0.0, drain=0.2, tasks=TaskPolicy(queues=("default", "slow")))
NOT_HERE = Policy(spread=0.0, drain=0.2, tasks=TaskPolicy(queues=("nothing",)))
METHODS = pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
YES: Json = {"action": "accept", "content": {"name": "Ada"}}
NO: Json = {"action": "decline"}
ADA, EVE = Principal("ada"), Principal("eve")
NOWHERE = "t1-" + "0" * 32


async def parked(node: Node, principal: Principal | None = None) -> tuple[str, list[str]]:
    """A task that waits for two answers, and the keys of its questions."""
    task_id = await begun(node, "ask", principal)
    asked: dict[str, Any] = {}

    async def asks() -> bool:
        asked.update((await get(node, task_id, principal)).get("inputRequests", {}))
        return len(asked) == 2

    await eventually(asks)
    return task_id, sorted(asked, key=lambda key: asked[key]["params"]["message"])


async def says(node: Node, task_id: str, message: str) -> None:
    """Return once the run of a task says this of itself."""

    async def has_said() -> bool:
        return bool((await get(node, task_id)).get("statusMessage") == message)

    await eventually(has_said)


@METHODS
async def test_whoever_does_not_declare_the_extension_is_told_what_is_missing(memory: World, method: str) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    task_id = await begun(node, "dig", depth=1)
    got = await ask(node, method, task_id, meta=TAKES_NONE, inputResponses={})
    assert (got.status, got.error["code"], got.error["data"]) == (400, -32021, MISSING)
    assert (await get(node, task_id))["status"] == "working"


@METHODS
@pytest.mark.parametrize("task_id", [NOWHERE, "t16-" + "0" * 32, "", "t1", "x" * 1000, "१", 7, None, ["t1"]])
async def test_what_is_no_task_is_unknown(memory: World, method: str, task_id: Any) -> None:
    node = await memory.node(server=Digging().server())
    got = await ask(node, method, task_id, inputResponses={})
    assert (got.status, got.error) == (
        400,
        {"code": -32602, "message": "There is no such task, or no longer."},
    )


@METHODS
async def test_another_principal_is_told_the_same_as_of_an_unknown_task(memory: World, method: str) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    task_id = await begun(node, "dig", ADA, depth=1)
    for principal in (EVE, None, Principal("ada", issuer="elsewhere"), Principal("ada", client="other")):
        foreign = await ask(node, method, task_id, principal, inputResponses={})
        unknown = await ask(node, method, NOWHERE, principal, inputResponses={})
        assert (foreign.status, foreign.body) == (unknown.status, unknown.body)
    assert (await get(node, task_id, ADA))["status"] == "working"


@METHODS
async def test_while_the_store_is_away_they_are_503(world: World, method: str) -> None:
    node = await world.node(NOT_HERE, Digging().server())
    task_id = await begun(node, "dig", depth=1)
    world.links[node].away = True
    got = await ask(node, method, task_id, inputResponses={"q": {}})
    assert (got.status, got.reason, got.headers["Retry-After"]) == (503, "store_unavailable", "1")
    world.links[node].restore()
    assert (await get(node, task_id))["status"] == "working"


@pytest.mark.parametrize("method", ["tasks/result", "tasks/list", "tasks/"])
async def test_there_are_no_other_methods(memory: World, method: str) -> None:
    node = await memory.node(server=Digging().server())
    got = await ask(node, method, NOWHERE)
    assert (got.status, got.error["code"]) == (404, -32601)


async def test_a_process_without_the_tool_tells_of_its_tasks_and_cancels_them(memory: World) -> None:
    here, there = await memory.node(NOT_HERE, Digging().server()), await memory.node(server=Server("other"))
    task_id = await begun(here, "dig", depth=1)
    assert (await get(there, task_id))["status"] == "working"
    assert acknowledged(await ask(there, "tasks/cancel", task_id))
    assert (await get(here, task_id))["status"] == "cancelled"


async def test_a_task_goes_on_once_every_question_is_answered_wherever(world: World) -> None:
    here, there = await world.node(RUNS, Digging().server()), await world.node(NOT_HERE, Digging().server())
    task_id, [one, two] = await parked(there)
    assert (await get(there, task_id))["status"] == "input_required"
    assert acknowledged(await update(there, task_id, **{two: NO, "unheard_of": YES}))
    left = await get(here, task_id)
    assert (left["status"], [*left["inputRequests"]]) == ("input_required", [one])
    assert acknowledged(await update(there, task_id, **{two: YES}))
    assert acknowledged(await update(here, task_id, **{one: YES}))
    task = await becomes(there, task_id, "completed")
    assert task["result"]["structuredContent"] == ["accept", "decline"]
    assert "inputRequests" not in task
    assert acknowledged(await update(there, task_id, **{one: NO}))


async def test_a_task_that_its_process_gave_back_is_taken_again_once_it_is_answered(world: World) -> None:
    here, there = await world.node(RUNS, Digging().server()), await world.node(NOT_HERE, Digging().server())
    task_id, [one, two] = await parked(there)
    await world.stop(here)
    await world.node(RUNS, Digging().server())
    await update(there, task_id, **{one: YES})
    assert (await get(there, task_id))["status"] == "input_required"
    await update(there, task_id, **{two: YES})
    assert (await becomes(there, task_id, "completed"))["result"]["structuredContent"] == ["accept", "accept"]


async def test_an_update_that_answers_nothing_writes_nothing(memory: World) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    task_id = await begun(node, "dig", depth=1)
    told, done = await get(node, task_id), len(memory.links[node].verbs)
    assert acknowledged(await update(node, task_id, unheard_of=YES))
    assert not [verb for verb in memory.links[node].verbs[done:] if verb.startswith("commit")]
    assert await get(node, task_id) == told


@pytest.mark.parametrize("given", [None, [], "yes", {"q": None}, {"q": "yes"}, {"q": [YES]}])
async def test_answers_are_an_object_of_objects(memory: World, given: Any) -> None:
    node = await memory.node(RUNS, Digging().server())
    task_id, [one, two] = await parked(node)
    got = await ask(node, "tasks/update", task_id, inputResponses=given)
    assert (got.status, got.error["code"]) == (400, -32602)
    assert "inputResponses" in got.error["message"]
    assert (await get(node, task_id))["inputRequests"].keys() == {one, two}


async def test_an_answer_that_nobody_could_keep_is_refused_and_the_question_stays(memory: World) -> None:
    node = await memory.node(RUNS, Digging().server())
    task_id, [one, two] = await parked(node)
    await update(node, task_id, **{one: {"action": "accept", "content": {"name": "x" * (MAX_ANSWERS // 2)}}})
    got = await update(node, task_id, **{two: {"action": "accept", "content": {"name": "x" * (MAX_ANSWERS // 2)}}})
    assert (got.status, got.error["code"], got.reason) == (400, -32602, "too_large")
    assert [*(await get(node, task_id))["inputRequests"]] == [two]


async def test_an_answer_that_no_store_takes_is_refused(memory: World, monkeypatch: pytest.MonkeyPatch) -> None:
    node = await memory.node(RUNS, Digging().server())
    task_id, [one, two] = await parked(node)
    monkeypatch.setattr(base, "MAX_ENTRY_BYTES", 10_000)
    got = await update(node, task_id, **{one: {"action": "accept", "content": {"name": "x" * 20_000}}})
    assert (got.status, got.error["code"], got.reason) == (400, -32602, "too_large")
    assert (await get(node, task_id))["inputRequests"].keys() == {one, two}


async def test_a_task_that_is_cancelled_has_ended_and_its_function_is_cancelled(world: World) -> None:
    digging = Digging()
    here, there = await world.node(RUNS, digging.server()), await world.node(NOT_HERE, digging.server())
    task_id = await begun(there, "wait")
    await says(there, task_id, "waiting")
    assert acknowledged(await ask(there, "tasks/cancel", task_id))
    ended = await get(there, task_id)
    assert ended["status"] == "cancelled"
    assert ended.keys().isdisjoint({"result", "error", "inputRequests", "statusMessage"})
    async with asyncio.timeout(DEADLINE):
        await digging.cancelled.wait()
    assert here is not there


async def test_a_task_that_nobody_has_begun_is_never_run_once_it_is_cancelled(memory: World) -> None:
    digging = Digging()
    node = await memory.node(NOT_HERE, digging.server())
    cancelled, other = await begun(node, "mine"), await begun(node, "dig", depth=1)
    assert acknowledged(await ask(node, "tasks/cancel", cancelled))
    await memory.node(RUNS, digging.server())
    await becomes(node, other, "completed")
    assert digging.runs == ["dig"]


async def test_what_has_ended_stays_as_it_is(memory: World) -> None:
    node = await memory.node(RUNS, Digging().server())
    task_id = await begun(node, "dig", depth=1)
    ended = await becomes(node, task_id, "completed")
    assert acknowledged(await ask(node, "tasks/cancel", task_id))
    assert acknowledged(await update(node, task_id, q=YES))
    assert await get(node, task_id) == ended


async def test_a_cancel_of_the_request_is_none_of_the_task(memory: World) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    handle = (await call(node, "dig", depth=1).got()).result
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    await node.send("POST", cancel, MCP_Protocol_Version="2026-07-28", Mcp_Method="notifications/cancelled").got()
    assert (await get(node, handle["taskId"]))["status"] == "working"


async def test_hooks_see_for_which_task_a_request_is(memory: World) -> None:
    server, seen = Digging().server(), []

    @server.around_request
    async def watch(message: Incoming, call_next: Any) -> Any:
        seen.append((message.method, message.target, dict(message.arguments)))
        return await call_next(message)

    node = await memory.node(NOT_HERE, server)
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        await ask(node, method, NOWHERE, inputResponses={})
    assert seen == [(method, NOWHERE, {}) for method in ("tasks/get", "tasks/update", "tasks/cancel")]


@METHODS
@pytest.mark.parametrize("name", [None, "other", NOWHERE.upper()])
async def test_the_name_header_repeats_the_task(memory: World, method: str, name: str | None) -> None:
    node = await memory.node(server=Digging().server())
    got = await node.modern(method, {"taskId": NOWHERE}, Mcp_Name=name).got()
    assert (got.status, got.error["code"]) == (400, -32020)
