"""An author's reporter is told of every failure that is no client's fault, and can break nothing."""

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpfleet import (
    Context,
    Failed,
    Incoming,
    InputRequiredResult,
    Principal,
    ProtocolError,
    RegistrationError,
    Server,
    ToolError,
)
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.errors import UnknownFormat
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.revisions import Era
from mcpfleet.server import failures
from mcpfleet.server.engine import Engine
from mcpfleet.server.failures import Failures
from mcpfleet.server.hooks import CallNext
from tests.answer import Json
from tests.server.wire import DEADLINE, Node
from tests.server.world import PATIENT, World, eventually

ANN = Principal("ann")
SECRET = "postgres://admin:hunter2@db"
both_eras = pytest.mark.parametrize("era", Era, ids=lambda era: era.value)
trace: contextvars.ContextVar[str] = contextvars.ContextVar("trace", default="none")


class Reports:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[tuple[BaseException, Failed]] = asyncio.Queue()

    async def __call__(self, error: BaseException, failed: Failed) -> None:
        self.told.put_nowait((error, failed))

    async def next(self) -> tuple[BaseException, Failed]:
        async with asyncio.timeout(DEADLINE):
            return await self.told.get()


class Unsendable:
    """What has no JSON form."""


def broken(reports: Any) -> Server:
    """A server of which much is broken, and that reports it."""
    server = Server("s")
    if reports is not None:
        server.exception_reporter(reports)

    @server.tool
    async def fail(kind: str = "foreign") -> str:
        trace.set("of the call")
        raise {"foreign": RuntimeError(SECRET), "told": ToolError("no"), "refused": ProtocolError(-31000, "no")}[kind]

    @server.prompt
    async def ask() -> str:
        raise ValueError(SECRET)

    @server.resource("config://{name}")
    async def config(name: str) -> str:
        raise KeyError(SECRET)

    @server.method("acme/do")
    async def do(x: int = 0) -> str:
        raise OSError(SECRET)

    @server.method("acme/asks")
    async def asks() -> InputRequiredResult:
        return InputRequiredResult(request_state="again")

    _break_notifications(server)
    return server


def _break_notifications(server: Server) -> None:
    @server.notification("acme/moved")
    async def moved(x: int) -> None:
        raise LookupError(SECRET)

    @server.on_roots_changed
    async def changed(ctx: Context) -> None:
        raise ArithmeticError(SECRET)

    @server.around_request("tools/list")
    async def hook(request: Incoming, call_next: CallNext) -> Any:
        raise AttributeError(SECRET)

    @server.around_request("prompts/list")
    async def unsendable(request: Incoming, call_next: CallNext) -> Mapping[str, object]:
        return {"prompts": [], "oops": Unsendable()}


@asynccontextmanager
async def node_of(server: Server, **options: Any) -> AsyncIterator[Node]:
    engine = Engine(server, MemoryBackplane(), PATIENT, **options)
    async with engine.running():
        yield Node(engine)


async def ask(node: Node, era: Era, method: str, params: Json) -> Json:
    if era is Era.MODERN:
        named = {"Mcp_Name": params["uri"]} if "uri" in params else {}
        return (await node.modern(method, params, principal=ANN, as_id="q", **named).got()).reply
    session = await node.initialize(principal=ANN)
    return (await session.request(node, method, params, as_id="q").got()).reply


FAILING: list[tuple[str, Json, type[Exception], str | None]] = [
    ("tools/call", {"name": "fail", "arguments": {"kind": "foreign"}}, RuntimeError, "fail"),
    ("prompts/get", {"name": "ask"}, ValueError, "ask"),
    ("resources/read", {"uri": "config://a"}, KeyError, "config://a"),
    ("acme/do", {"x": 1}, OSError, None),
    ("tools/list", {}, AttributeError, None),
    ("prompts/list", {}, TypeError, None),
]


