"""Calls that become tasks, and those that do not ("Task Creation")."""

import asyncio
import re
from typing import Any

import pytest

from mcpfleet import Incoming, Principal
from mcpfleet.backplane import base
from mcpfleet.protocol.tasks import NAME
from mcpfleet.server.policy import Policy
from mcpfleet.server.tasks.policy import TaskPolicy
from mcpfleet.server.tasks.store import LIVE
from tests.answer import Json
from tests.server import wire
from tests.server.tasks.clients import MISSING, TAKES, TAKES_NONE, ask, becomes, begun, call, get, update
from tests.server.tasks.diggers import Digging
from tests.server.wire import LEGACY
from tests.server.world import World

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NOT_HERE = Policy(spread=0.0, drain=0.2, tasks=TaskPolicy(queues=("nothing",)))
"""A process that runs none of the tasks of these tests."""


async def stored(world: World) -> list[str]:
    """What is kept of tasks."""
    return [name for name in await world.keys() if name.startswith("tasks.") or name == LIVE]


async def test_the_answer_is_the_handle_of_a_task_that_every_process_knows(world: World) -> None:
    here, there = await world.node(NOT_HERE, Digging().server()), await world.node(NOT_HERE, Digging().server())
    got = await call(here, "dig", depth=3).got()
    handle = got.result
    assert got.status == 200
    assert handle.keys() == {
        "resultType",
        "taskId",
        "status",
        "createdAt",
        "lastUpdatedAt",
        "ttlMs",
        "pollIntervalMs",
        "_meta",
    }
    assert (handle["resultType"], handle["status"]) == ("task", "working")
    assert (handle["ttlMs"], handle["pollIntervalMs"]) == (3_600_000, 1000)
    assert STAMP.fullmatch(handle["createdAt"])
    assert handle["createdAt"] == handle["lastUpdatedAt"]
    assert (await get(there, handle["taskId"])) == {**handle, "resultType": "complete"}


async def test_a_tool_says_how_long_its_tasks_are_kept(memory: World) -> None:
    node = await memory.node(server=Digging().server())
    assert (await call(node, "wait").got()).result["ttlMs"] == 60_000


async def test_a_task_comes_to_the_very_result_that_its_call_has(world: World) -> None:
    digging = Digging()
    here, there = await world.node(server=digging.server()), await world.node(NOT_HERE, digging.server())
    in_the_call = (await call(there, "dig", meta=TAKES_NONE, depth=2**70).got()).result
    task = await becomes(there, await begun(there, "dig", depth=2**70), "completed")
    assert task["result"] == in_the_call
    assert task["result"]["structuredContent"] == {"depth": 2**70}
    assert digging.runs == ["dig", "dig"]
    assert here is not there


async def test_what_a_tool_fails_with_is_a_result_and_what_the_protocol_fails_with_an_error(memory: World) -> None:
    node = await memory.node(server=Digging().server())
    failed = await becomes(node, await begun(node, "mine"), "completed")
    assert (failed["result"]["isError"], failed["result"]["content"][0]["text"]) == (True, "there is nothing")
    broken = await becomes(node, await begun(node, "break_down"), "failed")
    in_the_call = await call(node, "break_down", meta=TAKES_NONE).got()
    assert broken["error"] == in_the_call.error
    assert broken["statusMessage"] == in_the_call.error["message"]
    assert "result" not in broken


@pytest.mark.parametrize("capabilities", [{}, {"tasks": {}}, {"extensions": {"com.example/other": {}}}])
async def test_a_client_that_takes_no_tasks_is_served_in_the_call_or_refused(memory: World, capabilities: Json) -> None:
    digging = Digging()
    node = await memory.node(server=digging.server())
    meta = {"io.modelcontextprotocol/clientCapabilities": capabilities}
    assert (await call(node, "dig", meta=meta, depth=1).got()).result["structuredContent"] == {"depth": 1}
    got = await call(node, "mine", meta=meta).got()
    assert (got.status, got.error["code"], got.error["data"]) == (400, -32021, MISSING)
    assert digging.runs == ["dig"]
    assert not await stored(memory)


@pytest.mark.parametrize("date", ["2024-11-05", LEGACY])
async def test_no_legacy_client_gets_a_task_whatever_it_declares(memory: World, date: str) -> None:
    digging = Digging()
    node = await memory.node(server=digging.server())
    session = await node.initialize(date, capabilities=TAKES["io.modelcontextprotocol/clientCapabilities"])
    assert (await session.call(node, "dig", depth=1).got()).value == {"depth": 1}
    assert (await session.call(node, "mine").got()).error["code"] == -32600
    assert (await session.request(node, "tasks/get", {"taskId": "t1"}).got()).error["code"] == -32601
    assert digging.runs == ["dig"]


async def test_what_cannot_be_called_becomes_no_task(memory: World) -> None:
    digging = Digging()
    node = await memory.node(server=digging.server())
    assert "depth" in (await call(node, "dig", depth="deep").got()).complaint
    assert (await call(node, "unheard_of").got()).error["code"] == -32602
    assert not await stored(memory)


