"""The MCP endpoint over real connections: who is let in, how bodies are read, and what proxies and clients need."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from mcpfleet import Context, Failed, Principal
from mcpfleet.backplane.intercepted import Intercepted
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.revisions import LATEST, LATEST_LEGACY
from mcpfleet.server.engine import Engine
from mcpfleet.server.failures import Reporter
from mcpfleet.server.rootschange import RootsHook
from mcpfleet_service.endpoint import Endpoint
from mcpfleet_service.guards import Guard
from tests.server.wire import call, request
from tests.server.world import PATIENT, Link, Stage, eventually
from tests.service.live import DEADLINE, Line, served

LIMIT = 10_000
BOTH = "application/json, text/event-stream"
MODERN = LATEST.date
LEGACY = LATEST_LEGACY.date
INITIALIZE = request("initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {}}, 1)


class Service:
    """An endpoint that is served, and the engine and the tools behind it."""

    def __init__(self, stage: Stage, engine: Engine, url: str) -> None:
        self.stage = stage
        self.engine = engine
        self.url = url

    def line(self, **options: Any) -> AbstractAsyncContextManager[Line]:
        return Line.to(self.url, **options)


@asynccontextmanager
async def serving(
    *,
    policy: Any = PATIENT,
    http: str = "httptools",
    link: Link | None = None,
    on_roots_changed: RootsHook | None = None,
    reporter: Reporter | None = None,
    **options: Any,
) -> AsyncIterator[Service]:
    """Serve an endpoint with these options at every path."""
    stage = Stage()
    server = stage.server()
    if on_roots_changed is not None:
        server.on_roots_changed(on_roots_changed)
    if reporter is not None:
        server.exception_reporter(reporter)
    engine = Engine(server, Intercepted(MemoryBackplane(), link or Link()), policy)
    guard = Guard(("localhost",), ("https://app.example.com",))
    given = {"max_body": LIMIT, "keepalive": None, "authenticate": None, **options}
    endpoint = Endpoint(lambda: engine, guard, given.pop("authenticate"), **given)
    async with engine.running(), served(endpoint, http=http) as url:
        yield Service(stage, engine, url)


def modern(tool: str, *, token: str | int | None = None, level: str | None = None, **arguments: Any) -> dict[str, Any]:
    """What `Line.request` sends to call a tool in a request that stands alone."""
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    meta |= {} if token is None else {"progressToken": token}
    meta |= {} if level is None else {"io.modelcontextprotocol/logLevel": level}
    body = request("tools/call", {"name": tool, "arguments": arguments, "_meta": meta}, "mine")
    return {
        "body": json.dumps(body).encode(),
        "Accept": BOTH,
        "MCP_Protocol_Version": MODERN,
        "Mcp_Method": "tools/call",
        "Mcp_Name": tool,
    }


def legacy(message: Any, session: str | None = None) -> dict[str, Any]:
    """What `Line.request` sends for one message of a session."""
    return {
        "body": json.dumps(message).encode(),
        "Accept": BOTH,
        **({} if session is None else {"Mcp_Session_Id": session}),
    }


async def initialized(service: Service, date: str = LEGACY) -> str:
    """The id of a new session."""
    handshake = request("initialize", {**INITIALIZE["params"], "protocolVersion": date}, 1)
    async with service.line() as line:
        await line.request("POST", "/mcp", **legacy(handshake))
        status, headers = await line.head()
        assert status == 200
        return headers["mcp-session-id"]


async def refusal(line: Line) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Status, headers and error of a refused request."""
    status, headers = await line.head()
    assert headers["content-type"] == "application/json"
    message = json.loads(await line.body(headers))
    assert message["jsonrpc"] == "2.0"
    error: dict[str, Any] = message["error"]
    return status, headers, error


