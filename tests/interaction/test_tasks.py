"""Calls that become tasks: begun, asked for, answered, cancelled and followed on any process (the extension
`io.modelcontextprotocol/tasks`)."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from tests.answer import Answer, Json
from tests.fleets import Fleet
from tests.wire import DEADLINE, LEGACY, MODERN, Client, Stream, connected

EXTENSION: Final = "io.modelcontextprotocol/tasks"
TAKES: Final[Json] = {"elicitation": {}, "extensions": {EXTENSION: {}}}
TAKES_NONE: Final[Json] = {"elicitation": {}}
MISSING: Final[Json] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
NOWHERE: Final = "t1-" + "0" * 32


def last(fleet: Fleet) -> int:
    return len(fleet.processes) - 1


@asynccontextmanager
async def taking(fleet: Fleet, capabilities: Json = TAKES) -> AsyncIterator[Client]:
    """A client that takes tasks."""
    async with connected(fleet.url, MODERN, capabilities=capabilities) as client:
        yield client


async def begun(client: Client, tool: str, *, pin: int | None = None, **arguments: Any) -> str:
    """The id of the task that a call becomes."""
    answer = await client.call(tool, pin=pin, **arguments)
    assert answer.result["resultType"] == "task", answer
    task_id: str = answer.result["taskId"]
    return task_id


async def get(client: Client, task_id: str, *, pin: int | None = None) -> Json:
    return (await client.request("tasks/get", {"taskId": task_id}, pin=pin)).result


async def seen(client: Client, task_id: str, wanted: Callable[[Json], bool]) -> Json:
    """The task once it is as wanted, asked for again and again on any process."""
    async with asyncio.timeout(DEADLINE):
        while True:
            task = await get(client, task_id)
            if wanted(task):
                return task
            await asyncio.sleep(0.02)


async def becomes(client: Client, task_id: str, status: str) -> Json:
    """The task once it has this status."""
    return await seen(client, task_id, lambda task: bool(task["status"] == status))


async def update(client: Client, task_id: str, answers: Json, *, pin: int | None = None) -> Answer:
    return await client.request("tasks/update", {"taskId": task_id, "inputResponses": answers}, pin=pin)


def named(name: str) -> Json:
    return {"action": "accept", "content": {"name": name}}


async def test_the_handle_is_flat_and_good_on_every_process_at_once(lengthy_fleet: Fleet) -> None:
    """Tasks, "Task Creation": a tasks/get for the returned id resolves."""
    async with taking(lengthy_fleet) as client:
        for _ in range(5):
            handle = (await client.call("dig", pin=0, depth=1, delay=0.2)).result
            assert handle["resultType"] == "task"
            assert handle.keys().isdisjoint({"task", "result", "error", "inputRequests", "requestState"})
            found = await get(client, handle["taskId"], pin=last(lengthy_fleet))
            assert (found["resultType"], found["createdAt"]) == ("complete", handle["createdAt"])


@pytest.mark.parametrize("tool", ["dig", "mine", "collapse"])
async def test_a_task_comes_to_exactly_what_its_call_comes_to(lengthy_fleet: Fleet, tool: str) -> None:
    """Tasks, "Task Execution Errors": the result, be it a tool's error, or the JSON-RPC error."""
    arguments = {"depth": 2**60} if tool == "dig" else {}
    async with taking(lengthy_fleet) as client, taking(lengthy_fleet, TAKES_NONE) as waiting:
        task_id = await begun(client, tool, **arguments)
        ended = await becomes(client, task_id, "failed" if tool == "collapse" else "completed")
        if tool == "mine":
            assert ended["result"]["isError"] is True
            return
        called = await waiting.call(tool, **arguments)
        if tool == "collapse":
            assert ended["error"] == called.error
            assert "result" not in ended
        else:
            assert ended["result"] == called.result


async def test_without_the_extension_a_call_is_served_as_ever_or_refused(lengthy_fleet: Fleet) -> None:
    """Tasks, "Capability Negotiation": no handle for whoever did not declare it on this very request."""
    async with taking(lengthy_fleet, TAKES_NONE) as client:
        assert (await client.call("dig", depth=3)).result["structuredContent"] == {"depth": 3}
        refused = await client.call("mine")
        assert (refused.status, refused.error["code"], refused.error["data"]) == (400, -32021, MISSING)