async def test_a_tool_that_asks_first_goes_on_as_a_task_with_what_it_was_told(world: World) -> None:
    digging = Digging()
    here, there = await world.node(server=digging.server()), await world.node(server=digging.server())
    asked = (await call(here, "ask_first").got()).result
    assert asked["resultType"] == "input_required"
    assert digging.runs == []
    [key] = asked["inputRequests"]
    answers = {"requestState": asked["requestState"], "inputResponses": {key: {"action": "decline"}}}
    handle = (await call(there, "ask_first", more=answers).got()).result
    assert handle["resultType"] == "task"
    task = await becomes(here, handle["taskId"], "completed")
    assert task["result"]["structuredContent"] == ["decline", "1", "True"]
    assert digging.runs == ["once", "detached"]


async def test_a_client_that_takes_no_tasks_waits_for_a_tool_that_would_detach(memory: World) -> None:
    digging = Digging()
    node = await memory.node(server=digging.server())
    asked = (await call(node, "ask_first", meta=TAKES_NONE).got()).result
    [key] = asked["inputRequests"]
    answers = {"requestState": asked["requestState"], "inputResponses": {key: {"action": "decline"}}}
    got = await call(node, "ask_first", meta=TAKES_NONE, more=answers).got()
    assert got.result["structuredContent"] == ["decline", "1", "False"]


async def test_a_tool_that_speaks_of_rounds_itself_finds_in_the_task_what_it_was_told(memory: World) -> None:
    node = await memory.node(server=Digging().server())
    asked = (await call(node, "speak_of_rounds").got()).result
    answers = {"requestState": asked["requestState"], "inputResponses": {"who": {"action": "decline"}}}
    handle = (await call(node, "speak_of_rounds", more=answers).got()).result
    assert handle["resultType"] == "task"
    task = await becomes(node, handle["taskId"], "completed")
    assert task["result"]["content"][0]["text"] == "decline asked"


async def test_only_a_tool_that_says_so_detaches(memory: World) -> None:
    node = await memory.node(server=Digging().server())
    assert (await call(node, "plain").got()).text == "here"


async def test_a_hook_may_answer_before_there_is_a_task_and_is_around_the_run_too(memory: World) -> None:
    digging = Digging()
    server = digging.server()
    seen: list[Any] = []

    @server.around_request("tools/call")
    async def watch(message: Incoming, call_next: Any) -> Any:
        seen.append((message.request_id, message.headers.get("X-Secret")))
        if message.target == "wait":
            return {"content": []}
        return await call_next(message)

    node = await memory.node(server=server)
    assert (await call(node, "wait").got()).result["resultType"] == "complete"
    params = {"name": "dig", "arguments": {"depth": 1}}
    handle = (await node.modern("tools/call", params, meta=TAKES, X_Secret="sesame").got()).result
    await becomes(node, handle["taskId"], "completed")
    assert seen == [(1, None), (1, "sesame"), (handle["taskId"], None)]


async def test_a_hook_that_calls_another_tool_makes_a_task_of_that_one(memory: World) -> None:
    digging = Digging()
    server = digging.server()

    @server.around_request("tools/call")
    async def rename(message: Incoming, call_next: Any) -> Any:
        return await call_next(
            Incoming(message.method, {**message.params, "name": "wait"}, message.request_id, message.caller)
        )

    node = await memory.node(NOT_HERE, server)
    assert (await call(node, "dig", depth=1).got()).result["ttlMs"] == 60_000


async def test_the_extension_is_declared_to_modern_clients_of_servers_that_make_tasks(memory: World) -> None:
    node, other = await memory.node(server=Digging().server()), await memory.node()
    told = (await node.modern("server/discover").got()).result["capabilities"]
    assert told["extensions"] == {NAME: {}}
    assert "tasks" not in told
    assert "extensions" not in (await other.modern("server/discover").got()).result["capabilities"]
    handshake = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": handshake}
    assert "extensions" not in (await node.send("POST", body).got()).result["capabilities"]


async def test_a_call_that_cannot_be_stored_is_refused_and_runs_nowhere(world: World) -> None:
    digging = Digging()
    node = await world.node(server=digging.server())
    world.links[node].away = True
    got = await call(node, "dig", depth=1).got()
    assert (got.status, got.reason, got.headers["Retry-After"]) == (503, "store_unavailable", "1")
    world.links[node].restore()
    await becomes(node, await begun(node, "dig", depth=2), "completed")
    assert digging.runs == ["dig"]


async def test_whoever_has_too_many_tasks_is_told_to_come_back_until_one_has_ended(world: World) -> None:
    digging = Digging()
    policy = Policy(spread=0.0, drain=0.2, tasks=TaskPolicy(max_tasks_each=2, queues=("default", "slow")))
    here, there = await world.node(policy, digging.server()), await world.node(policy, digging.server())
    ada, bob = Principal("ada"), Principal("bob")
    first = await begun(here, "wait", ada)
    await begun(there, "wait", ada)
    got = await call(here, "wait", ada).got()
    assert (got.status, got.error["code"], got.reason) == (429, -32603, "too_many_tasks")
    assert 0 < int(got.headers["Retry-After"]) <= 30
    await begun(here, "wait", bob)
    await ask(there, "tasks/cancel", first, ada)
    await begun(there, "wait", ada)


