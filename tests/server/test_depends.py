"""Parameters that the server fills by calling other functions."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import pytest

from mcpfleet import Context, Depends, RegistrationError, Server, ToolError
from tests.server.methods.desk import asking

journal: list[str] = []


@pytest.fixture(autouse=True)
def _fresh_journal() -> None:
    journal.clear()


def settings() -> str:
    journal.append("settings")
    return "set"


async def database(ctx: Context, by: Annotated[str, Depends(settings)]) -> str:
    journal.append("database")
    return f"db of {ctx.protocol_version} {by}"


async def session(by: Annotated[str, Depends(settings)]) -> AsyncIterator[str]:
    journal.append("opened")
    try:
        yield f"session {by}"
    except ToolError as error:
        journal.append(f"failed: {error}")
        raise
    finally:
        journal.append("closed")


Database = Annotated[str, Depends(database)]
Session = Annotated[str, Depends(session)]


async def test_clients_neither_see_nor_give_what_depends() -> None:
    server = Server("s")

    @server.tool
    def ask(question: str, db: Database) -> str:
        return f"{question} {db}"

    [tool] = server.registry.tools
    assert list(tool.definition.input_schema["properties"]) == ["question"]
    async with asking(server) as desk:
        arguments = {"question": "who", "db": "forged"}
        result = await desk.result("tools/call", {"name": "ask", "arguments": arguments})
    assert result["content"][0]["text"] == "who db of 2026-07-28 set"


async def test_each_is_called_once_a_call_and_ends_after_it() -> None:
    server = Server("s")

    @server.tool
    async def both(db: Database, opened: Session, again: Session, by: Annotated[str, Depends(settings)]) -> str:
        journal.append("called")
        return f"{opened}, {again}, {by}"

    async with asking(server) as desk:
        for _ in range(2):
            journal.clear()
            result = await desk.result("tools/call", {"name": "both"})
            assert result["content"][0]["text"] == "session set, session set, set"
            assert journal == ["settings", "database", "opened", "called", "closed"]


async def test_a_dependency_sees_how_the_call_failed() -> None:
    server = Server("s")

    @server.tool
    def fails(opened: Session) -> str:
        raise ToolError("no")

    async with asking(server) as desk:
        result = await desk.result("tools/call", {"name": "fails"})
    assert (result["isError"], result["content"][0]["text"]) == (True, "no")
    assert journal == ["settings", "opened", "failed: no", "closed"]


async def test_a_dependency_ends_when_the_call_is_cancelled() -> None:
    server, begun = Server("s"), asyncio.Event()

    @server.tool
    async def waits(opened: Session) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    async with asking(server) as desk:
        task = asyncio.ensure_future(desk.outcome("tools/call", {"name": "waits"}))
        await asyncio.wait_for(begun.wait(), 10)
        task.cancel()
        await asyncio.wait([task], timeout=10)
    assert task.cancelled()
    assert journal == ["settings", "opened", "closed"]


async def test_a_dependency_that_fails_keeps_the_function_from_being_called() -> None:
    server = Server("s")

    def refuses() -> str:
        raise ToolError("You may not.")

    @server.tool
    def guarded(_who: Annotated[str, Depends(refuses)]) -> str:
        journal.append("called")
        return ""

    async with asking(server) as desk:
        result = await desk.result("tools/call", {"name": "guarded"})
    assert result["content"][0]["text"] == "You may not."
    assert journal == []


async def test_a_dependency_that_swallows_an_exception_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s")

    async def swallows() -> AsyncIterator[str]:
        try:
            yield "x"
        except LookupError:
            journal.append("swallowed")

    @server.tool
    def fails(_x: Annotated[str, Depends(swallows)]) -> str:
        raise LookupError

    async with asking(server) as desk:
        assert (await desk.result("tools/call", {"name": "fails"}))["isError"]
    assert journal == ["swallowed"]
    assert "a dependency swallowed an exception" in caplog.text


async def test_every_kind_of_function_may_depend() -> None:
    server = Server("s")

    @server.prompt
    def greet(name: str, db: Database) -> str:
        return f"{name} {db[:2]}"

    @server.resource("x://{a}")
    async def read(a: str, db: Database) -> str:
        return f"{a} {db[:2]}"

    @server.read_resource
    def other(uri: str, db: Database) -> str:
        return f"{uri} {db[:2]}"

    @server.list_resources
    def listed(db: Database) -> list[Any]:
        journal.append(db[:2])
        return []

    @server.completion("prompt", "greet", argument="name")
    def names(value: str, db: Database) -> list[str]:
        return [value, db[:2]]

    @server.method("acme/x")
    def method(db: Database) -> str:
        return db[:2]

    async with asking(server) as desk:
        result = await desk.result("prompts/get", {"name": "greet", "arguments": {"name": "Ann"}})
        assert result["messages"][0]["content"]["text"] == "Ann db"
        for uri, text in (("x://5", "5 db"), ("y://5", "y://5 db")):
            assert (await desk.result("resources/read", {"uri": uri}))["contents"][0]["text"] == text
        await desk.result("resources/list")
        params = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": "A"}}
        assert (await desk.result("completion/complete", params))["completion"]["values"] == ["A", "db"]
        assert await desk.result("acme/x") == {"result": "db"}
    assert "db" in journal


def needs(more: str) -> str:
    return more


def generates() -> Iterator[str]:
    yield ""


def itself(one: "Annotated[str, Depends(itself)]") -> str:
    return one


def test_what_could_not_be_filled_is_refused_at_registration() -> None:
    server = Server("s")
    for function, words in (
        (needs, "nobody can give parameter 'more'"),
        (generates, "nothing can depend on a generator that is not asynchronous"),
        (itself, "depends on itself"),
        (5, "is no function"),
    ):

        def tool(one: Any) -> None: ...

        tool.__annotations__["one"] = Annotated[str, Depends(function)]  # type: ignore[arg-type]  # 5 is the case
        with pytest.raises(RegistrationError, match=words):
            server.tool(tool)
    assert not server.registry.tools


def test_a_hand_written_schema_cannot_name_what_the_server_fills() -> None:
    def tool(db: Database, **given: str) -> None: ...

    schema = {"type": "object", "properties": {"db": {"type": "string"}}}
    with pytest.raises(RegistrationError, match="'db', which the server fills"):
        Server("s").tool(input_schema=schema)(tool)


def test_a_dependency_shows_what_it_calls() -> None:
    assert repr(Depends(settings)) == "Depends(settings)"
