"""`subscriptions/listen` with `taskIds`: told how a task is, and again at each change ("Task Status Notifications")."""

import time
from typing import Any

import pytest

from mcpfleet import Principal
from mcpfleet.backplane.base import Remove
from mcpfleet.protocol.tasks import MAX_LISTENED
from mcpfleet.server.policy import Policy
from mcpfleet.server.tasks.names import names_of
from mcpfleet.server.tasks.policy import TaskPolicy
from tests.answer import Json
from tests.server.tasks.clients import MISSING, TAKES, TAKES_NONE, ask, begun, get, update
from tests.server.tasks.diggers import Digging
from tests.server.wire import Flight, Node
from tests.server.world import World, eventually

RUNS = Policy(spread=0.0, drain=0.2, gather=0.0, tasks=TaskPolicy(queues=("default", "slow")))
NOT_HERE = Policy(spread=0.0, drain=0.2, gather=0.0, tasks=TaskPolicy(queues=("nothing",)))
NOWHERE = "t1-" + "0" * 32
ADA, EVE = Principal("ada"), Principal("eve")
YES: Json = {"action": "accept", "content": {"name": "Ada"}}


def listen(node: Node, asked: Json, principal: Principal | None = None, *, meta: Json = TAKES) -> Flight:
    return node.modern("subscriptions/listen", {"notifications": asked}, as_id="s", meta=meta, principal=principal)


async def following(node: Node, *task_ids: str, principal: Principal | None = None) -> tuple[Flight, Json]:
    """A stream that has begun, and what was acknowledged on it."""
    flight = listen(node, {"taskIds": [*task_ids]}, principal)
    first = await flight.message()
    assert first is not None
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "s"}
    honoured: Json = first["params"]["notifications"]
    return flight, honoured


async def told(flight: Flight) -> Json:
    """The next state of a task that is told."""
    message = await flight.message()
    assert message is not None
    assert message["method"] == "notifications/tasks"
    assert "id" not in message
    params: Json = message["params"]
    assert params.pop("_meta") == {"io.modelcontextprotocol/subscriptionId": "s"}
    return params


def bare(result: Json) -> Json:
    """A result of `tasks/get` without what every result has."""
    return {name: value for name, value in result.items() if name not in ("resultType", "_meta")}


async def until(flight: Flight, status: str) -> list[Json]:
    """The states that are told up to this one."""
    states = [await told(flight)]
    while states[-1]["status"] != status:
        states.append(await told(flight))
    return states


async def ring(world: World, task_id: str) -> None:
    """Ring a task's bell, as a connection does that was lost and is back."""
    names = names_of(task_id)
    assert names is not None
    await world.store.commit(Remove(f"{names.scope}/nothing"), expect={}, ring=(names.record,))


async def test_the_state_is_told_at_once_and_what_is_told_is_what_may_be_asked_for(world: World) -> None:
    here, there = await world.node(NOT_HERE, Digging().server()), await world.node(NOT_HERE, Digging().server())
    task_id = await begun(here, "dig", depth=1)
    flight, honoured = await following(there, task_id)
    assert honoured == {"taskIds": [task_id]}
    assert await told(flight) == bare(await get(here, task_id))
    await ask(here, "tasks/cancel", task_id)
    assert await told(flight) == bare(await get(here, task_id))
    assert (await get(here, task_id))["status"] == "cancelled"


async def test_every_change_is_told_wherever_it_is_made_with_all_that_belongs_to_it(world: World) -> None:
    here, there = await world.node(RUNS, Digging().server()), await world.node(NOT_HERE, Digging().server())
    task_id = await begun(there, "ask")
    flight, _ = await following(there, task_id)

    async def asked() -> Json:
        requests: Json = {}
        while len(requests) < 2:
            requests = (await told(flight)).get("inputRequests", {})
        return requests

    one, two = sorted(await asked())
    await update(here, task_id, **{one: YES})
    half = await told(flight)
    assert (half["status"], [*half["inputRequests"]]) == ("input_required", [two])
    await update(there, task_id, **{two: YES})
    last = (await until(flight, "completed"))[-1]
    assert last == bare(await get(there, task_id))
    assert last["result"]["structuredContent"] == ["accept", "accept"]


async def test_what_a_run_says_of_itself_is_told_as_its_state_and_not_as_progress(world: World) -> None:
    digging = Digging()
    here, there = await world.node(RUNS, digging.server()), await world.node(NOT_HERE, digging.server())
    task_id = await begun(there, "wait")
    flight, _ = await following(there, task_id)
    state = await told(flight)
    while state.get("statusMessage") != "waiting":
        state = await told(flight)
    digging.go.set()
    await until(flight, "completed")
    assert here is not there