async def test_all_tasks_of_the_fleet_are_counted_too(memory: World) -> None:
    policy = Policy(spread=0.0, drain=0.2, tasks=TaskPolicy(max_tasks=1, max_tasks_each=None))
    node = await memory.node(policy, Digging().server())
    await begun(node, "ask")
    assert (await call(node, "ask", Principal("ada")).got()).reason == "too_many_tasks"


async def test_without_authentication_nobody_is_counted_alone(memory: World) -> None:
    policy = Policy(spread=0.0, drain=0.2, tasks=TaskPolicy(max_tasks_each=1))
    node = await memory.node(policy, Digging().server())
    await begun(node, "ask")
    await begun(node, "ask")


async def test_where_no_task_can_be_made_to_detach_does_nothing(memory: World) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    assert (await call(node, "stay", meta=TAKES_NONE).got()).value is False
    session = await node.initialize()
    assert (await session.call(node, "stay").got()).value is False
    batch = [wire.call("stay", as_id=1), wire.call("dig", as_id=2, depth=1)]
    older = await node.initialize("2025-03-26")
    [stayed, dug] = (await older.send(node, "POST", batch).got()).replies
    assert [reply["result"]["content"][0]["text"] for reply in (stayed, dug)] == ["false", '{"depth":1}']


async def test_what_is_asked_already_is_asked_before_a_call_goes_on_as_a_task(memory: World) -> None:
    node = await memory.node(server=Digging().server())
    asked = (await call(node, "ask_and_detach", first="ask").got()).result
    assert asked["resultType"] == "input_required"
    [key] = asked["inputRequests"]
    more = {"requestState": asked["requestState"], "inputResponses": {key: {"action": "decline"}}}
    handle = (await call(node, "ask_and_detach", more=more, first="ask").got()).result
    assert handle["resultType"] == "task"
    task = await becomes(node, handle["taskId"], "completed")
    assert task["result"]["content"][0]["text"] == "decline"


async def test_what_is_asked_later_is_asked_by_the_task(memory: World) -> None:
    node = await memory.node(server=Digging().server())
    task_id = await begun(node, "ask_and_detach", first="detach")
    [key] = (await becomes(node, task_id, "input_required"))["inputRequests"]
    await update(node, task_id, **{key: {"action": "decline"}})
    assert (await becomes(node, task_id, "completed"))["result"]["content"][0]["text"] == "decline"


async def test_what_is_asked_while_a_function_winds_up_does_not_disturb_it(memory: World) -> None:
    node = await memory.node(server=Digging().server())
    task_id = await begun(node, "ask_beside")
    [key] = (await becomes(node, task_id, "input_required"))["inputRequests"]
    await update(node, task_id, **{key: {"action": "decline"}})
    assert (await becomes(node, task_id, "completed"))["result"]["content"][0]["text"] == "decline"


async def test_an_answer_that_the_call_has_not_looked_at_yet_is_found_by_the_task(memory: World) -> None:
    node = await memory.node(server=Digging().server())
    asked = (await call(node, "look_late").got()).result
    answers = {key: {"action": "decline"} for key in asked["inputRequests"]}
    assert len(answers) == 2
    more = {"requestState": asked["requestState"], "inputResponses": answers}
    handle = (await call(node, "look_late", more=more).got()).result
    assert handle["resultType"] == "task"
    task = await becomes(node, handle["taskId"], "completed")
    assert task["result"]["structuredContent"] == ["decline", "decline"]


async def test_a_hook_that_takes_no_notice_of_being_cancelled_changes_nothing(memory: World) -> None:
    server = Digging().server()

    @server.around_request("tools/call")
    async def stubborn(message: Incoming, call_next: Any) -> Any:
        try:
            return await call_next(message)
        except asyncio.CancelledError:
            return {"content": []}

    node = await memory.node(server=server)
    task_id = await begun(node, "dig", depth=1)
    assert (await becomes(node, task_id, "completed"))["result"]["structuredContent"] == {"depth": 1}


async def test_a_client_that_leaves_while_its_task_is_made_ends_nothing_else(world: World) -> None:
    node = await world.node(NOT_HERE, Digging().server())
    go = world.links[node].hold("commit tasks.*")
    flight = call(node, "dig", depth=1)
    await world.links[node].reached("commit tasks.*")
    await flight.cut()
    go()
    task_id = await begun(node, "dig", depth=2)
    assert (await get(node, task_id))["status"] == "working"


async def test_a_call_that_no_store_takes_is_refused(memory: World, monkeypatch: pytest.MonkeyPatch) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    monkeypatch.setattr(base, "MAX_ENTRY_BYTES", 3000)
    got = await call(node, "dig", depth=1, ignored="x" * 4000).got()
    assert (got.status, got.error["code"], got.reason) == (400, -32602, "call_too_large")
    assert not await stored(memory)