@pytest.mark.parametrize("date", LEGACY)
async def test_a_legacy_client_waits_for_its_call_whatever_it_declares(lengthy_fleet: Fleet, date: str) -> None:
    """Tasks, "Capability Negotiation": capabilities are those of a request, which a session's are not."""
    async with connected(lengthy_fleet.url, date, capabilities=TAKES) as client:
        assert (await client.call("dig", depth=3)).value == {"depth": 3}
        assert (await client.call("mine")).error["code"] == -32600
        assert (await client.request("tasks/get", {"taskId": NOWHERE})).error["code"] == -32601


async def test_the_extension_is_declared_where_clients_declare_their_capabilities_too(lengthy_fleet: Fleet) -> None:
    """Tasks, "Capability Negotiation": an empty object among the extensions of server/discover."""
    async with taking(lengthy_fleet) as client:
        assert (await client.request("server/discover")).result["capabilities"]["extensions"] == {EXTENSION: {}}


@pytest.mark.parametrize("date", LEGACY)
async def test_no_handshake_declares_tasks(lengthy_fleet: Fleet, date: str) -> None:
    """Lifecycle, "Capability Negotiation": what is not declared is not used."""
    async with Client(lengthy_fleet.url, date) as client:
        declared = (await client.initialize()).result["capabilities"]
        assert declared.keys().isdisjoint({"tasks", "extensions"})


async def test_a_task_tells_how_far_it_is(lengthy_fleet: Fleet) -> None:
    """Tasks, "Tasks": the status message."""
    async with taking(lengthy_fleet) as client:
        task_id = await begun(client, "dig", depth=1, delay=1.0)
        await seen(client, task_id, lambda task: task.get("statusMessage") == "digging")
        assert "statusMessage" not in await becomes(client, task_id, "completed")


async def test_several_questions_are_answered_one_by_one_on_any_process(lengthy_fleet: Fleet) -> None:
    """Tasks, "Task Update Requests": a partial set of responses leaves the rest, and unknown keys are ignored."""
    async with taking(lengthy_fleet) as client:
        task_id = await begun(client, "ask_two", pin=0)
        asking = await seen(client, task_id, lambda task: len(task.get("inputRequests", {})) == 2)
        keys = {request["params"]["message"]: key for key, request in asking["inputRequests"].items()}
        one, two = keys["Who is 1?"], keys["Who is 2?"]
        acknowledged = await update(
            client, task_id, {two: named("Bob"), secrets.token_hex(4): named("Eve")}, pin=last(lengthy_fleet)
        )
        assert acknowledged.result.keys() == {"resultType", "_meta"}
        half = await get(client, task_id)
        assert (half["status"], [*half["inputRequests"]]) == ("input_required", [one])
        await update(client, task_id, {two: named("Eve")}, pin=0)
        await update(client, task_id, {one: named("Ada")}, pin=0)
        assert (await becomes(client, task_id, "completed"))["result"]["structuredContent"] == ["Ada", "Bob"]


async def test_what_is_asked_before_there_is_a_task_is_asked_by_the_call(lengthy_fleet: Fleet) -> None:
    """Tasks, "Task Creation": multi round-trip exchanges are resolved before the handle."""
    async with taking(lengthy_fleet) as client:
        asked = (await client.call("ask_first", pin=0)).result
        assert asked["resultType"] == "input_required"
        assert "taskId" not in asked
        [key] = asked["inputRequests"]
        params = {
            "name": "ask_first",
            "arguments": {},
            "requestState": asked["requestState"],
            "inputResponses": {key: named("Ada")},
        }
        handle = (await client.request("tools/call", params, pin=last(lengthy_fleet))).result
        assert handle["resultType"] == "task"
        ended = await becomes(client, handle["taskId"], "completed")
        assert ended["result"]["content"][0]["text"] == "Ada task"


