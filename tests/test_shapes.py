"""The tests' own watch over what leaves the server: what has not the shape of its revision is found."""

import pytest
from pydantic import ValidationError

from tests.shapes import LACKS, check, names

TEXT = {"type": "text", "text": "x"}
CALLED = "tools/call"
DATES = sorted(LACKS)
MODERN = DATES[-1]


def reply(**result: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "result": result}


def said(method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


@pytest.mark.parametrize("date", DATES)
def test_what_a_revision_has_passes(date: str) -> None:
    modern = {"resultType": "complete"} if date == MODERN else {}
    check(reply(content=[TEXT], **modern), date, CALLED)
    check({"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "No"}}, date, CALLED)
    check({"jsonrpc": "2.0", "error": {"code": -32700, "message": "What?"}}, date)
    check(said("notifications/progress", progressToken=1, progress=1), date)
    check(reply(anything=1), date, "custom/method")


@pytest.mark.parametrize("date", DATES)
@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "1.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "No"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": "No"}},
        reply(content="x"),
        reply(content=[{"type": "text"}]),
        said("notifications/progress", progress=1),
        said("notifications/unheard_of"),
    ],
)
def test_a_message_without_the_shape_of_its_method_is_found(message: dict[str, object], date: str) -> None:
    with pytest.raises((ValidationError, KeyError, AssertionError)):
        check(message, date, CALLED)


@pytest.mark.parametrize(
    ("date", "message"),
    [
        ("2025-11-25", reply(content=[TEXT], resultType="complete")),
        ("2025-06-18", reply(content=[{"type": "resource_link", "uri": "a:b", "name": "x", "icons": []}])),
        ("2025-03-26", reply(content=[TEXT], structuredContent={})),
        ("2025-03-26", reply(content=[{**TEXT, "_meta": {}}])),
        ("2025-03-26", reply(content=[{"type": "resource_link", "uri": "a:b", "name": "x"}])),
        ("2024-11-05", reply(content=[{"type": "audio", "data": "", "mimeType": "audio/wav"}])),
        ("2024-11-05", said("notifications/progress", progressToken=1, progress=1, message="x")),
    ],
)
def test_what_came_with_a_later_revision_is_found(date: str, message: dict[str, object]) -> None:
    with pytest.raises(AssertionError, match=f"{date} has no"):
        check(message, date, CALLED)


def test_what_authors_fill_is_not_looked_into() -> None:
    assert [*names({"result": {"structuredContent": {"icons": [1]}, "_meta": {"title": 1}}})] == [
        "result",
        ".result",
        "structuredContent",
        "result.structuredContent",
    ]


TASK = {
    "taskId": "t",
    "status": "working",
    "createdAt": "2026-01-01T00:00:00Z",
    "lastUpdatedAt": "2026-01-01T00:00:00Z",
    "ttlMs": 1,
}
ASKED = {"q": {"method": "roots/list"}}


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        (reply(**TASK, resultType="task"), CALLED),
        (reply(**{**TASK, "ttlMs": None}, resultType="task", pollIntervalMs=5, statusMessage="x"), CALLED),
        (reply(**TASK, resultType="complete"), "tasks/get"),
        (reply(**{**TASK, "status": "input_required"}, inputRequests=ASKED, resultType="complete"), "tasks/get"),
        (
            reply(**{**TASK, "status": "completed"}, result={"content": [TEXT], "resultType": "complete"}),
            "tasks/get",
        ),
        (reply(**{**TASK, "status": "failed"}, error={"code": 1, "message": "x"}), "tasks/get"),
        (reply(resultType="complete", _meta={}), "tasks/cancel"),
        (said("notifications/tasks", **TASK), None),
    ],
)
def test_tasks_pass(message: dict[str, object], asked: str | None) -> None:
    check(message, MODERN, asked)


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        (reply(**TASK, resultType="task", result={}), CALLED),
        (reply(**TASK, resultType="task", requestState="x"), CALLED),
        (reply(task=TASK, resultType="task"), CALLED),
        (reply(**TASK, resultType="task"), "prompts/get"),
        (reply(**TASK, resultType="task"), "tasks/get"),
        (reply(**{**TASK, "ttlMs": 0}, resultType="task"), CALLED),
        (reply(**{**TASK, "createdAt": "now"}), "tasks/get"),
        (reply(**{**TASK, "status": "input_required"}), "tasks/get"),
        (reply(**{**TASK, "status": "input_required"}, inputRequests={"q": {"method": "x"}}), "tasks/get"),
        (reply(**{**TASK, "status": "completed"}), "tasks/get"),
        (reply(**{**TASK, "status": "completed"}, result={"content": "x"}), "tasks/get"),
        (reply(**{**TASK, "status": "failed"}, error="x"), "tasks/get"),
        (reply(**TASK, result={"content": []}), "tasks/get"),
        (reply(resultType="complete", taskId="t"), "tasks/cancel"),
        (reply(resultType="complete", status="working"), "tasks/update"),
        (said("notifications/tasks", taskId="t"), None),
    ],
)
def test_what_is_no_task_is_found(message: dict[str, object], asked: str | None) -> None:
    with pytest.raises((ValidationError, AssertionError)):
        check(message, MODERN, asked)


@pytest.mark.parametrize("date", DATES[:-1])
def test_no_older_revision_tells_of_tasks(date: str) -> None:
    with pytest.raises((ValidationError, KeyError, AssertionError)):
        check(said("notifications/tasks", **TASK), date)
    with pytest.raises((ValidationError, KeyError, AssertionError)):
        check(reply(**TASK, resultType="task"), date, CALLED)
