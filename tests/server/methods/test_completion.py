"""`completion/complete` ("Completion")."""

from typing import Any, Literal

import pytest

from mcpfleet import Completion, Server
from mcpfleet.server.outcome import Refusal
from tests.server.methods.desk import asking

PROMPT = {"type": "ref/prompt", "name": "review"}
TEMPLATE = {"type": "ref/resource", "uri": "users://{user_id}/{field}"}


@pytest.fixture
def server() -> Server:
    server = Server("s")

    @server.prompt
    def review(language: str, framework: str = "", mood: Literal["warm", "cool"] = "warm") -> str:
        return language

    @server.resource("users://{user_id}/{field}")
    def user(user_id: str, field: str) -> str:
        return user_id

    @server.completion("prompt", "review", argument="language")
    def languages(value: str) -> list[str]:
        return [each for each in ("python", "pytorch", "pyside") if each.startswith(value)]

    @server.completion("prompt", "review", argument="framework")
    async def frameworks(value: str, arguments: dict[str, str]) -> Completion:
        return Completion([f"{arguments.get('language')}-{value}"], total=10, has_more=True)

    @server.completion("resource", "users://{user_id}/{field}")
    def anything(argument: str, value: str) -> list[str]:
        return [f"{argument}:{value}"]

    return server


@pytest.mark.parametrize(
    ("params", "told"),
    [
        (
            {"ref": PROMPT, "argument": {"name": "language", "value": "pyt"}},
            {"values": ["python", "pytorch"], "total": 2, "hasMore": False},
        ),
        (
            {
                "ref": PROMPT,
                "argument": {"name": "framework", "value": "fla"},
                "context": {"arguments": {"language": "python"}},
            },
            {"values": ["python-fla"], "total": 10, "hasMore": True},
        ),
        (
            {"ref": PROMPT, "argument": {"name": "framework", "value": ""}, "context": {}},
            {"values": ["None-"], "total": 10, "hasMore": True},
        ),
        (
            {"ref": PROMPT, "argument": {"name": "mood", "value": "C"}},
            {"values": ["cool"], "total": 1, "hasMore": False},
        ),
        (
            {"ref": TEMPLATE, "argument": {"name": "field", "value": "x"}},
            {"values": ["field:x"], "total": 1, "hasMore": False},
        ),
        (
            {"ref": {**TEMPLATE, "uri": "users://42/name"}, "argument": {"name": "user_id", "value": "4"}},
            {"values": ["user_id:4"], "total": 1, "hasMore": False},
        ),
    ],
)
async def test_an_argument_is_completed(server: Server, params: dict[str, Any], told: dict[str, Any]) -> None:
    async with asking(server) as desk:
        assert await desk.result("completion/complete", params) == {"completion": told}


async def test_an_argument_that_nothing_completes_has_no_suggestions(server: Server) -> None:
    server.prompt(name="other")(lambda code: code)
    params = {"ref": {"type": "ref/prompt", "name": "other"}, "argument": {"name": "code", "value": "x"}}
    async with asking(server) as desk:
        assert await desk.result("completion/complete", params) == {
            "completion": {"values": [], "total": 0, "hasMore": False}
        }


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"ref": {"type": "ref/prompt", "name": "absent"}}, "Unknown reference: absent"),
        ({"ref": {"type": "ref/resource", "uri": "x://{absent}"}}, "Unknown reference: x://{absent}"),
        ({"ref": {"type": "ref/tool", "name": "review"}}, "params.ref.type must be ref/prompt or ref/resource"),
        ({"ref": {"type": "ref/prompt"}}, "params.ref.name must be a string"),
        ({"ref": {"type": "ref/resource", "name": "review"}}, "params.ref.uri must be a string"),
        ({"ref": []}, "params.ref must be an object"),
        ({}, "params.ref.type must be ref/prompt or ref/resource"),
        ({"ref": PROMPT, "argument": {"name": "absent", "value": ""}}, "Unknown argument: absent"),
        ({"ref": TEMPLATE, "argument": {"name": "absent", "value": ""}}, "Unknown argument: absent"),
        ({"ref": PROMPT, "argument": {"name": "language"}}, "params.argument.value must be a string"),
        ({"ref": PROMPT, "argument": {"value": ""}}, "params.argument.name must be a string"),
        ({"ref": PROMPT, "context": []}, "params.context must be an object"),
        ({"ref": PROMPT, "context": {"arguments": 5}}, "params.context.arguments must be an object"),
        (
            {"ref": PROMPT, "context": {"arguments": {"framework": 5}}},
            "params.context.arguments must be an object of strings",
        ),
    ],
)
async def test_what_is_unknown_or_malformed_is_refused(server: Server, params: dict[str, Any], words: str) -> None:
    """Completion, "Error Handling": -32602."""
    params = {"argument": {"name": "language", "value": ""}, **params}
    async with asking(server) as desk:
        assert await desk.outcome("completion/complete", params) == Refusal(-32602, words)


async def test_a_server_that_completes_nothing_does_not_have_the_method() -> None:
    server = Server("s")
    server.prompt(name="review")(lambda language: language)
    params = {"ref": PROMPT, "argument": {"name": "language", "value": ""}}
    async with asking(server) as desk:
        assert (await desk.refusal("completion/complete", params)).code == -32601
