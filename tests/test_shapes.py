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
