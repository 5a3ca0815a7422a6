"""From a method's name to its outcome, and from exceptions to words (house rule: one boundary)."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from mcpfleet import Context, ProtocolError, Server, ToolError
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND, Request
from mcpfleet.protocol.jsontext import plain
from mcpfleet.protocol.messages.content import TextContent
from mcpfleet.protocol.messages.tools import CallToolResult, ListToolsResult
from mcpfleet.protocol.revisions import LATEST, LATEST_LEGACY, Revision
from mcpfleet.protocol.tasks import EXTENSION
from mcpfleet.server.caller import Caller
from mcpfleet.server.dispatch import Dispatcher
from mcpfleet.server.outcome import Outcome, Refusal, Success
from mcpfleet.server.outlet import Silent
from mcpfleet.server.threads import Threads

SECRET = "postgres://admin:hunter2@db"
ERAS = pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST], ids=["legacy", "modern"])


@pytest.fixture
def server() -> Server:
    return Server("s")


@pytest.fixture
async def threads() -> AsyncIterator[Threads]:
    threads = Threads()
    yield threads
    threads.close()


class Desk:
    """A dispatcher, and a caller to ask it things."""

    def __init__(self, server: Server, threads: Threads) -> None:
        self.dispatcher = Dispatcher(server, threads)

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        revision: Revision = LATEST,
        capabilities: Mapping[str, Any] | None = None,
    ) -> Outcome:
        caller = Caller(revision, None, Headers(), None, capabilities or {}, None)
        return await self.dispatcher.serve(Request(1, method, dict(params)), caller, Silent())

    async def call(self, tool: str, revision: Revision = LATEST, **arguments: Any) -> Outcome:
        return await self.ask("tools/call", {"name": tool, "arguments": arguments}, revision)


@pytest.fixture
def desk(server: Server, threads: Threads) -> Desk:
    return Desk(server, threads)


def failure(outcome: Outcome) -> str:
    """The text of a result that is an error."""
    assert isinstance(outcome, Success)
    assert isinstance(outcome.result, CallToolResult)
    assert outcome.result.is_error
    (block,) = outcome.result.content
    text: str = block.text  # type: ignore[union-attr]  # the only kind a failure has
    return text


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SECRET),
        ValueError(SECRET),
        ExceptionGroup(SECRET, [KeyError(SECRET)]),
        BaseExceptionGroup(SECRET, [KeyError(SECRET)]),
        asyncio.CancelledError(SECRET),
        TimeoutError(SECRET),
        StopAsyncIteration(SECRET),
        SystemExit(SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_what_a_tool_raises_is_told_by_a_number_alone_and_logged_whole(
    server: Server, desk: Desk, caplog: pytest.LogCaptureFixture, error: BaseException, kind: str
) -> None:
    def sync() -> None:
        raise error

    async def coroutine() -> None:
        raise error

    server.tool(name="fails")(sync if kind == "sync" else coroutine)
    text = failure(await desk.call("fails"))
    correlation = text.rpartition(" ")[2]
    assert SECRET not in text
    assert len(correlation) == 16
    assert correlation in caplog.text
    assert SECRET in caplog.text
    assert caplog.records[-1].levelno == logging.ERROR


async def test_two_failures_have_two_numbers(server: Server, desk: Desk) -> None:
    @server.tool
    def fails() -> None:
        raise RuntimeError

    assert failure(await desk.call("fails")) != failure(await desk.call("fails"))


async def test_a_tool_error_is_public_text_for_the_model(server: Server, desk: Desk) -> None:
    @server.tool
    def fails() -> None:
        raise ToolError("Try another city.")

    assert failure(await desk.call("fails")) == "Try another city."


async def test_arguments_that_do_not_fit_are_told_by_field(server: Server, desk: Desk) -> None:
    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    text = failure(await desk.call("add", a="x"))
    assert "a" in text
    assert "b" in text


@ERAS
async def test_a_protocol_error_is_an_error_and_no_result(server: Server, desk: Desk, revision: Revision) -> None:
    @server.tool
    def fails() -> None:
        raise ProtocolError(-32021, "Missing capability", {"requiredCapabilities": {"sampling": {}}})

    outcome = await desk.call("fails", revision)
    assert outcome == Refusal(-32021, "Missing capability", {"requiredCapabilities": {"sampling": {}}})


@ERAS
@pytest.mark.parametrize("name", ["nobody", "x" * 1000, None, 7, ["echo"]])
async def test_an_unknown_tool_is_an_error_of_the_protocol(desk: Desk, revision: Revision, name: object) -> None:
    outcome = await desk.ask("tools/call", {"name": name}, revision)
    assert isinstance(outcome, Refusal)
    assert outcome.code == -32602
    assert len(outcome.message) < 200


async def test_arguments_may_be_left_out_or_null_where_none_are_needed(server: Server, desk: Desk) -> None:
    @server.tool
    def nothing() -> str:
        return "done"

    for params in ({"name": "nothing"}, {"name": "nothing", "arguments": None}, {"name": "nothing", "arguments": {}}):
        outcome = await desk.ask("tools/call", params)
        assert isinstance(outcome, Success)
    others: tuple[object, ...] = ([], "{}", 0, False)
    for arguments in others:
        outcome = await desk.ask("tools/call", {"name": "nothing", "arguments": arguments})
        assert isinstance(outcome, Refusal)


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_a_tool_that_takes_too_long_is_told_so_and_can_see_it(server: Server, desk: Desk, kind: str) -> None:
    contexts: list[Context] = []
    seen, may_end = threading.Event(), threading.Event()

    async def coroutine(ctx: Context) -> None:
        contexts.append(ctx)
        await asyncio.Event().wait()

    def sync(ctx: Context) -> None:
        contexts.append(ctx)
        may_end.wait(10)
        seen.set()

    server.tool(name="slow", timeout=0.05)(sync if kind == "sync" else coroutine)
    assert failure(await desk.call("slow")) == "The call did not finish within 0.05 seconds."
    assert contexts[0].cancelled
    may_end.set()
    if kind == "sync":
        assert await asyncio.to_thread(seen.wait, 10)


async def test_a_timeout_within_a_tool_is_not_taken_for_its_own(server: Server, desk: Desk) -> None:
    @server.tool(timeout=60)
    async def fails() -> None:
        raise TimeoutError(SECRET)

    assert "did not finish" not in failure(await desk.call("fails"))


async def test_cancellation_passes_and_the_tool_can_see_it(server: Server, desk: Desk) -> None:
    contexts: list[Context] = []
    begun = asyncio.Event()

    @server.tool
    async def waits(ctx: Context) -> None:
        contexts.append(ctx)
        begun.set()
        await asyncio.Event().wait()

    asking = asyncio.ensure_future(desk.call("waits"))
    await begun.wait()
    assert not contexts[0].cancelled
    asking.cancel()
    await asyncio.wait([asking])
    assert asking.cancelled()
    assert contexts[0].cancelled


async def test_a_task_that_a_tool_waited_for_and_that_was_cancelled_is_the_tools_own_failure(
    server: Server, desk: Desk
) -> None:
    @server.tool
    async def waits() -> None:
        other = asyncio.ensure_future(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(other.cancel)
        await other

    assert "The tool failed" in failure(await desk.call("waits"))


@ERAS
async def test_every_tool_is_listed_in_the_order_of_registration(
    server: Server, desk: Desk, revision: Revision
) -> None:
    for name in ("zebra", "ant", "Moth"):
        server.tool(name=name)(lambda: None)
    outcome = await desk.ask("tools/list", {"cursor": None}, revision)
    assert isinstance(outcome, Success)
    assert isinstance(outcome.result, ListToolsResult)
    assert [tool.name for tool in outcome.result.tools] == ["zebra", "ant", "Moth"]


@ERAS
@pytest.mark.parametrize("cursor", ["", "garbage", 7, {}])
async def test_a_cursor_that_was_never_given_is_refused(desk: Desk, revision: Revision, cursor: object) -> None:
    refused = await desk.ask("tools/list", {"cursor": cursor}, revision)
    assert refused == Refusal(-32602, "Invalid cursor; begin again without one", {"reason": "cursor"})


@pytest.mark.parametrize(
    ("method", "revision", "served"),
    [
        ("ping", LATEST_LEGACY, True),
        ("ping", LATEST, False),
        ("server/discover", LATEST_LEGACY, False),
        ("server/discover", LATEST, True),
        ("tools/list", LATEST_LEGACY, True),
        ("tools/list", LATEST, True),
        ("no/such/method", LATEST, False),
        ("", LATEST, False),
    ],
)
async def test_a_method_is_served_in_the_eras_that_have_it(
    desk: Desk, method: str, revision: Revision, *, served: bool
) -> None:
    outcome = await desk.ask(method, {}, revision)
    assert isinstance(outcome, Success) is served
    if isinstance(outcome, Refusal):
        assert outcome.code == -32601


async def test_a_synchronous_tool_runs_beside_the_event_loop(server: Server, desk: Desk) -> None:
    @server.tool
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    outcome = await desk.call("where")
    assert isinstance(outcome, Success)
    assert isinstance(outcome.result, CallToolResult)
    assert outcome.result.structured_content is False


async def test_a_dispatcher_without_tasks_runs_in_the_call_what_may_run_there_and_offers_none(
    server: Server, desk: Desk
) -> None:
    @server.tool(task="optional")
    async def dig(ctx: Context) -> str:
        await ctx.detach()
        return "here"

    @server.tool(task="required")
    async def mine() -> None: ...

    takes = {"extensions": dict(EXTENSION)}
    dug = await desk.ask("tools/call", {"name": "dig"}, capabilities=takes)
    assert isinstance(dug, Success)
    assert isinstance(dug.result, CallToolResult)
    assert dug.result.content == (TextContent(text="here"),)
    mined = await desk.ask("tools/call", {"name": "mine"}, capabilities=takes)
    assert isinstance(mined, Refusal)
    assert (mined.code, mined.data) == (INTERNAL_ERROR, {"reason": "no_tasks"})
    told = await desk.ask("server/discover", {})
    assert isinstance(told, Success)
    assert plain(told.result)["capabilities"].get("extensions") is None
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        got = await desk.ask(method, {"taskId": "t1-" + "0" * 32}, capabilities=takes)
        assert isinstance(got, Refusal)
        assert got.code == METHOD_NOT_FOUND
