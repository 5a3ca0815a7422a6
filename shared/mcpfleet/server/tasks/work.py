"""From a call to what is stored of it, and back: who asked, for what, and what it had come to before it was a task.

No header is stored, no claim, no token and no state of a principal: the run of a task has none of them.
"""

from collections.abc import Mapping
from typing import Any, Final

from mcpfleet.protocol.headers import NO_HEADERS
from mcpfleet.protocol.jsonrpc import Request
from mcpfleet.protocol.jsontext import dumps, loads
from mcpfleet.protocol.meta import META
from mcpfleet.protocol.revisions import LATEST, find
from mcpfleet.server.auth import Principal, owner_of
from mcpfleet.server.caller import Caller
from mcpfleet.server.round import Memory
from mcpfleet.server.tasks.record import MAX_DEPTH, Work
from mcpfleet.server.tool import Tool
from mcpfleet.server.tracing import NO_TRACE

CALL_TOOL: Final = "tools/call"


def work_of(
    request: Request, caller: Caller, tool: Tool, memory: Memory, *, trace: Mapping[str, str] = NO_TRACE
) -> Work:
    """What is stored of a call of this tool; its run goes on with the trace, if there is one."""
    params = {name: value for name, value in request.params.items() if name not in ("inputResponses", "requestState")}
    if trace:
        params[META] = {**params.get(META, {}), **trace}
    return Work(
        tool=tool.name,
        owner=owner_of(caller.principal),
        params=dumps(params),
        caller=dumps(
            {
                "revision": caller.revision.date,
                "info": caller.client_info,
                "capabilities": caller.capabilities,
                "log_level": caller.log_level,
                "anonymous": caller.principal is None,
                "given": caller.input_responses,
                "state": caller.request_state,
            }
        ),
        memory=dumps({"asked": sorted(memory.asked), "answers": memory.answers, "steps": memory.steps}),
        queue=tool.task.queue,
    )


def request_of(work: Work, task_id: str) -> Request:
    """The call, under the id of its task."""
    return Request(task_id, CALL_TOOL, _read(work.params))


def caller_of(work: Work, task_id: str) -> Caller:
    """Who asked for it."""
    kept = _read(work.caller)
    issuer, subject, client = work.owner
    return Caller(
        revision=find(kept["revision"]) or LATEST,
        principal=None if kept["anonymous"] else Principal(subject, issuer, client),
        headers=NO_HEADERS,
        client_info=kept["info"],
        capabilities=kept["capabilities"],
        log_level=kept["log_level"],
        request_id=task_id,
        meta=_read(work.params).get(META, {}),
        input_responses=kept["given"],
        request_state=kept["state"],
        task_id=task_id,
    )


def memory_of(work: Work) -> Memory:
    """What it had come to."""
    kept = _read(work.memory)
    return Memory(frozenset(kept["asked"]), kept["answers"], kept["steps"])


def _read(text: bytes) -> dict[str, Any]:
    read: dict[str, Any] = loads(text, max_depth=MAX_DEPTH)
    return read
