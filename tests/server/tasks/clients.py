"""Clients that take tasks, as tests ask them."""

from typing import Any

from mcpfleet import Principal
from mcpfleet.protocol.tasks import EXTENSION
from tests.answer import Answer, Json
from tests.server.wire import Flight, Node
from tests.server.world import eventually

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
TAKES: Json = {CAPABILITIES: {"elicitation": {}, "extensions": dict(EXTENSION)}}
"""The `_meta` of a client that takes tasks."""
TAKES_NONE: Json = {CAPABILITIES: {"elicitation": {}}}
MISSING: Json = {"requiredCapabilities": {"extensions": dict(EXTENSION)}}


def call(
    node: Node,
    tool: str,
    principal: Principal | None = None,
    *,
    meta: Json = TAKES,
    more: Json | None = None,
    **arguments: Any,
) -> Flight:
    """Call a tool; `more` are params beside its name and arguments."""
    params = {"name": tool, "arguments": arguments, **(more or {})}
    return node.modern("tools/call", params, meta=meta, principal=principal)


async def begun(node: Node, tool: str, principal: Principal | None = None, **arguments: Any) -> str:
    """The id of the task that a call becomes."""
    result = (await call(node, tool, principal, **arguments).got()).result
    assert result["resultType"] == "task", result
    task_id: str = result["taskId"]
    return task_id


async def ask(
    node: Node, method: str, task_id: Any, principal: Principal | None = None, *, meta: Json = TAKES, **params: Any
) -> Answer:
    """What one of the methods of tasks answers."""
    return await node.modern(method, {"taskId": task_id, **params}, meta=meta, principal=principal).got()


async def get(node: Node, task_id: str, principal: Principal | None = None) -> Json:
    """The task as it is now."""
    return (await ask(node, "tasks/get", task_id, principal)).result


async def becomes(node: Node, task_id: str, status: str, principal: Principal | None = None) -> Json:
    """The task once it has this status."""
    found: Json = {}

    async def has_become() -> bool:
        found.update(await get(node, task_id, principal))
        return bool(found["status"] == status)

    await eventually(has_become)
    return await get(node, task_id, principal)


async def update(node: Node, task_id: str, principal: Principal | None = None, /, **answers: Any) -> Answer:
    """Answer some questions of a task."""
    return await ask(node, "tasks/update", task_id, principal, inputResponses=answers)


def acknowledged(got: Answer) -> bool:
    """Whether it is an acknowledgement, and nothing besides."""
    return got.status == 200 and got.result.keys() == {"resultType", "_meta"} and got.result["resultType"] == "complete"