@both_eras
@pytest.mark.parametrize(("method", "params", "kind", "target"), FAILING, ids=lambda value: str(value)[:16])
async def test_it_is_told_of_the_exception_and_which_request_failed(
    era: Era, method: str, params: Json, kind: type[Exception], target: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    reports = Reports()
    async with node_of(broken(reports)) as node:
        reply = await ask(node, era, method, params)
        error, failed = await reports.next()
    assert isinstance(error, kind) or kind is TypeError
    assert (failed.method, failed.target, failed.request_id, failed.principal) == (method, target, "q", ANN)
    assert (failed.client or {})["name"] == "wire"
    assert (failed.session_id is None) == (era is Era.MODERN)
    assert failed.arguments == {**params.get("arguments", {}), **({"x": 1} if method == "acme/do" else {})}
    assert failed.correlation_id in str(reply), "the client is told the same id"
    assert f"correlation id {failed.correlation_id}" in caplog.text, "and the log has it"
    assert SECRET not in str(reply)
    assert "foreign" not in repr(failed), "arguments show in no log"
    assert reports.told.empty()


@both_eras
async def test_it_is_told_of_no_clients_fault_and_of_no_words_that_are_meant_for_the_client(era: Era) -> None:
    reports = Reports()
    innocent: list[tuple[str, Json]] = [
        ("tools/call", {"name": "nothing"}),
        ("tools/call", {"name": "fail", "arguments": {"kind": 7}}),
        ("tools/call", {"name": "fail", "arguments": {"kind": "told"}}),
        ("tools/call", {"name": "fail", "arguments": {"kind": "refused"}}),
        ("no/such", {}),
    ]
    async with node_of(broken(reports)) as node:
        for method, params in innocent:
            await ask(node, era, method, params)
        await ask(node, era, "tools/call", {"name": "fail"})
        _, failed = await reports.next()
    assert failed.arguments == {}
    assert reports.told.empty()


async def test_it_is_told_of_notifications(caplog: pytest.LogCaptureFixture) -> None:
    reports = Reports()
    async with node_of(broken(reports)) as node:
        session = await node.initialize(principal=ANN)
        for method, params, kind in [
            ("acme/moved", {"x": 1}, LookupError),
            ("notifications/roots/list_changed", {}, ArithmeticError),
        ]:
            assert (await session.notify(node, method, params).got()).status == 202
            error, failed = await reports.next()
            assert isinstance(error, kind)
            assert (failed.method, failed.request_id, failed.principal) == (method, None, ANN)
            assert failed.session_id == session.id
            assert failed.correlation_id in caplog.text


async def test_it_is_told_of_a_method_that_asks_where_none_may() -> None:
    reports = Reports()
    async with node_of(broken(reports)) as node:
        reply = await ask(node, Era.MODERN, "acme/asks", {})
        error, failed = await reports.next()
    assert str(error) == "this method's result cannot ask for input"
    assert reply["error"]["data"] == {"correlationId": failed.correlation_id}


@both_eras
async def test_it_is_told_when_no_server_can_be_chosen(era: Era) -> None:
    def choose(_headers: Headers, _principal: Principal | None) -> Server:
        raise ZeroDivisionError(SECRET)

    reports = Reports()
    async with node_of(broken(reports), choose=choose) as node:
        reply = await ask(node, era, "tools/call", {"name": "fail"})
        error, failed = await reports.next()
    assert isinstance(error, ZeroDivisionError)
    assert (failed.method, failed.target) == ("tools/call", "fail")
    assert failed.correlation_id in str(reply)


@both_eras
async def test_it_is_told_of_what_fails_in_a_chosen_server(era: Era) -> None:
    reports = Reports()
    async with node_of(broken(reports), choose=lambda _headers, _principal: broken(None)) as node:
        await ask(node, era, "tools/call", {"name": "fail"})
        assert (await reports.next())[1].target == "fail"


async def test_it_is_told_when_who_may_watch_cannot_be_decided() -> None:
    reports = Reports()
    server = broken(reports)

    @server.may_watch
    def decide(_principal: Principal | None, _topic: object) -> bool:
        raise ZeroDivisionError(SECRET)

    async with node_of(server) as node:
        params = {"notifications": {"toolsListChanged": True}}
        got = await node.modern("subscriptions/listen", params, as_id="q", principal=ANN).got()
        error, failed = await reports.next()
        assert (got.status, got.error["data"]) == (500, {"correlationId": failed.correlation_id})
        assert isinstance(error, ZeroDivisionError)
        assert (failed.method, failed.request_id, failed.principal) == ("subscriptions/listen", "q", ANN)


async def test_it_is_told_when_a_store_holds_what_nobody_reads(memory: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is away is no failure of ours."""
    reports = Reports()
    node = await memory.node(server=broken(reports))
    session = await node.initialize(principal=ANN)
    memory.links[node].away = True
    assert (await session.request(node, "ping").got()).status == 503
    memory.links[node].restore()
    assert reports.told.empty()

    async def unreadable(*_: object) -> None:
        raise UnknownFormat("a record of the future")

    monkeypatch.setattr(node.engine._legacy._sessions, "load", unreadable)
    got = await session.request(node, "ping", as_id="q").got()
    _, failed = await reports.next()
    assert got.status == 503
    assert (failed.method, failed.request_id, failed.session_id) == ("ping", "q", session.id)
    await session.notify(node, "acme/moved", {}).got()
    assert (await reports.next())[1].method == "acme/moved"
    await session.listen(node).got()
    _, failed = await reports.next()
    assert (failed.method, failed.principal) == (None, ANN)


@both_eras
async def test_a_reporter_that_fails_breaks_neither_the_answer_nor_the_next_report(
    era: Era, caplog: pytest.LogCaptureFixture
) -> None:
    reports = Reports()
    mishaps: list[BaseException] = [ValueError("reporter"), SystemExit(1), BaseExceptionGroup("", [SystemExit(1)])]

    async def clumsy(error: BaseException, failed: Failed) -> None:
        if mishaps:
            raise mishaps.pop()
        await reports(error, failed)

    async with node_of(broken(clumsy)) as node:
        for _ in range(4):
            assert (await ask(node, era, "tools/call", {"name": "fail"}))["result"]["isError"]
        assert (await reports.next())[1].method == "tools/call"
    assert caplog.text.count("the exception reporter failed") == 3


async def test_a_reporter_that_hangs_holds_up_nothing_but_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "REPORT_SECONDS", 0.01)
    begun: list[Failed] = []

    async def stuck(_error: BaseException, failed: Failed) -> None:
        begun.append(failed)
        await asyncio.Event().wait()

    async with node_of(broken(stuck)) as node:
        for _ in range(2):
            assert (await ask(node, Era.MODERN, "tools/call", {"name": "fail"}))["result"]["isError"]
        await eventually(lambda: len(begun) == 2)


async def test_a_synchronous_reporter_runs_beside_the_event_loop() -> None:
    reports = Reports()
    loop = asyncio.get_running_loop()
    threads: list[int] = []

    def report(error: BaseException, failed: Failed) -> None:
        threads.append(threading.get_ident())
        loop.call_soon_threadsafe(reports.told.put_nowait, (error, failed))

    async with node_of(broken(report)) as node:
        await ask(node, Era.MODERN, "tools/call", {"name": "fail"})
        assert (await reports.next())[1].target == "fail"
    assert threads != [threading.get_ident()]


async def test_it_runs_in_the_context_of_what_failed() -> None:
    seen: asyncio.Queue[str] = asyncio.Queue()

    async def report(_error: BaseException, _failed: Failed) -> None:
        seen.put_nowait(trace.get())

    async with node_of(broken(report)) as node:
        await ask(node, Era.MODERN, "tools/call", {"name": "fail"})
        async with asyncio.timeout(DEADLINE):
            assert await seen.get() == "of the call"


async def test_what_is_noted_is_reported_before_the_process_ends() -> None:
    reported: list[Failed] = []

    async def slow(_error: BaseException, failed: Failed) -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        reported.append(failed)

    async with node_of(broken(slow)) as node:
        for _ in range(3):
            await ask(node, Era.MODERN, "tools/call", {"name": "fail"})
    assert len(reported) == 3


async def test_more_than_can_wait_are_logged_and_not_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(failures, "MAX_WAITING", 1)
    reports = Reports()
    noting = Failures(reports)
    ids = [noting.note(RuntimeError(str(turn))) for turn in range(2)]
    assert f"{ids[1]} will not be" in caplog.text
    running = asyncio.ensure_future(noting.run())
    error, failed = await reports.next()
    await noting.reported(within=DEADLINE)
    running.cancel()
    await asyncio.wait([running])
    assert (str(error), failed.correlation_id, failed.method) == ("0", ids[0], None)
    assert reports.told.empty()


async def test_reports_that_take_too_long_at_the_end_are_given_up(caplog: pytest.LogCaptureFixture) -> None:
    noting = Failures(Reports())
    noting.note(RuntimeError())
    await noting.reported(within=0.01)
    assert "the last failures could not be reported in time" in caplog.text


async def test_without_a_reporter_a_failure_is_logged_alone(caplog: pytest.LogCaptureFixture) -> None:
    noting = Failures()
    for _ in range(failures.MAX_WAITING + 1):
        correlation = noting.note(RuntimeError(SECRET))
    assert f"a request failed; correlation id {correlation}" in caplog.text
    assert "will not be" not in caplog.text
    await noting.reported(within=0)


async def test_the_reporter_is_that_of_the_server_that_is_served() -> None:
    inner, outer = Reports(), Reports()
    server = Server("outer")
    server.exception_reporter(outer)
    server.include(broken(inner))
    async with node_of(server) as node:
        await ask(node, Era.MODERN, "tools/call", {"name": "fail"})
        assert (await outer.next())[1].target == "fail"
    assert inner.told.empty()


async def nothing(error: BaseException) -> None: ...


def test_a_function_that_cannot_report_is_refused_and_so_is_a_second() -> None:
    server = Server("s")
    with pytest.raises(RegistrationError, match="takes the exception and what failed"):
        server.exception_reporter(nothing)  # type: ignore[type-var]  # what the test is about
    reports = Reports()
    assert server.exception_reporter(reports) is reports
    with pytest.raises(RegistrationError, match="another function"):
        server.exception_reporter(Reports())
    assert server.reporter is reports