async def test_a_call_is_answered_over_a_connection_that_stays_open() -> None:
    async with serving() as service, service.line() as line:
        for text in ("one", "two"):
            await line.request("POST", "/mcp", **modern("echo", x=text))
            status, headers = await line.head()
            assert (status, headers["content-type"]) == (200, "application/json")
            message = json.loads(await line.body(headers))
            assert message["result"]["content"][0]["text"] == text


async def test_a_body_that_is_announced_too_large_is_refused_before_it_is_sent() -> None:
    async with serving() as service, service.line() as line:
        await line.request("POST", "/mcp", Content_Length=str(LIMIT + 1), Accept=BOTH)
        status, headers, error = await refusal(line)
        assert (status, error["code"], error["data"]["reason"]) == (413, -32600, "body_too_large")
        assert headers["connection"] == "close"


async def test_a_body_that_turns_out_too_large_is_refused_without_reading_it_all() -> None:
    async with serving() as service, service.line() as line:
        await line.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(LIMIT // 1000 + 1):
            await line.send(b"3e8\r\n" + b"x" * 1000 + b"\r\n")
        status, headers, error = await refusal(line)
        assert (status, error["data"]["reason"], headers["connection"]) == (413, "body_too_large", "close")


async def test_a_client_that_sends_all_of_a_body_too_large_still_reads_why_it_was_refused() -> None:
    async with serving() as service, httpx2.AsyncClient(timeout=DEADLINE, trust_env=False) as client:
        for _ in range(5):
            answer = await client.post(
                f"{service.url}/mcp",
                content=b"x" * (LIMIT + 8_000_000),
                headers={"Host": "localhost", "Content-Type": "application/json"},
            )
            assert (answer.status_code, answer.json()["error"]["data"]["reason"]) == (413, "body_too_large")


async def test_a_body_of_exactly_the_limit_is_read() -> None:
    async with serving() as service, service.line() as line:
        await line.request("POST", "/mcp", b" " * LIMIT, Accept=BOTH)
        status, _, error = await refusal(line)
        assert (status, error["code"]) == (400, -32700)


async def test_without_a_limit_any_body_is_read() -> None:
    async with serving(max_body=None) as service, service.line() as line:
        await line.request("POST", "/mcp", **modern("echo", x="x" * 1_000_000))
        status, headers = await line.head()
        assert (status, int(headers["content-length"]) > 1_000_000) == (200, True)


async def test_a_body_that_does_not_arrive_in_time_is_refused() -> None:
    async with serving(read_timeout=0.1) as service, service.line() as line:
        await line.request("POST", "/mcp", b"{", Content_Length="100", Accept=BOTH)
        status, headers, error = await refusal(line)
        assert (status, error["data"]["reason"], headers["connection"]) == (408, "slow_body", "close")


async def test_a_client_that_leaves_before_the_end_of_its_body_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as service:
        async with service.line() as line:
            await line.request("POST", "/mcp", b"{", Content_Length="100", Accept=BOTH)
        async with service.line() as line:
            await line.request("POST", "/mcp", **modern("echo", x="hi"))
            assert (await line.head())[0] == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize(("name", "value"), [("Host", "evil.example"), ("Origin", "https://evil.example")])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_a_foreign_host_or_page_is_refused_before_anything_is_read(method: str, name: str, value: str) -> None:
    async with serving(authenticate=lambda _: pytest.fail("nobody is asked")) as service, service.line() as line:
        named: dict[str, Any] = {name: value, "Content_Length": "5000000"}
        await line.request(method, "/mcp", **named)
        status, headers, error = await refusal(line)
        assert (status, error["code"], error["data"]["reason"]) == (403, -32600, name.lower())
        assert "mcp-session-id" not in headers


async def test_a_page_that_is_allowed_is_served() -> None:
    async with serving() as service, service.line() as line:
        await line.request("POST", "/mcp", **modern("echo", x="hi"), Origin="https://app.example.com")
        assert (await line.head())[0] == 200


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "PATCH", "TRACE"])
async def test_other_methods_are_refused_with_those_that_there_are(method: str) -> None:
    async with serving() as service, service.line() as line:
        await line.request(method, "/mcp")
        status, headers = await line.head()
        assert (status, headers["allow"]) == (405, "GET, POST, DELETE")


