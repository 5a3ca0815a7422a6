"""Prompts: what is told of them, and what filling one in gives."""

from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, ClassVar

import pytest

from mcpfleet.errors import ArgumentsRefused, OutputRefused, RegistrationError
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.messages import (
    GetPromptResult,
    Icon,
    ImageContent,
    PromptArgument,
    PromptMessage,
    TextContent,
)
from mcpfleet.server.prompt import Prompt, compile_prompt
from mcpfleet.server.threads import Threads


class Context:
    pass


def told_as(value: Any) -> Any:
    """As a client reads it."""
    return jsontext.loads(jsontext.dumps(value))


IMAGE = ImageContent("aGk=", "image/png")


@pytest.fixture
async def threads() -> AsyncIterator[Threads]:
    threads = Threads()
    yield threads
    threads.close()


def compiled(prompt: Any, **options: Any) -> Prompt:
    return compile_prompt(prompt, context_type=Context, **options)


def review(code: Annotated[str, "The code."], ctx: Context, depth: int = 1, focus: str | None = None) -> str:
    """Review some code.

    Args:
        focus: What to look at.
    """
    return f"{code} {depth} {focus} {type(ctx).__name__}"


def test_a_prompt_is_told_by_its_signature_and_docstring() -> None:
    assert told_as(compiled(review).definition) == {
        "name": "review",
        "description": "Review some code.",
        "arguments": [
            {"name": "code", "description": "The code.", "required": True},
            {"name": "depth"},
            {"name": "focus", "description": "What to look at."},
        ],
    }
    assert told_as(compiled(lambda: "hi", name="bare").definition) == {"name": "bare"}


def test_options_go_before_what_the_function_says() -> None:
    icon = Icon(src="https://x/i.png")
    prompt = compiled(
        review,
        name="other",
        title="T",
        description="D",
        icons=[icon],
        meta={"m": 1},
        timeout=2,
        arguments=[PromptArgument("code", title="Code", required=True), PromptArgument("depth")],
    )
    assert told_as(prompt.definition) == {
        "name": "other",
        "title": "T",
        "description": "D",
        "icons": [{"src": "https://x/i.png"}],
        "_meta": {"m": 1},
        "arguments": [{"name": "code", "title": "Code", "required": True}, {"name": "depth"}],
    }
    assert prompt.timeout == 2
    assert prompt.takes("depth")
    assert not prompt.takes("focus")


class CodeReview:
    """Review it."""

    title = "Code review"
    meta: ClassVar = {"version": "1"}

    def __call__(self, code: str) -> str:
        return code


async def test_a_class_or_an_instance_is_a_prompt_with_what_it_says(threads: Threads) -> None:
    for offered in (CodeReview, CodeReview()):
        prompt = compiled(offered)
        assert (prompt.name, prompt.definition.title, prompt.definition.meta) == (
            "code_review",
            "Code review",
            {"version": "1"},
        )
        result = await prompt.get(Context(), {"code": "x"}, threads)
        assert result.messages == (PromptMessage.user("x"),)


RESULTS: list[tuple[Any, list[PromptMessage]]] = [
    ("a", [PromptMessage("user", TextContent("a"))]),
    (IMAGE, [PromptMessage("user", IMAGE)]),
    (PromptMessage.assistant("a"), [PromptMessage("assistant", TextContent("a"))]),
    (
        ["a", IMAGE, PromptMessage.assistant("b")],
        [PromptMessage.user("a"), PromptMessage.user(IMAGE), PromptMessage.assistant("b")],
    ),
    ((), []),
]


@pytest.mark.parametrize(("value", "messages"), RESULTS)
async def test_what_a_prompt_returns_becomes_messages(threads: Threads, value: Any, messages: Any) -> None:
    def function() -> Any:
        """Say it."""
        return value

    async def coroutine() -> Any:
        """Say it."""
        return value

    for each in (function, coroutine):
        result = await compiled(each).get(Context(), {}, threads)
        assert result == GetPromptResult(messages=tuple(messages), description="Say it.")


async def test_a_result_that_is_ready_passes(threads: Threads) -> None:
    ready = GetPromptResult(messages=[], description="other", meta={"m": 1})
    assert await compiled(lambda: ready, name="a").get(Context(), {}, threads) is ready


@pytest.mark.parametrize("value", [None, 5, {"role": "user"}, [["a"]], ["a", 5], b"a"])
async def test_anything_else_is_the_prompts_fault(threads: Threads, value: Any) -> None:
    with pytest.raises(OutputRefused, match="for a message"):
        await compiled(lambda: value, name="a").get(Context(), {}, threads)


async def test_arguments_are_converted_and_a_context_is_given(threads: Threads) -> None:
    result = await compiled(review).get(Context(), {"code": "5", "depth": "3", "other": "x"}, threads)
    assert result.messages == (PromptMessage.user("5 3 None Context"),)
    with pytest.raises(ArgumentsRefused, match="code: required"):
        await compiled(review).get(Context(), {"depth": "x"}, threads)


async def test_an_open_function_takes_what_its_arguments_tell_of(threads: Threads) -> None:
    def function(**given: str) -> str:
        return repr(sorted(given.items()))

    prompt = compiled(function, arguments=[PromptArgument("a", required=True), PromptArgument("b")])
    result = await prompt.get(Context(), {"a": "1", "b": "2"}, threads)
    assert result.messages == (PromptMessage.user("[('a', '1'), ('b', '2')]"),)
    with pytest.raises(ArgumentsRefused, match="a: required, but missing"):
        await prompt.get(Context(), {"b": "2"}, threads)


def generates() -> Iterator[str]:
    yield "a"


def open_ended(**given: str) -> str:
    return ""


@pytest.mark.parametrize(
    ("offered", "options", "words"),
    [
        (review, {"name": "no good"}, "is no prompt name"),
        (review, {"name": "x" * 129}, "is no prompt name"),
        (generates, {}, "a generator cannot be served"),
        (open_ended, {}, r"\*\*kwargs need `arguments`"),
        (review, {"timeout": 0}, "timeout must be a positive number"),
        (review, {"arguments": []}, "parameter 'code' has no default, so `arguments` must require it"),
        (review, {"arguments": [PromptArgument("code")]}, "parameter 'code' has no default"),
        (lambda: "", {"name": "a", "arguments": [PromptArgument("x")]}, "has 'x', but no parameter takes it"),
        (review, {"meta": {"a": float("nan")}}, "its definition is not JSON"),
        (5, {}, "int is not callable"),
    ],
)
def test_what_could_not_be_served_is_refused_at_registration(offered: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        compiled(offered, **options)


def test_the_context_is_no_argument_that_could_be_told_of() -> None:
    def function(ctx: Context, **given: str) -> str:
        return ""

    with pytest.raises(RegistrationError, match="'ctx', which the server fills"):
        compiled(function, arguments=[PromptArgument("ctx")])


def test_a_prompt_is_renamed_and_keeps_the_rest() -> None:
    prompt = compiled(review)
    assert (prompt.renamed("x.review").name, prompt.name) == ("x.review", "review")
    assert prompt.renamed("x").callee is prompt.callee
    with pytest.raises(RegistrationError, match="is no prompt name"):
        prompt.renamed("")
