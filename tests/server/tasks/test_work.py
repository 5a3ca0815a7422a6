"""A call as what is stored of it, and back."""

from typing import Any

from mcpfleet import Principal, Server
from mcpfleet.protocol.headers import NO_HEADERS, Headers
from mcpfleet.protocol.jsonrpc import Request
from mcpfleet.protocol.revisions import LATEST
from mcpfleet.server.caller import Caller
from mcpfleet.server.round import Memory
from mcpfleet.server.tasks.record import Work
from mcpfleet.server.tasks.work import caller_of, memory_of, request_of, work_of
from mcpfleet.server.tool import Tool

META = {"io.modelcontextprotocol/protocolVersion": LATEST.date, "progressToken": 7}
PARAMS = {"name": "t", "arguments": {"huge": 2**70}, "_meta": META}
ANSWER = {"action": "accept", "content": {}}
MEMORY = Memory(frozenset({"q1", "q2"}), {"q1": ANSWER}, {"s1": [1]})
GIVEN = {"q2": {"action": "decline"}, "own": {"action": "cancel"}}


def tool(**options: Any) -> Tool:
    server = Server("s")

    @server.tool(task="optional", **options)
    def t(huge: int) -> None: ...

    found = server.registry.tools.get("t")
    assert found is not None
    return found


def caller(principal: Principal | None = None) -> Caller:
    return Caller(
        revision=LATEST,
        principal=principal,
        headers=Headers([(b"authorization", b"Bearer sesame")]),
        client_info={"name": "c"},
        capabilities={"elicitation": {}},
        log_level="info",
        request_id=1,
        meta=META,
        input_responses=GIVEN,
        request_state="state",
    )


def work(principal: Principal | None = None, memory: Memory = MEMORY, **params: Any) -> Work:
    return work_of(Request(1, "tools/call", {**PARAMS, **params}), caller(principal), tool(), memory)


def test_the_call_is_found_again_without_what_was_of_its_last_round() -> None:
    found = request_of(work(requestState="sealed", inputResponses=GIVEN), "t1-a")
    assert found == Request("t1-a", "tools/call", PARAMS)


def test_who_asked_is_found_again() -> None:
    found = caller_of(work(), "t1-a")
    assert found == Caller(
        revision=LATEST,
        principal=None,
        headers=NO_HEADERS,
        client_info={"name": "c"},
        capabilities={"elicitation": {}},
        log_level="info",
        request_id="t1-a",
        meta=META,
        input_responses=GIVEN,
        request_state="state",
        task_id="t1-a",
    )


def test_progress_of_a_task_needs_no_token() -> None:
    assert caller().progress_token == 7
    assert caller_of(work(), "t1-a").progress_token == "t1-a"


def test_no_secret_is_stored_of_who_asked() -> None:
    ada = Principal("ada", "https://id.example", "cli", claims={"ssn": "123-45"}, expires=9.0, state={"db": "hunter2"})
    stored = work(ada)
    assert not any(secret in stored.caller for secret in (b"sesame", b"123-45", b"hunter2"))
    assert caller_of(stored, "t1-a").principal == Principal("ada", "https://id.example", "cli")
    assert stored.owner == ada.owner


def test_what_earlier_rounds_have_come_to_is_found_again() -> None:
    assert memory_of(work()) == MEMORY
    assert memory_of(work(memory=Memory())) == Memory()


def test_a_tool_says_in_which_queue_its_tasks_wait() -> None:
    request = Request(1, "tools/call", PARAMS)
    assert work().queue == "default"
    assert work_of(request, caller(), tool(queue="slow"), MEMORY).queue == "slow"
