"""What a client makes of streams that are cut anywhere, connections that end anywhere, and sessions that are lost."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from typing import Final

import pytest

from mcpfleet.client.client import Client
from mcpfleet.errors import ClientError, Disconnected, HttpRefused, ReplyRefused
from mcpfleet.protocol.messages.notifications import LogMessage
from tests.client.scripted import (
    STREAM,
    Got,
    Json,
    answered,
    called,
    discovered,
    event,
    initialized,
    scripted,
)
from tests.client.test_client import text_of
from tests.wire import MODERN

WORDS: Final = "a\u2028b\u2029c\x85d 😀 \r\n data: x"
ACCEPTED: Final = answered(b"", 202)


def logged(text: str) -> Json:
    """A log message."""
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": text}}


def greeted(got: Got, session: str = "s1") -> bytes | None:
    """What both kinds of server say to all but calls."""
    match got.rpc:
        case "server/discover":
            return answered(discovered(got, MODERN))
        case "initialize":
            return answered(initialized(got), Mcp_Session_Id=session)
        case "tools/call":
            return None
        case "":
            return answered(b"", 405)
    return ACCEPTED


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"], ids=["LF", "CR", "CRLF"])
async def test_a_stream_is_read_alike_wherever_it_is_cut_and_however_its_lines_end(end: bytes) -> None:
    """Comments, an event of an id and no data, several data lines, and separators inside of strings."""
    heard: list[LogMessage] = []

    def stream(got: Got) -> bytes:
        answer = json.dumps(called(got, WORDS), ensure_ascii=False, indent=1).replace("\n", "\ndata: ")
        told = json.dumps(logged(WORDS), ensure_ascii=False)
        text = f": a comment\n\nid: 1\ndata:\n\ndata: {told}\n\ndata: {answer}\n\n"
        return text.encode().replace(b"\n", end)

    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        if (said := greeted(got)) is not None:
            yield said
            return
        body, cut = stream(got), int(got.message["params"]["arguments"]["cut"])
        yield STREAM + body[:cut]
        await asyncio.sleep(0)
        yield body[cut:]

    async with scripted(play) as server:
        client = Client(server.url, mode="modern")
        client.on_log(heard.append)
        async with client, asyncio.timeout(120):
            length = len(stream(Got("POST", "/", {}, b'{"id": 100}')))
            for cut in range(length):
                assert text_of(await client.call_tool("x", {"cut": cut})) == WORDS
    assert [message.data for message in heard] == [WORDS] * length


CUTS: Final = {
    "before the head": b"",
    "within the head": b"HTTP/1.1 200 OK\r\nContent-Ty",
    "after the head": STREAM,
    "within an event": STREAM + b'data: {"jsonrpc": "2.0", "me',
    "between events": STREAM + event(logged("one")),
    "within an object": b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"jsonrpc',
}


@pytest.mark.parametrize("sent", CUTS.values(), ids=CUTS.keys())
@pytest.mark.parametrize("mode", ["modern", "legacy"])
async def test_no_call_hangs_wherever_the_connection_ends(mode: str, sent: bytes) -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        said = greeted(got)
        yield sent if said is None else said

    async with scripted(play) as server, Client(server.url, mode=mode) as client, asyncio.timeout(10):
        with pytest.raises(Disconnected):
            await client.call_tool("x")
    assert len(server.asked("tools/call")) == 1


@pytest.mark.parametrize(
    "body", [b"<html>", b"", b"[]", b'{"jsonrpc": "2.0"}', b'{"jsonrpc": "2.0", "id": 99, "result": {}}'], ids=repr
)
async def test_an_answer_that_is_none_is_refused(body: bytes) -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        said = greeted(got)
        yield answered(body) if said is None else said

    async with scripted(play) as server, Client(server.url, mode="modern") as client:
        with pytest.raises(ReplyRefused):
            await client.call_tool("x")


@pytest.mark.parametrize("head", [b"Content-Type: text/event-stream", b"Content-Type: application/json"], ids=repr)
async def test_an_answer_that_is_too_large_is_refused_before_it_is_read_to_its_end(head: bytes) -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        if (said := greeted(got)) is not None:
            yield said
            return
        yield b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + head + b"\r\n\r\ndata: "
        while True:
            yield b"x" * 65536

    async with scripted(play) as server, Client(server.url, mode="modern") as client, asyncio.timeout(30):
        with pytest.raises(ReplyRefused, match="exceeds 4194304 bytes"):
            await client.call_tool("x")


@pytest.mark.parametrize("status", [302, 307, 500, 502])
async def test_a_status_without_a_message_is_raised_and_no_redirect_followed(status: int) -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        said = greeted(got)
        yield answered(b"<html>", status, Location="/elsewhere") if said is None else said

    async with scripted(play) as server, Client(server.url, mode="modern") as client:
        with pytest.raises(HttpRefused) as refused:
            await client.call_tool("x")
    assert refused.value.status == status
    assert {got.path for got in server.requests} == {"/mcp"}


async def test_a_stream_is_taken_up_again_after_the_time_that_its_server_wants() -> None:
    began = resumed = 0.0
    call: Got | None = None

    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        nonlocal began, resumed, call
        if got.rpc == "tools/call":
            call = got
            yield STREAM + event(None, event_id="e1", retry_ms=500)
            began = time.monotonic()
        elif call is not None and got.headers.get("last-event-id") == "e1":
            resumed = time.monotonic()
            yield STREAM + event(logged("still here"), event_id="e2")
        elif call is not None and got.headers.get("last-event-id") == "e2":
            yield STREAM + event(called(call, "done"), event_id="e3")
        elif (said := greeted(got)) is not None:
            yield said

    async with scripted(play) as server, Client(server.url, mode="legacy") as client:
        assert text_of(await client.call_tool("x")) == "done"
    assert resumed - began >= 0.5
    assert len(server.asked("tools/call")) == 1
    assert all(got.headers["mcp-session-id"] == "s1" for got in server.requests if "last-event-id" in got.headers)


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_a_call_whose_stream_is_not_given_again_is_not_made_again(status: int) -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        if got.rpc == "tools/call":
            yield STREAM + event(None, event_id="e1", retry_ms=0)
        elif got.method == "GET":
            yield answered(b"", status)
        elif (said := greeted(got)) is not None:
            yield said

    async with scripted(play) as server, Client(server.url, mode="legacy") as client, asyncio.timeout(10):
        with pytest.raises(Disconnected):
            await client.call_tool("x")
    assert len(server.asked("tools/call")) == 1


async def test_a_stream_that_breaks_off_again_and_again_is_given_up() -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        if got.rpc == "tools/call":
            yield STREAM + event(None, event_id="e1", retry_ms=0)
        elif got.headers.get("last-event-id") == "e1":
            yield STREAM
        elif (said := greeted(got)) is not None:
            yield said

    async with scripted(play) as server, Client(server.url, mode="legacy") as client, asyncio.timeout(10):
        with pytest.raises(Disconnected):
            await client.call_tool("x")
    assert len([got for got in server.requests if "last-event-id" in got.headers]) == 2


class Forgetful:
    """A legacy server that loses a session, and says so in a way of its own."""

    def __init__(self, lost: bytes, *, keeps: int = 1000) -> None:
        self.sessions = 0
        self.lost_until = 0
        self._lost = lost
        self._keeps = keeps

    async def play(self, got: Got) -> AsyncGenerator[bytes, None]:
        if got.rpc == "initialize":
            self.sessions += 1
            yield answered(initialized(got), Mcp_Session_Id=f"s{self.sessions}")
        elif got.rpc == "tools/call":
            number = int(got.headers["mcp-session-id"].removeprefix("s"))
            is_lost = number <= self.lost_until or number > self._keeps
            yield self._lost if is_lost else answered(called(got, f"s{number}"))
        elif (said := greeted(got)) is not None:
            yield said


LOSSES: Final = {
    "404 and nothing": answered(b"", 404),
    "404 and HTML": answered(b"<html>", 404, media_type="text/html"),
    "404 and an error": answered(
        b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "Session not found"}}', 404
    ),
}


@pytest.mark.parametrize("lost", LOSSES.values(), ids=LOSSES.keys())
async def test_a_lost_session_is_begun_anew_once_for_all_calls_that_notice(lost: bytes) -> None:
    forgetful = Forgetful(lost)
    async with scripted(forgetful.play) as server, Client(server.url, mode="legacy") as client:
        assert text_of(await client.call_tool("x")) == "s1"
        forgetful.lost_until = 1
        results = await asyncio.gather(*(client.call_tool("x") for _ in range(10)))
        assert {text_of(each) for each in results} == {"s2"}
        assert text_of(await client.call_tool("x")) == "s2"
    assert forgetful.sessions == 2
    assert len(server.asked("tools/call")) == 1 + 10 + 10 + 1


async def test_a_session_that_is_lost_again_at_once_is_an_error() -> None:
    forgetful = Forgetful(LOSSES["404 and nothing"], keeps=1)
    forgetful.lost_until = 1
    async with scripted(forgetful.play) as server, Client(server.url, mode="legacy") as client:
        with pytest.raises(HttpRefused):
            await client.call_tool("x")
    assert len(server.asked("tools/call")) == 2


async def test_what_belongs_to_no_call_is_heard_and_answered_on_the_session_s_own_stream() -> None:
    heard, answers = asyncio.Event(), list[Json]()

    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        if got.method == "GET":
            yield STREAM + event(logged("hello"), event_id="g1")
            yield event({"jsonrpc": "2.0", "id": "q1", "method": "ping"}, event_id="g2")
            yield event({"jsonrpc": "2.0", "id": "q2", "method": "roots/list"}, event_id="g3")
            await asyncio.sleep(20)
        elif got.body and "id" in got.message and "method" not in got.message:
            answers.append(got.message)
            if len(answers) == 2:
                heard.set()
            yield ACCEPTED
        elif (said := greeted(got)) is not None:
            yield said

    logs: list[LogMessage] = []
    async with scripted(play) as server:
        client = Client(server.url, mode="legacy")
        client.on_log(logs.append)
        async with client, asyncio.timeout(10):
            await heard.wait()
    assert [message.data for message in logs] == ["hello"]
    by_id = {answer["id"]: answer for answer in answers}
    assert by_id["q1"]["result"] == {}
    assert by_id["q2"]["error"]["code"] == -32601


async def test_leaving_a_client_cancels_what_it_waits_for_and_raises_what_its_user_raised() -> None:
    called_upon = asyncio.Event()

    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        if (said := greeted(got)) is not None:
            yield said
        else:
            called_upon.set()
            await asyncio.sleep(20)

    async with scripted(play) as server, asyncio.timeout(10):
        with pytest.raises(KeyError):
            async with Client(server.url, mode="modern"):
                raise KeyError("mine")
        client = Client(server.url, mode="modern")
        async with client:
            call = asyncio.create_task(client.call_tool("x"))
            await called_upon.wait()
        with pytest.raises(ClientError):
            await call


def test_a_url_that_cannot_be_a_server_s_is_refused() -> None:
    for url in ("ftp://host/", "http://", "https://user:password@host/", "/mcp"):
        with pytest.raises(ValueError, match="http or https"):
            Client(url)
