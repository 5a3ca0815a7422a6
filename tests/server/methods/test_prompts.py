"""`prompts/get` ("Prompts", sections "Getting a Prompt" and "Error Handling")."""

import asyncio
from typing import Any

import pytest

from mcpfleet import Context, ProtocolError, Server, ToolError
from mcpfleet.server.outcome import Refusal
from tests.server.methods.desk import asking

SECRET = "postgres://admin:hunter2@db"


def review(code: str, depth: int = 1) -> str:
    """Review code."""
    return f"{code} {depth}"


async def test_a_prompt_is_filled_in() -> None:
    server = Server("s")
    server.prompt(review)
    async with asking(server) as desk:
        result = await desk.result("prompts/get", {"name": "review", "arguments": {"code": "x", "depth": "2"}})
    assert result == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "x 2"}}],
        "description": "Review code.",
    }


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": {}}])
async def test_a_prompt_without_arguments_needs_none(arguments: dict[str, Any]) -> None:
    server = Server("s")
    server.prompt(name="bare")(lambda: "hi")
    async with asking(server) as desk:
        result = await desk.result("prompts/get", {"name": "bare", **arguments})
    assert result["messages"][0]["content"]["text"] == "hi"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"name": "absent"}, "Unknown prompt: absent"),
        ({"name": 5}, "params.name must be a string"),
        ({}, "params.name must be a string"),
        ({"name": "review", "arguments": []}, "params.arguments must be an object"),
        ({"name": "review"}, "code: required, but missing"),
        ({"name": "review", "arguments": {"code": 5}}, "code: must be a string"),
        ({"name": "review", "arguments": {"code": "x", "depth": "deep"}}, "depth: Expected int, got str"),
    ],
)
async def test_what_is_wrong_with_a_request_is_invalid_params(params: dict[str, Any], words: str) -> None:
    server = Server("s")
    server.prompt(review)
    async with asking(server) as desk:
        assert await desk.outcome("prompts/get", params) == Refusal(-32602, words)


@pytest.mark.parametrize(
    ("error", "refusal"),
    [
        (ToolError("Ask somebody else."), Refusal(-32603, "Ask somebody else.")),
        (ProtocolError(-32010, "public", {"a": 1}), Refusal(-32010, "public", {"a": 1})),
    ],
)
async def test_public_words_reach_the_client(error: Exception, refusal: Refusal) -> None:
    server = Server("s")

    @server.prompt
    def fails() -> str:
        raise error

    async with asking(server) as desk:
        assert await desk.outcome("prompts/get", {"name": "fails"}) == refusal


@pytest.mark.parametrize("value", [None, 5])
async def test_anything_else_is_an_internal_error_told_by_a_number(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("s")

    @server.prompt
    def fails() -> Any:
        if value is None:
            raise RuntimeError(SECRET)
        return value

    async with asking(server) as desk:
        refused = await desk.refusal("prompts/get", {"name": "fails"})
    assert (refused.code, refused.message) == (-32603, "Internal error")
    assert refused.data["correlationId"] in caplog.text


async def test_a_prompt_has_its_time_and_can_see_that_it_is_over() -> None:
    server, seen = Server("s"), list[Context]()

    @server.prompt(timeout=0.05)
    async def slow(ctx: Context) -> str:
        seen.append(ctx)
        await asyncio.Event().wait()
        return ""

    async with asking(server) as desk:
        refused = await desk.refusal("prompts/get", {"name": "slow"})
    assert refused == Refusal(-32603, "The call did not finish within 0.05 seconds.")
    assert seen[0].cancelled


async def test_a_cancelled_request_cancels_its_prompt() -> None:
    server, begun, ended = Server("s"), asyncio.Event(), list[bool]()

    @server.prompt
    async def slow(ctx: Context) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
        return ""

    async with asking(server) as desk:
        task = asyncio.ensure_future(desk.outcome("prompts/get", {"name": "slow"}))
        await asyncio.wait_for(begun.wait(), 10)
        task.cancel()
        await asyncio.wait([task], timeout=10)
    assert task.cancelled()
    assert ended == [True]


@pytest.mark.parametrize("method", ["prompts/list", "prompts/get"])
async def test_a_server_without_prompts_does_not_have_their_methods(method: str) -> None:
    async with asking(Server("s")) as desk:
        assert (await desk.refusal(method, {"name": "a"})).code == -32601
