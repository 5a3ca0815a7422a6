"""Questions: what they take of a client, how each revision says them, and what answers them."""

import re
from typing import Any

import pytest

from mcpfleet.protocol import forms
from mcpfleet.protocol.messages import (
    AudioContent,
    CreateMessage,
    CreateMessageResult,
    ElicitForm,
    ElicitResult,
    ElicitUrl,
    ListRoots,
    ListRootsResult,
    ModelHint,
    ModelPreferences,
    Root,
    SamplingMessage,
    TextContent,
    Tool,
    ToolChoice,
    ToolResultContent,
    ToolUseContent,
)
from mcpfleet.protocol.messages.sampling import unbalanced
from mcpfleet.protocol.questions import InputRequiredResult, NoAnswer, Question, fault, missing, read, written
from mcpfleet.protocol.revisions import Revision, find

FORM = ElicitForm(message="Who?", requested_schema=forms.form(name=forms.text()))
PAGE = ElicitUrl(message="Pay", url="https://example.com/pay", elicitation_id="e1")
HELLO = SamplingMessage("user", TextContent("Hello"))
SAMPLE = CreateMessage(messages=[HELLO], max_tokens=10)
TOOL = Tool(name="t", input_schema={"type": "object"})
USE = SamplingMessage("assistant", [ToolUseContent(id="u", name="t", input={})])
RESULT = SamplingMessage("user", [ToolResultContent(tool_use_id="u", content=[TextContent("r")])])


def revision(date: str) -> Revision:
    found = find(date)
    assert found is not None
    return found


def with_(**more: Any) -> CreateMessage:
    return CreateMessage(**{"messages": [HELLO], "max_tokens": 10, **more})