async def test_a_cancel_on_any_process_ends_the_task_for_good(lengthy_fleet: Fleet) -> None:
    """Tasks, "Task Cancellation": acknowledged with an empty result, also once the task has ended."""
    async with taking(lengthy_fleet) as client:
        task_id = await begun(client, "dig", pin=0, depth=1, delay=60.0)
        for pin in (last(lengthy_fleet), 0):
            answer = await client.request("tasks/cancel", {"taskId": task_id}, pin=pin)
            assert answer.result.keys() == {"resultType", "_meta"}
            assert (await get(client, task_id))["status"] == "cancelled"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_each_method_needs_the_extension_and_a_task_that_there_is(lengthy_fleet: Fleet, method: str) -> None:
    """Tasks, "Protocol Errors": -32021 and -32602."""
    params = {"taskId": NOWHERE, "inputResponses": {}}
    async with taking(lengthy_fleet) as client, taking(lengthy_fleet, TAKES_NONE) as other:
        refused = await other.request(method, params)
        assert (refused.status, refused.error["code"], refused.error["data"]) == (400, -32021, MISSING)
        for task_id in (NOWHERE, "", "no task"):
            unknown = await client.request(method, {**params, "taskId": task_id})
            assert (unknown.status, unknown.error["code"]) == (400, -32602)


@pytest.mark.parametrize("method", ["tasks/result", "tasks/list"])
async def test_what_an_older_revision_had_is_not_there(lengthy_fleet: Fleet, method: str) -> None:
    """Tasks, "Cross-caller correlation" in "Security Considerations": there is no tasks/list."""
    async with taking(lengthy_fleet) as client:
        answer = await client.request(method, {"taskId": NOWHERE})
        assert (answer.status, answer.error["code"]) == (404, -32601)


@pytest.mark.parametrize("headers", [{"Mcp-Name": None}, {"Mcp-Name": "other"}, {"Mcp-Method": "tasks/cancel"}])
async def test_the_headers_name_the_method_and_the_task(lengthy_fleet: Fleet, headers: dict[str, str | None]) -> None:
    """Tasks, "Streamable HTTP: Routing Headers"."""
    async with taking(lengthy_fleet) as client:
        answer = await client.request("tasks/get", {"taskId": NOWHERE}, headers=headers)
        assert (answer.status, answer.error["code"]) == (400, -32020)


@asynccontextmanager
async def following(client: Client, task_ids: list[str], *, pin: int) -> AsyncIterator[tuple[Stream, Json]]:
    """A stream that tells of tasks, and what was acknowledged on it."""
    asked = {"notifications": {"taskIds": task_ids}}
    async with client.asking("subscriptions/listen", asked, as_id="s", pin=pin) as stream:
        first = await stream.message()
        assert first is not None
        assert first["method"] == "notifications/subscriptions/acknowledged"
        yield stream, first["params"]["notifications"]


async def test_every_process_tells_how_a_task_goes_until_it_has_ended(lengthy_fleet: Fleet) -> None:
    """Tasks, "Task Status Notifications": each carries what tasks/get would have returned, and nothing else comes."""
    async with taking(lengthy_fleet) as client:
        task_id = await begun(client, "dig", pin=0, depth=1, delay=0.5)
        async with following(client, [NOWHERE, task_id], pin=last(lengthy_fleet)) as (stream, honoured):
            assert honoured == {"taskIds": [task_id]}
            states: list[Json] = []
            while not states or states[-1]["status"] != "completed":
                message = await stream.message()
                assert message is not None
                assert message["method"] == "notifications/tasks"
                assert message["params"].pop("_meta") == {"io.modelcontextprotocol/subscriptionId": "s"}
                states.append(message["params"])
            assert {state["taskId"] for state in states} == {task_id}
            assert [state["status"] for state in states[:-1]] == ["working"] * (len(states) - 1)
            found = await get(client, task_id)
            assert states[-1] == {name: found[name] for name in found.keys() - {"resultType", "_meta"}}


async def test_to_be_told_of_tasks_takes_the_extension(lengthy_fleet: Fleet) -> None:
    """Tasks, "Protocol Errors": -32021 for non-declaring clients on subscriptions/listen."""
    async with taking(lengthy_fleet, TAKES_NONE) as client:
        answer = await client.request("subscriptions/listen", {"notifications": {"taskIds": [NOWHERE]}})
        assert (answer.status, answer.error["code"], answer.error["data"]) == (400, -32021, MISSING)