async def test_a_task_that_has_ended_is_told_once_and_the_stream_goes_on(memory: World) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    ended, other = await begun(node, "dig", depth=1), await begun(node, "dig", depth=2)
    await ask(node, "tasks/cancel", ended)
    flight, honoured = await following(node, ended, other)
    assert honoured == {"taskIds": [ended, other]}
    states = {state["taskId"]: state["status"] for state in [await told(flight), await told(flight)]}
    assert states == {ended: "cancelled", other: "working"}
    await ask(node, "tasks/cancel", other)
    assert (await told(flight))["taskId"] == other
    looks = len(memory.links[node].verbs)
    for task_id in (ended, other):
        await ring(memory, task_id)
    await told(flight_of_another := (await following(node, ended))[0])  # whatever the bells were to do is done
    assert (
        sum(verb.startswith("get tasks.") and verb.endswith("/record") for verb in memory.links[node].verbs[looks:])
        == 2
    )
    await flight_of_another.cut()
    node.engine.drain()
    assert (await flight.got()).result["resultType"] == "complete"


async def test_ids_that_are_nobodys_or_another_principals_are_not_acknowledged(memory: World) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    hers = await begun(node, "dig", ADA, depth=1)
    flight, honoured = await following(node, "", "t1", NOWHERE, hers, hers, principal=EVE)
    assert honoured == {}
    await ask(node, "tasks/cancel", hers, ADA)
    node.engine.drain()
    assert not (await flight.got()).notifications[1:]
    assert (await following(await memory.node(NOT_HERE, Digging().server()), hers, NOWHERE, hers, principal=ADA))[
        1
    ] == {"taskIds": [hers]}


async def test_whoever_takes_no_tasks_is_refused(memory: World) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    got = await listen(node, {"taskIds": [NOWHERE], "toolsListChanged": True}, meta=TAKES_NONE).got()
    assert (got.status, got.error["code"], got.error["data"]) == (400, -32021, MISSING)
    first = await listen(node, {"taskIds": []}, meta=TAKES_NONE).message()
    assert first is not None
    assert first["params"]["notifications"] == {}


@pytest.mark.parametrize(
    "asked",
    ["t1", [7], [None], ["x" * 129], [NOWHERE] * (MAX_LISTENED + 1)],
    ids=["text", "int", "null", "long", "many"],
)
async def test_what_is_no_list_of_ids_is_refused(memory: World, asked: Any) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    got = await listen(node, {"taskIds": asked}).got()
    assert (got.status, got.error["code"]) == (400, -32602)


async def test_lists_that_change_are_told_beside_tasks(memory: World) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    task_id = await begun(node, "dig", depth=1)
    flight = listen(node, {"taskIds": [task_id], "toolsListChanged": True})
    first = await flight.message()
    assert first is not None
    assert first["params"]["notifications"] == {"toolsListChanged": True, "taskIds": [task_id]}
    await told(flight)
    await node.engine.fleet.notify_tools_changed()
    changed = await flight.message()
    assert changed is not None
    assert changed["method"] == "notifications/tools/list_changed"


async def test_while_the_store_is_away_nothing_of_a_task_is_lost(world: World) -> None:
    here, there = await world.node(NOT_HERE, Digging().server()), await world.node(NOT_HERE, Digging().server())
    task_id = await begun(here, "dig", depth=1)
    flight, _ = await following(there, task_id)
    await told(flight)
    link = world.links[there]
    link.away = True
    looks = len(link.verbs)
    await ask(here, "tasks/cancel", task_id)
    await eventually(lambda: any("/record" in verb for verb in link.verbs[looks:]))  # it has looked, and in vain
    link.restore()
    await ring(world, task_id)
    assert (await told(flight))["status"] == "cancelled"


async def test_it_cannot_begin_while_the_store_is_away(world: World) -> None:
    node = await world.node(NOT_HERE, Digging().server())
    task_id = await begun(node, "dig", depth=1)
    world.links[node].away = True
    got = await listen(node, {"taskIds": [task_id]}).got()
    assert (got.status, got.reason) == (503, "store_unavailable")


async def test_a_task_that_the_store_forgets_is_told_of_no_more(memory: World) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    task_id = await begun(node, "dig", depth=1)
    flight, _ = await following(node, task_id)
    await told(flight)
    [record] = [name for name in await memory.keys() if name.endswith("/record")]
    await memory.store.delete(record)
    looks = len(memory.links[node].verbs)
    await ring(memory, task_id)
    await eventually(lambda: any("/record" in verb for verb in memory.links[node].verbs[looks:]))
    node.engine.drain()
    assert len((await flight.got()).notifications) == 2


async def test_the_stream_ends_with_its_principals_token(memory: World) -> None:
    node = await memory.node(NOT_HERE, Digging().server())
    task_id = await begun(node, "dig", ADA, depth=1)
    brief = Principal("ada", expires=time.time() + 0.2)
    flight, honoured = await following(node, task_id, principal=brief)
    assert honoured == {"taskIds": [task_id]}
    got = await flight.got()
    assert got.result["resultType"] == "complete"
    await ask(node, "tasks/cancel", task_id, ADA)
    assert [message["params"]["status"] for message in got.notifications[1:]] == ["working"]