@pytest.mark.parametrize(
    ("question", "date", "declared", "lacking"),
    [
        (FORM, "2024-11-05", {"elicitation": {}}, {"elicitation": {}}),
        (FORM, "2025-06-18", {"elicitation": {}}, {}),
        (FORM, "2025-06-18", {}, {"elicitation": {}}),
        (FORM, "2025-11-25", {"elicitation": {}}, {}),
        (FORM, "2026-07-28", {"elicitation": {"form": {}, "url": {}}}, {}),
        (FORM, "2026-07-28", {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        (FORM, "2026-07-28", {}, {"elicitation": {"form": {}}}),
        (PAGE, "2025-06-18", {"elicitation": {"url": {}}}, {"elicitation": {"url": {}}}),
        (PAGE, "2025-11-25", {"elicitation": {}}, {"elicitation": {"url": {}}}),
        (PAGE, "2025-11-25", {"elicitation": {"url": {}}}, {}),
        (SAMPLE, "2024-11-05", {"sampling": {}}, {}),
        (SAMPLE, "2026-07-28", {}, {"sampling": {}}),
        (with_(tools=[TOOL]), "2025-06-18", {"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}),
        (with_(tools=[TOOL]), "2025-11-25", {"sampling": {}}, {"sampling": {"tools": {}}}),
        (with_(tool_choice=ToolChoice()), "2025-11-25", {"sampling": {"tools": {}}}, {}),
        (with_(messages=[HELLO, USE, RESULT]), "2025-11-25", {"sampling": {}}, {"sampling": {"tools": {}}}),
        (with_(include_context="allServers"), "2025-11-25", {"sampling": {}}, {"sampling": {"context": {}}}),
        (with_(include_context="allServers"), "2025-06-18", {"sampling": {}}, {}),
        (with_(include_context="none"), "2025-11-25", {"sampling": {}}, {}),
        (ListRoots(), "2024-11-05", {"roots": {}}, {}),
        (ListRoots(), "2026-07-28", {}, {"roots": {}}),
    ],
)
def test_what_a_question_takes_and_a_client_lacks_is_told_as_it_would_be_declared(
    question: Question, date: str, declared: dict[str, Any], lacking: dict[str, Any]
) -> None:
    """Elicitation, Sampling and Roots, "Capabilities"."""
    assert missing(question, declared, revision(date)) == lacking


@pytest.mark.parametrize(
    ("question", "date", "method", "params"),
    [
        (
            FORM,
            "2025-06-18",
            "elicitation/create",
            {"message": "Who?", "requestedSchema": FORM.requested_schema},
        ),
        (
            FORM,
            "2026-07-28",
            "elicitation/create",
            {"mode": "form", "message": "Who?", "requestedSchema": FORM.requested_schema},
        ),
        (
            PAGE,
            "2025-11-25",
            "elicitation/create",
            {"mode": "url", "message": "Pay", "url": "https://example.com/pay", "elicitationId": "e1"},
        ),
        (
            PAGE,
            "2026-07-28",
            "elicitation/create",
            {"mode": "url", "message": "Pay", "url": "https://example.com/pay"},
        ),
        (ListRoots(), "2024-11-05", "roots/list", {}),
        (
            CreateMessage(
                messages=[HELLO, USE, RESULT],
                max_tokens=10,
                system_prompt="s",
                model_preferences=ModelPreferences(hints=[ModelHint(name="m")], cost_priority=0.1),
                tools=[TOOL],
                tool_choice=ToolChoice(mode="required"),
            ),
            "2026-07-28",
            "sampling/createMessage",
            {
                "messages": [
                    {"role": "user", "content": {"type": "text", "text": "Hello"}},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "u", "name": "t", "input": {}}]},
                    {
                        "role": "user",
                        "content": [
                            {"type": "tool_result", "toolUseId": "u", "content": [{"type": "text", "text": "r"}]}
                        ],
                    },
                ],
                "maxTokens": 10,
                "systemPrompt": "s",
                "modelPreferences": {"hints": [{"name": "m"}], "costPriority": 0.1},
                "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
                "toolChoice": {"mode": "required"},
            },
        ),
        (
            CreateMessage(
                messages=[
                    HELLO,
                    SamplingMessage("assistant", [TextContent("a"), AudioContent("", "audio/wav")], {"x": 1}),
                ],
                max_tokens=1,
            ),
            "2024-11-05",
            "sampling/createMessage",
            {
                "messages": [
                    {"role": "user", "content": {"type": "text", "text": "Hello"}},
                    {"role": "assistant", "content": {"type": "text", "text": "a"}},
                    {
                        "role": "assistant",
                        "content": {
                            "type": "text",
                            "text": "[audio (audio/wav) left out: this protocol version has none]",
                        },
                    },
                ],
                "maxTokens": 1,
            },
        ),
    ],
)
def test_a_question_is_said_in_the_words_of_the_revision(
    question: Question, date: str, method: str, params: dict[str, Any]
) -> None:
    assert written(question, revision(date)) == (method, params)


def test_answers_are_read_and_everything_else_is_refused() -> None:
    accepted = read(ElicitResult, {"action": "accept", "content": {"name": "a"}})
    assert accepted == ElicitResult(action="accept", content={"name": "a"})
    declined = read(ElicitResult, {"action": "decline", "_meta": {"a": 1}})
    assert declined == ElicitResult(action="decline", meta={"a": 1})
    assert read(ListRootsResult, {"roots": [{"uri": "file:///a"}]}) == ListRootsResult(roots=[Root("file:///a")])
    said = read(CreateMessageResult, {"role": "assistant", "content": {"type": "text", "text": "a"}, "model": "m"})
    assert said == CreateMessageResult(role="assistant", content=TextContent("a"), model="m")
    refused: list[tuple[Any, dict[str, Any]]] = [
        (ElicitResult, {}),
        (ElicitResult, {"action": "yes"}),
        (CreateMessageResult, {"role": "assistant", "content": {"type": "video"}, "model": "m"}),
        (ListRootsResult, {"roots": "all"}),
    ]
    for kind, result in refused:
        with pytest.raises(NoAnswer):
            read(kind, result)


def test_what_a_model_said_is_read_as_text_from_one_block_or_from_several() -> None:
    one = CreateMessageResult(role="assistant", content=TextContent("a"), model="m")
    several = CreateMessageResult(
        role="assistant",
        content=[TextContent("a"), ToolUseContent(id="u", name="t", input={}), TextContent("b")],
        model="m",
    )
    assert (one.text, several.text) == ("a", "ab")


@pytest.mark.parametrize("url", ["", "page", "https://", "https://example.com/a b"])
def test_a_question_for_a_page_has_a_valid_url(url: str) -> None:
    """Elicitation, "URL Mode Elicitation Requests"."""
    with pytest.raises(ValueError, match="url must be absolute"):
        ElicitUrl(message="Pay", url=url)


def test_a_question_for_a_page_has_an_id_of_its_own_where_the_revision_demands_one() -> None:
    """Elicitation 2025-11-25, "URL Mode Elicitation Requests"."""
    pages = [ElicitUrl(message="Pay", url="https://example.com") for _ in range(2)]
    ids = {written(page, revision("2025-11-25"))[1]["elicitationId"] for page in pages}
    assert len(ids) == 2
    assert "elicitationId" not in written(pages[0], revision("2026-07-28"))[1]


def test_a_result_that_asks_for_nothing_and_has_no_state_cannot_be_made() -> None:
    """Multi Round-Trip Requests, "Server Requirements (Basic Workflow)"."""
    with pytest.raises(ValueError, match="or a state, or both"):
        InputRequiredResult()
    assert InputRequiredResult(request_state="").request_state == ""
    assert InputRequiredResult(input_requests={"a": FORM}).input_requests == {"a": FORM}


def test_a_conversation_that_clients_must_refuse_cannot_be_made() -> None:
    """Sampling, "Tool Use and Result Balance"."""
    with pytest.raises(ValueError, match="every tool use"):
        CreateMessage(messages=[USE], max_tokens=1)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([HELLO], None),
        ([HELLO, USE, RESULT], None),
        ([HELLO, USE, RESULT, HELLO], None),
        ([HELLO, USE], "every tool use"),
        ([HELLO, USE, HELLO], "every tool use"),
        ([HELLO, RESULT], "every tool use"),
        ([SamplingMessage("assistant", RESULT.content)], "user message of their own"),
        ([USE, SamplingMessage("user", [*RESULT.blocks, TextContent("and")])], "user message of their own"),
        ([SamplingMessage("user", USE.content)], "assistant messages"),
    ],
)
def test_tool_uses_and_their_results_stand_where_they_must(messages: list[SamplingMessage], words: str | None) -> None:
    """2025-11-25, Sampling, "Tool Use and Result Balance" and "Tool Result Messages"."""
    found = unbalanced(messages)
    assert found is None if words is None else words in (found or "")


