"""Tools as each revision lists and answers them (server features, "Tools")."""

import pytest

from tests.answer import Answer, Json
from tests.fleets import Fleet
from tests.wire import EVERY, LATEST_HANDSHAKE, MODERN, Client, connected

every_revision = pytest.mark.parametrize("date", EVERY)
STRUCTURED = ("2025-06-18", "2025-11-25", MODERN)


@every_revision
async def test_a_list_is_the_same_from_every_process_and_each_schema_is_of_an_object(fleet: Fleet, date: str) -> None:
    """Tools, "Listing Tools"."""
    async with connected(fleet.url, date) as client:
        lists = [(await client.request("tools/list")).result["tools"] for _ in fleet.processes]
    assert all(found == lists[0] for found in lists)
    assert {tool["inputSchema"]["type"] for tool in lists[0]} == {"object"}
    described = {tool["name"]: tool.get("description") for tool in lists[0]}
    assert described["add"] == "Add two numbers."


@every_revision
async def test_output_is_structured_where_the_revision_has_it_and_an_object_where_it_must_be(
    fleet: Fleet, date: str
) -> None:
    """Tools 2025-06-18, "Structured Content" and "Output Schema"; any JSON value since 2026-07-28."""
    async with connected(fleet.url, date) as client:
        schema = (await tool(client, "add")).get("outputSchema")
        result = (await client.call("add", a=1, b=2)).result
    assert result["content"] == [{"type": "text", "text": "3"}]
    if date not in STRUCTURED:
        assert schema is None
        assert "structuredContent" not in result
    elif date == MODERN:
        assert schema == {"type": "integer"}
        assert result["structuredContent"] == 3
    else:
        assert schema == {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
        assert result["structuredContent"] == {"result": 3}


@every_revision
async def test_output_that_is_an_object_is_never_wrapped(fleet: Fleet, date: str) -> None:
    """Tools 2025-06-18, "Structured Content": the text says the same for older clients."""
    async with connected(fleet.url, date) as client:
        answer = await client.call("whoami")
    assert set(answer.value) == {"pid", "session", "principal", "revision"}
    assert answer.result.get("structuredContent") == (answer.value if date in STRUCTURED else None)


@every_revision
async def test_text_survives_every_hop_unchanged(fleet: Fleet, date: str) -> None:
    """Transports, "Sending Messages to the Server": a message is one event whatever is in it; only CR and LF
    end lines in an event stream."""
    text = "a\u2028b\u2029c\x85d 😀 \r\n data: x\n\nid: 7\n\0\ufeff"
    async with connected(fleet.url, date) as client:
        assert (await client.call("echo", x=text)).text == text
    async with connected(fleet.url, date, headers={"Accept": "text/event-stream"}) as client:
        assert (await client.call("echo", x=text)).text == text


@every_revision
async def test_integers_of_any_size_come_back_exactly(fleet: Fleet, date: str) -> None:
    """Tools, "Structured Content": no digit is lost on the way through JSON and the store."""
    async with connected(fleet.url, date) as client:
        answer = await client.call("add", a=2**63, b=10**30)
    assert answer.text == str(2**63 + 10**30)


@every_revision
async def test_an_unknown_tool_is_an_error_of_the_protocol(fleet: Fleet, date: str) -> None:
    """Tools, "Error Handling": -32602, with status 400 only where statuses follow codes."""
    async with connected(fleet.url, date) as client:
        wrong: list[Json] = [{"name": "no_such_tool", "arguments": {}}, {"arguments": {}}, {"name": 3}]
        for params in wrong:
            refused(await client.request("tools/call", params, as_id="u"), date)


@every_revision
async def test_arguments_that_are_no_object_are_an_error_of_the_protocol(fleet: Fleet, date: str) -> None:
    """Tools, "Error Handling"."""
    async with connected(fleet.url, date) as client:
        wrong: list[object] = [[], "x", 1]
        for arguments in wrong:
            refused(await client.request("tools/call", {"name": "add", "arguments": arguments}, as_id="u"), date)


@every_revision
async def test_wrong_arguments_are_an_error_of_the_tool_that_names_the_field(fleet: Fleet, date: str) -> None:
    """Tools, "Error Handling": a model can read it and try again."""
    async with connected(fleet.url, date) as client:
        wrong: list[tuple[Json, str]] = [({"a": 1}, "b"), ({"a": "1", "b": 2}, "a"), ({"a": 1.5, "b": 2}, "a")]
        for arguments, field in wrong:
            answer = await client.call("add", **arguments)
            assert answer.status == 200
            assert answer.result["isError"] is True
            assert answer.result["content"][0]["text"].startswith(f"{field}: ")
            assert "structuredContent" not in answer.result


async def test_a_task_asked_of_a_server_without_tasks_is_served_as_a_call(fleet: Fleet) -> None:
    """Tasks 2025-11-25, "Task Support and Handling": who declares no tasks passes over the wish for one."""
    async with connected(fleet.url, LATEST_HANDSHAKE) as client:
        params: Json = {"name": "echo", "arguments": {"x": "hi"}, "task": {"ttl": 60_000}}
        answer = await client.request("tools/call", params)
    assert answer.text == "hi"
    assert "task" not in answer.result


@every_revision
async def test_a_cursor_that_no_list_gave_is_refused(fleet: Fleet, date: str) -> None:
    """Pagination, "Error Handling": -32602."""
    async with connected(fleet.url, date) as client:
        refused(await client.request("tools/list", {"cursor": "garbage"}, as_id="u"), date)


def refused(answer: Answer, date: str) -> None:
    assert (answer.error["code"], answer.reply["id"]) == (-32602, "u")
    assert answer.status == (400 if date == MODERN else 200)


async def tool(client: Client, name: str) -> Json:
    """The tool as it is listed."""
    found: list[Json] = (await client.request("tools/list")).result["tools"]
    return next(each for each in found if each["name"] == name)