def by_token(headers: Headers) -> Principal | None:
    """Who has a token is who it says."""
    token = headers.get("Authorization")
    return None if token is None else Principal(token.removeprefix("Bearer "))


async def by_token_elsewhere(headers: Headers) -> Principal | None:
    """The same, by asking somebody."""
    await asyncio.sleep(0)
    return by_token(headers)


@pytest.mark.parametrize("authenticate", [by_token, by_token_elsewhere])
async def test_whom_authentication_does_not_know_is_refused_and_told_how_to_be_known(
    authenticate: Callable[[Headers], Any],
) -> None:
    async with serving(authenticate=authenticate) as service, service.line() as line:
        await line.request("POST", "/mcp", **modern("held", name="a"))
        status, headers, error = await refusal(line)
        assert (status, headers["www-authenticate"], error["data"]["reason"]) == (401, "Bearer", "unauthorized")
        await line.request("POST", "/mcp", **modern("held", name="a"), Authorization="Bearer ada")
        await service.stage.began()
        assert service.stage.contexts["a"].principal == Principal("ada")
        service.stage.release("a")
        assert (await line.head())[0] == 200


async def test_authentication_that_fails_refuses_for_now_and_tells_only_the_log_and_the_reporter(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_headers: Headers) -> Principal | None:
        raise RuntimeError("hunter2")

    reported: asyncio.Queue[BaseException] = asyncio.Queue()

    async def report(error: BaseException, _failed: Failed) -> None:
        reported.put_nowait(error)

    async with serving(authenticate=broken, reporter=report) as service, service.line() as line:
        await line.request("POST", "/mcp", **modern("echo", x="hi"))
        status, headers, error = await refusal(line)
        assert (status, headers["retry-after"], error["code"]) == (503, "1", -32603)
        assert "hunter2" not in json.dumps(error)
        assert "hunter2" in caplog.text
        async with asyncio.timeout(DEADLINE):
            assert str(await reported.get()) == "hunter2"