def test_an_input_required_result_has_requests_or_a_state() -> None:
    """Multi Round-Trip Requests, "Server Requirements (Basic Workflow)": at least one of the two."""
    assert InputRequiredResult(input_requests={"a": FORM}).request_state is None
    assert InputRequiredResult(request_state="").input_requests == {}
    with pytest.raises(ValueError, match="input requests, or a state"):
        InputRequiredResult()


def test_an_input_required_result_has_forms_that_clients_can_show() -> None:
    """Elicitation, "Requested Schema": flat objects of primitive properties."""
    nested = {"type": "object", "properties": {"a": {"type": "object"}}}
    with pytest.raises(ValueError, match="'b' cannot be asked: a: a field is a string"):
        InputRequiredResult(input_requests={"a": FORM, "b": ElicitForm(message="m", requested_schema=nested)})


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (CreateMessage(messages=[], max_tokens="5"), r"Expected `int`, got `str` - at `\$.maxTokens`"),  # type: ignore[arg-type]  # the case
        (CreateMessage(messages=[], max_tokens=5, metadata={"a": object()}), "object"),
        (ElicitForm(message=5, requested_schema=FORM.requested_schema), r"\$.message"),  # type: ignore[arg-type]  # the case
        (ElicitForm(message="m", requested_schema={"type": "object"}), "a form is an object with properties"),
    ],
)
def test_a_question_that_no_client_could_read_is_found(question: Question, words: str) -> None:
    assert re.search(words, fault(question) or "")
    with pytest.raises(ValueError, match="'a' cannot be asked"):
        InputRequiredResult(input_requests={"a": question})


def test_a_question_that_clients_can_read_has_no_fault() -> None:
    for question in (FORM, CreateMessage(messages=[], max_tokens=5), ListRoots()):
        assert fault(question) is None
