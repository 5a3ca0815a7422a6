"""Suggestions for arguments, in each revision ("Completion")."""

import pytest

from tests.fleets import Fleet
from tests.wire import EVERY, MODERN, connected

every_revision = pytest.mark.parametrize("date", EVERY)
PROMPT = {"type": "ref/prompt", "name": "review"}
TEMPLATE = {"type": "ref/resource", "uri": "users://{user_id}/profile"}


@every_revision
async def test_an_argument_of_a_prompt_is_completed_with_those_given_already(fleet: Fleet, date: str) -> None:
    """Completion, "Requesting Completions"."""
    params = {
        "ref": PROMPT,
        "argument": {"name": "code", "value": "x"},
        "context": {"arguments": {"depth": "3"}},
    }
    async with connected(fleet.url, date) as client:
        result = (await client.request("completion/complete", params)).result
    assert result["completion"] == {"values": ["x0", "x1", "x2"], "total": 3, "hasMore": False}
    assert result.get("resultType") == ("complete" if date == MODERN else None)


@every_revision
async def test_a_client_gets_a_hundred_values_and_is_told_of_more(fleet: Fleet, date: str) -> None:
    """Completion, "Completion Results": maximum 100 items per response."""
    params = {"ref": TEMPLATE, "argument": {"name": "user_id", "value": "u"}}
    async with connected(fleet.url, date) as client:
        completion = (await client.request("completion/complete", params)).result["completion"]
    assert completion == {"values": [f"u{number}" for number in range(100)], "total": 150, "hasMore": True}


@every_revision
async def test_choices_need_no_function(fleet: Fleet, date: str) -> None:
    """Completion, "Implementation Considerations": what a type says is suggested by itself."""
    params = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "mood", "value": "c"}}
    async with connected(fleet.url, date) as client:
        completion = (await client.request("completion/complete", params)).result["completion"]
        assert completion == {"values": ["cool"], "total": 1, "hasMore": False}
        params["argument"] = {"name": "name", "value": "c"}
        completion = (await client.request("completion/complete", params)).result["completion"]
        assert completion["values"] == []


@every_revision
async def test_an_unknown_reference_or_argument_is_refused(fleet: Fleet, date: str) -> None:
    """Completion, "Error Handling": -32602."""
    argument = {"name": "code", "value": ""}
    async with connected(fleet.url, date) as client:
        for params in (
            {"ref": {"type": "ref/prompt", "name": "absent"}, "argument": argument},
            {"ref": {"type": "ref/resource", "uri": "x://{absent}"}, "argument": argument},
            {"ref": {"type": "ref/tool", "name": "add"}, "argument": argument},
            {"ref": PROMPT, "argument": {"name": "absent", "value": ""}},
            {"ref": PROMPT, "argument": {"name": "code"}},
            {"ref": PROMPT},
            {},
        ):
            answer = await client.request("completion/complete", params)
            assert answer.error["code"] == -32602
            assert answer.status == (400 if date == MODERN else 200)
