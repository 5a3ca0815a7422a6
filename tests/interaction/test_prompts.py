"""Prompts as each revision lists and fills them in (server features, "Prompts")."""

import pytest

from tests.answer import Answer
from tests.fleets import Fleet
from tests.wire import EVERY, MODERN, connected

every_revision = pytest.mark.parametrize("date", EVERY)
TITLED = ("2025-06-18", "2025-11-25", MODERN)
WITH_ICONS = ("2025-11-25", MODERN)


@every_revision
async def test_a_list_is_the_same_from_every_process_and_in_words_that_the_revision_knows(
    fleet: Fleet, date: str
) -> None:
    """Prompts, "Listing Prompts" and "Prompt"."""
    async with connected(fleet.url, date) as client:
        lists = [(await client.request("prompts/list")).result["prompts"] for _ in fleet.processes]
    assert all(found == lists[0] for found in lists)
    assert [prompt["name"] for prompt in lists[0]] == ["review", "greet", "media", "fails"]
    review, greet, *_ = lists[0]
    assert review["description"] == "Review some code."
    assert ("title" in review) is ("_meta" in review) is (date in TITLED)
    assert ("icons" in review) is (date in WITH_ICONS)
    code, depth = review["arguments"]
    assert (code["name"], code["description"], code["required"]) == ("code", "What to review.", True)
    assert ("title" in code) is (date in TITLED)
    assert depth == {"name": "depth"}
    assert greet["arguments"] == [
        {"name": "name", "description": "Whom to greet.", "required": True},
        {"name": "mood"},
    ]


@every_revision
async def test_a_prompt_is_filled_in_with_converted_arguments(fleet: Fleet, date: str) -> None:
    """Prompts, "Getting a Prompt"."""
    async with connected(fleet.url, date) as client:
        params = {"name": "review", "arguments": {"code": "print('ü')", "depth": "3"}}
        result = (await client.request("prompts/get", params)).result
    assert result["description"] == "Review some code."
    assert result["messages"] == [
        {"role": "user", "content": {"type": "text", "text": "Review 3 deep: print('ü')"}},
    ]
    assert result.get("resultType") == ("complete" if date == MODERN else None)
    assert "ttlMs" not in result


@every_revision
async def test_messages_hold_every_kind_of_content_that_the_revision_knows(fleet: Fleet, date: str) -> None:
    """Prompts, "PromptMessage"."""
    async with connected(fleet.url, date) as client:
        result = (await client.request("prompts/get", {"name": "media"})).result
    messages = result["messages"]
    assert [message["role"] for message in messages] == ["user"] * 5 + ["assistant"]
    text, image, audio, embedded, link, last = (message["content"] for message in messages)
    assert text == {"type": "text", "text": "text"}
    assert image == {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}
    assert audio["type"] == ("text" if date == "2024-11-05" else "audio")
    assert embedded["resource"] == {"uri": "test://embedded", "mimeType": "text/plain", "text": "text"}
    assert link["type"] == ("text" if date in ("2024-11-05", "2025-03-26") else "resource_link")
    assert "test://linked" in (link["text"] if link["type"] == "text" else link["uri"])
    assert last["text"] == f"in {date}"


@every_revision
async def test_what_is_wrong_with_a_request_is_invalid_params(fleet: Fleet, date: str) -> None:
    """Prompts, "Error Handling": an invalid name, a missing argument."""
    async with connected(fleet.url, date) as client:
        for params, words in (
            ({"name": "absent"}, "Unknown prompt: absent"),
            ({"name": "review"}, "code: required, but missing"),
            ({"name": "review", "arguments": {"code": "x", "depth": "deep"}}, "depth: Expected int, got str"),
        ):
            answer = await client.request("prompts/get", params, as_id="p")
            assert refused(answer, date) == (-32602, words)


@every_revision
async def test_a_prompt_that_fails_is_an_internal_error_without_its_words(fleet: Fleet, date: str) -> None:
    """Prompts, "Error Handling": -32603."""
    async with connected(fleet.url, date) as client:
        answer = await client.request("prompts/get", {"name": "fails"}, as_id="p")
    assert (answer.status, answer.error["code"], answer.error["message"]) == (200, -32603, "Internal error")
    assert answer.error["data"]["correlationId"]
    assert b"hunter2" not in answer.body


def refused(answer: Answer, date: str) -> tuple[int, str]:
    assert answer.reply["id"] == "p"
    assert answer.status == (400 if date == MODERN else 200)
    return answer.error["code"], answer.error["message"]