async def test_an_answer_has_a_length_and_a_deleted_session_has_no_body() -> None:
    async with serving() as service:
        session = await initialized(service)
        async with service.line() as line:
            await line.request("DELETE", "/mcp", Mcp_Session_Id=session)
            status, headers = await line.head()
            assert status == 204
            assert not {"content-length", "content-type", "transfer-encoding"} & headers.keys()
            await line.request("POST", "/mcp", **legacy({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            status, headers = await line.head()
            assert status == 400


async def test_a_notification_is_accepted_with_an_empty_body() -> None:
    async with serving() as service:
        session = await initialized(service)
        async with service.line() as line:
            message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            await line.request("POST", "/mcp", **legacy(message, session))
            status, headers = await line.head()
            assert (status, headers["content-length"]) == (202, "0")
            assert "content-type" not in headers


@pytest.mark.parametrize("http", ["httptools", "h11"])
async def test_a_stream_has_its_headers_and_a_first_byte_at_once_and_ends_cleanly(http: str) -> None:
    async with serving(http=http) as service:
        session = await initialized(service)
        async with service.line() as line:
            await line.request("GET", "/mcp", Accept="text/event-stream", Mcp_Session_Id=session)
            status, headers = await line.head()
            assert (status, headers["content-type"]) == (200, "text/event-stream")
            assert headers["cache-control"] == "no-cache, no-transform"
            assert headers["x-accel-buffering"] == "no"
            assert await line.chunk() == b": \n\n"
            assert (await line.chunk()).startswith(b"id: ")
            service.engine.drain()
            assert (await line.chunk()).startswith(b"retry: ")
            assert await line.chunk() == b""


async def test_a_silent_stream_is_kept_alive_by_comments() -> None:
    async with serving(keepalive=0.03) as service:
        session = await initialized(service)
        async with service.line() as line:
            await line.request("GET", "/mcp", Accept="text/event-stream", Mcp_Session_Id=session)
            await line.head()
            assert await line.chunk() == b": \n\n"
            assert (await line.chunk()).startswith(b"id: ")
            assert [await line.chunk() for _ in range(3)] == [b": \n\n"] * 3


async def test_a_stream_that_begins_late_is_kept_alive_too() -> None:
    policy = replace(PATIENT, stream_after=0.15)
    async with serving(keepalive=0.03, policy=policy) as service:
        session = await initialized(service)
        async with service.line() as line:
            message = legacy(call("held", name="a"), session)
            await line.request("POST", "/mcp", **{**message, "Accept": BOTH})
            status, headers = await line.head()
            assert (status, headers["content-type"]) == (200, "text/event-stream")
            seen = [await line.chunk() for _ in range(6)]
            assert seen.count(b": \n\n") >= 4
            service.stage.release("a")
            while not (chunk := await line.chunk()).startswith(b"id: "):
                assert chunk == b": \n\n"
            assert b'"result"' in chunk


async def test_a_modern_call_that_is_silent_for_long_becomes_a_stream_by_itself() -> None:
    async with serving(keepalive=0.05) as service, service.line() as line:
        await line.request("POST", "/mcp", **modern("held", name="a"))
        status, headers = await line.head()
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        assert [await line.chunk() for _ in range(3)] == [b": \n\n"] * 3
        service.stage.release("a", "late")
        while (chunk := await line.chunk()) == b": \n\n":
            pass
        assert json.loads(chunk.removeprefix(b"data: "))["result"]["content"][0]["text"] == "late"
        assert await line.chunk() == b""


async def test_a_client_that_takes_no_streams_is_never_given_one() -> None:
    async with serving(keepalive=0.02) as service, service.line() as line:
        await line.request("POST", "/mcp", **{**modern("held", name="a"), "Accept": "application/json"})
        await service.stage.began()
        await asyncio.sleep(0.2)  # several times as long as a client may wait for a first byte
        service.stage.release("a", "whole")
        status, headers = await line.head()
        assert (status, headers["content-type"]) == (200, "application/json")


async def test_what_asks_for_no_response_is_never_given_a_stream_however_long_it_takes() -> None:
    """Transports, "Sending Messages to the Server": a notification or a response, alone or in a batch, is accepted."""
    notification = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
    bodies = [(LEGACY, notification), ("2025-03-26", [notification])]

    async def dawdle(_ctx: Context) -> None:
        await asyncio.sleep(0.2)  # several times as long as a client may wait for a first byte

    async with serving(keepalive=0.02, on_roots_changed=dawdle) as service:
        for date, body in bodies:
            session = await initialized(service, date)
            async with service.line() as line:
                await line.request("POST", "/mcp", **legacy(body, session))
                status, headers = await line.head()
                assert (status, headers.get("content-type")) == (202, None)


async def test_a_batch_with_a_request_that_is_silent_for_long_becomes_a_stream_by_itself() -> None:
    async with serving(keepalive=0.05) as service:
        session = await initialized(service, "2025-03-26")
        async with service.line() as line:
            await line.request("POST", "/mcp", **legacy([call("held", name="a")], session))
            status, headers = await line.head()
            assert (status, headers["content-type"]) == (200, "text/event-stream")
            service.stage.release("a")


async def test_a_request_that_has_become_a_stream_by_itself_still_has_a_response_if_the_store_is_away() -> None:
    """There is nothing that its client could take up again."""
    link = Link()
    async with serving(keepalive=0.02, link=link) as service:
        session = await initialized(service)
        go = link.hold(f"get {session}/session")
        async with service.line() as line:
            await line.request("POST", "/mcp", **legacy(call("echo", x="a"), session))
            status, headers = await line.head()
            assert (status, headers["content-type"]) == (200, "text/event-stream")
            link.away = True
            go()
            while (chunk := await line.chunk()) == b": \n\n":
                pass
            assert json.loads(chunk.removeprefix(b"data: "))["error"]["data"] == {"reason": "store_unavailable"}
            assert await line.chunk() == b""


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_client_that_leaves_cancels_its_modern_call_within_a_second(streamed: bool) -> None:
    async with serving() as service:
        async with service.line() as line:
            await line.request("POST", "/mcp", **modern("held", name="a", token=1))
            await service.stage.began()
            if streamed:
                await service.stage.contexts["a"].report_progress(1)
                await line.head()
        async with asyncio.timeout(1):
            assert await service.stage.was_cancelled() == "a"


async def test_a_client_that_leaves_does_not_cancel_its_legacy_call() -> None:
    async with serving() as service:
        session = await initialized(service)
        async with service.line() as line:
            await line.request("POST", "/mcp", **legacy(call("held", name="a", token=1), session))
            await service.stage.began()
            await service.stage.contexts["a"].report_progress(1)
            await line.head()
            await line.chunk()
            begun = (await line.chunk()).split(b"\n")[0].removeprefix(b"id: ").decode()
        async with service.line() as line:
            await line.request("GET", "/mcp", Accept=BOTH, Mcp_Session_Id=session, Last_Event_ID=begun)
            await line.head()
            await line.chunk()
            assert begun.encode() in await line.chunk()
            assert b'"progress":1' in await line.chunk()
            assert service.stage.cancelled.empty()
            service.stage.release("a", "still there")
            assert b"still there" in await line.chunk()
            assert await line.chunk() == b""


async def test_a_client_that_does_not_read_is_given_up_and_its_modern_call_is_cancelled() -> None:
    async with serving(write_timeout=0.2) as service, service.line(receive_buffer=4096) as line:
        await line.request("POST", "/mcp", **modern("held", name="a", level="debug"))
        await service.stage.began()
        saying = asyncio.ensure_future(_say_much(service, "a"))
        assert await service.stage.was_cancelled() == "a"
        saying.cancel()
        await asyncio.wait([saying])


async def _say_much(service: Service, name: str) -> None:
    for _ in range(1000):
        await service.stage.contexts[name].log("info", "x" * 100_000)


async def test_a_client_that_does_not_read_harms_nobody_else_and_its_legacy_call_goes_on() -> None:
    async with serving(write_timeout=0.2) as service:
        session = await initialized(service)
        async with service.line() as line:
            await line.request("POST", "/mcp", **legacy(request("logging/setLevel", {"level": "debug"}), session))
            assert (await line.head())[0] == 200
        async with service.line(receive_buffer=4096) as stuck:
            await stuck.request("POST", "/mcp", **legacy(call("held", name="a"), session))
            await service.stage.began()
            for _ in range(100):
                await service.stage.contexts["a"].log("info", "x" * 100_000)
            async with service.line() as line:
                await line.request("POST", "/mcp", **legacy(call("echo", x="not held up"), session))
                _, headers = await line.head()
                assert b"not held up" in await line.body(headers)
            service.stage.release("a")
            await eventually(lambda: service.engine.calls == 0)
        assert service.stage.cancelled.empty()


async def test_many_requests_on_one_connection_and_many_connections_leave_no_task_behind() -> None:
    async with serving() as service:
        before = len(asyncio.all_tasks())
        for _ in range(10):
            async with service.line() as line:
                for _ in range(5):
                    await line.request("POST", "/mcp", **modern("count", n=2, token=1))
                    await line.head()
                    while await line.chunk():
                        pass
        await eventually(lambda: len(asyncio.all_tasks()) <= before)
