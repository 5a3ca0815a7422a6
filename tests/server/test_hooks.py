"""Functions of the author's own around every message, in both eras."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest

from mcpfleet import (
    CacheHint,
    CallToolResult,
    Context,
    Depends,
    ElicitForm,
    Incoming,
    InputRequiredResult,
    Principal,
    ProtocolError,
    RegistrationError,
    Server,
    TextContent,
    ToolError,
    forms,
)
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.jsonrpc import Notification, Request
from mcpfleet.protocol.revisions import LATEST, Era
from mcpfleet.server.caller import Caller
from mcpfleet.server.engine import Engine
from mcpfleet.server.hooks import CallNext
from tests.answer import Answer, Json
from tests.server.skills import manifest, written
from tests.server.wire import DEADLINE, Node
from tests.server.world import World

SECRET = "postgres://admin:hunter2@db"
both_eras = pytest.mark.parametrize("era", Era, ids=lambda era: era.value)


class Trace:
    """A hook that keeps what it saw."""

    def __init__(self, name: str = "", events: list[str] | None = None) -> None:
        self.name = name
        self.events: list[str] = [] if events is None else events
        self.seen: list[Incoming] = []

    async def __call__(self, request: Incoming, call_next: CallNext) -> Any:
        self.seen.append(request)
        self.events.append(f"{self.name}>{request}")
        try:
            result = await call_next(request)
        except BaseException as error:
            self.events.append(f"{self.name}!{type(error).__name__}: {error}")
            raise
        self.events.append(f"{self.name}<{type(result).__name__}")
        return result


@pytest.fixture
def server() -> Server:
    server = Server("s")

    @server.tool
    async def echo(x: str) -> str:
        return x

    @server.tool
    async def fail(kind: str) -> str:
        raise {"foreign": RuntimeError, "told": ToolError}[kind](SECRET)

    @server.prompt
    async def greet(name: str) -> str:
        return f"Hello, {name}!"

    @server.resource("config://{name}")
    async def config(name: str) -> str:
        return name

    @server.completion("prompt", "greet", argument="name")
    async def names(value: str) -> list[str]:
        return ["Ann"]

    @server.method("acme/add")
    async def add(a: int, b: int) -> int:
        return a + b

    return server


class Client:
    """A client of either era."""

    def __init__(self, node: Node, era: Era) -> None:
        self.node = node
        self.era = era
        self.session: Any = None

    async def ask(self, method: str, params: Json | None = None, **options: Any) -> Answer:
        if self.era is Era.MODERN:
            named = {"Mcp_Name": params["uri"]} if params and "uri" in params else {}
            return await self.node.modern(method, params, **{**named, **options}).got()
        if self.session is None:
            self.session = await self.node.initialize(principal=options.get("principal"))
        got: Answer = await self.session.request(self.node, method, params).got()
        return got

    async def call(self, tool: str, **arguments: Any) -> Answer:
        return await self.ask("tools/call", {"name": tool, "arguments": arguments})


@asynccontextmanager
async def serving(server: Server, era: Era) -> AsyncIterator[Client]:
    """A client of the server while it is served."""
    engine = Engine(server, MemoryBackplane())
    async with engine.running():
        yield Client(Node(engine), era)


@both_eras
async def test_hooks_are_around_a_call_in_the_order_of_their_registration(server: Server, era: Era) -> None:
    events: list[str] = []
    server.around_request(Trace("a", events))
    server.around_request(Trace("b", events))
    async with serving(server, era) as client:
        await client.call("echo", x="warm")
        events.clear()
        assert (await client.call("echo", x="hi")).text == "hi"
    assert events == ["a>tools/call 'echo'", "b>tools/call 'echo'", "b<CallToolResult", "a<CallToolResult"]


ASKED: list[tuple[str, Json, str | None, Json]] = [
    ("tools/list", {}, None, {}),
    ("tools/call", {"name": "echo", "arguments": {"x": "1"}}, "echo", {"x": "1"}),
    ("prompts/get", {"name": "greet", "arguments": {"name": "x"}}, "greet", {"name": "x"}),
    ("resources/read", {"uri": "config://a"}, "config://a", {}),
    ("acme/add", {"a": 1, "b": 2}, None, {"a": 1, "b": 2}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": "A"}},
        "greet",
        {"name": "A"},
    ),
]


@both_eras
@pytest.mark.parametrize(("method", "params", "target", "arguments"), ASKED, ids=lambda value: str(value)[:20])
async def test_a_hook_is_told_what_is_asked_for_and_by_whom(
    server: Server, era: Era, method: str, params: Json, target: str | None, arguments: Json
) -> None:
    trace = Trace()
    server.around_request(trace)
    async with serving(server, era) as client:
        assert (await client.ask(method, params, principal=Principal("ann"))).reply["id"] == 1
    told = trace.seen[-1]
    assert (told.method, told.target, told.arguments, told.request_id) == (method, target, arguments, 1)
    assert (told.principal, told.era, told.is_notification) == (Principal("ann"), era, False)
    assert (told.client or {})["name"] == "wire"
    assert (told.session_id is None) == (era is Era.MODERN)
    assert told.meta.keys() == (told.params.get("_meta") or {}).keys()


@both_eras
@pytest.mark.parametrize(
    ("method", "params", "raised"),
    [
        ("tools/call", {"name": "nothing"}, "ProtocolError: Unknown tool: nothing"),
        ("no/such", {}, "ProtocolError: Method not found: no/such"),
        ("tools/call", {"name": "echo", "arguments": {}}, "ArgumentsRefused: x: required, but missing"),
        ("tools/call", {"name": "fail", "arguments": {"kind": "told"}}, f"ToolError: {SECRET}"),
        ("tools/call", {"name": "fail", "arguments": {"kind": "foreign"}}, f"RuntimeError: {SECRET}"),
    ],
    ids=["unknown tool", "unknown method", "arguments", "ToolError", "foreign"],
)
async def test_what_goes_wrong_is_raised_through_the_hooks_and_answered_as_without_them(
    server: Server, era: Era, method: str, params: Json, raised: str
) -> None:
    async with serving(copied(server), era) as client:
        without = await client.ask(method, params)
    trace = Trace()
    server.around_request(trace)
    async with serving(server, era) as client:
        got = await client.ask(method, params)
    assert trace.events[-1] == f"!{raised}"
    assert (got.status, without_ids(got.reply)) == (without.status, without_ids(without.reply))


def copied(server: Server) -> Server:
    copy = Server("s")
    copy.include(server)
    return copy


def without_ids(reply: Json) -> str:
    """A response but for its correlation id."""
    words = str(reply)
    return words.partition("Correlation id")[0]


@both_eras
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_what_a_hook_raises_is_told_like_what_a_function_raises(
    server: Server, era: Era, after: bool, caplog: pytest.LogCaptureFixture
) -> None:
    raising: list[Exception] = []

    @server.around_request("tools/list")
    @server.around_request("tools/call")
    async def refuse(request: Incoming, call_next: CallNext) -> Any:
        if after:
            await call_next(request)
        raise raising[-1]

    async with serving(server, era) as client:
        raising.append(ProtocolError(-31000, "Not now", {"retry": 1}))
        assert (await client.call("echo", x="x")).error == {"code": -31000, "message": "Not now", "data": {"retry": 1}}
        raising.append(ToolError("Only in office hours"))
        got = await client.call("echo", x="x")
        assert got.complaint == "Only in office hours"
        assert (await client.ask("tools/list")).error["message"] == "Only in office hours"
        raising.append(ValueError(SECRET))
        got = await client.call("echo", x="x")
        error = (await client.ask("tools/list")).error
    assert error["message"] == "Internal error"
    for correlation in (got.complaint.rpartition(" ")[2], error["data"]["correlationId"]):
        assert correlation in caplog.text
    assert SECRET not in str(got) + str(error)
    assert caplog.text.count(f"ValueError: {SECRET}") == 2


@both_eras
async def test_a_hook_for_a_method_or_a_target_is_around_nothing_else(server: Server, era: Era) -> None:
    events: list[str] = []
    server.around_request("tools/call")(Trace("m", events))
    server.around_request("tools/call", "echo")(Trace("t", events))
    server.around_request("resources/read", "config://a")(Trace("r", events))
    server.around_request(Trace("*", events))
    async with serving(server, era) as client:
        await client.ask("tools/list")
        events.clear()
        asked: list[tuple[str, Json]] = [
            ("tools/call", {"name": "echo", "arguments": {"x": "1"}}),
            ("tools/call", {"name": "fail", "arguments": {"kind": "told"}}),
            ("resources/read", {"uri": "config://a"}),
            ("resources/read", {"uri": "config://b"}),
        ]
        for method, params in asked:
            await client.ask(method, params)
    assert [event for event in events if ">" in event] == [
        *("m>tools/call 'echo'", "t>tools/call 'echo'", "*>tools/call 'echo'"),
        *("m>tools/call 'fail'", "*>tools/call 'fail'"),
        *("r>resources/read 'config://a'", "*>resources/read 'config://a'"),
        "*>resources/read 'config://b'",
    ]


@both_eras
async def test_a_hook_may_change_params_and_results(server: Server, era: Era) -> None:
    @server.around_request("tools/call", "echo")
    async def louder(request: Incoming, call_next: CallNext) -> CallToolResult:
        louder = request.with_arguments({"x": f"{request.arguments['x']}!"})
        result: CallToolResult = await call_next(louder)
        return msgspec.structs.replace(result, meta={"louder": True})

    @server.around_request("acme/add")
    async def one_more(request: Incoming, call_next: CallNext) -> Any:
        return await call_next(request.with_arguments({"a": 40, "b": 2}))

    @server.around_request("tools/call", "old")
    async def moved(request: Incoming, call_next: CallNext) -> Any:
        return await call_next(replace(request, params={**request.params, "name": "echo"}))

    async with serving(server, era) as client:
        got = await client.call("echo", x="hi")
        assert got.text == "hi!"
        assert got.result["_meta"]["louder"]
        assert (await client.ask("acme/add", {"a": 1, "b": 1})).result["result"] == 42
        assert (await client.call("old", x="moved")).text == "moved"


@both_eras
async def test_a_hook_may_answer_by_itself_and_try_again(server: Server, era: Era) -> None:
    tried: list[str] = []

    @server.tool
    async def flaky() -> str:
        tried.append("once")
        if len(tried) < 3:
            raise ConnectionError(SECRET)
        return "at last"

    @server.around_request("tools/call", "flaky")
    async def again(request: Incoming, call_next: CallNext) -> Any:
        for _ in range(2):
            try:
                return await call_next(request)
            except ConnectionError:
                continue
        return await call_next(request)

    @server.around_request("tools/call", "echo")
    async def cached(request: Incoming, call_next: CallNext) -> CallToolResult:
        return CallToolResult(content=(TextContent(text="from the cache"),))

    @server.around_request("resources/read")
    async def raw(request: Incoming, call_next: CallNext) -> dict[str, object]:
        return {"contents": []}

    async with serving(server, era) as client:
        assert (await client.call("flaky")).text == "at last"
        cached_by_hook = await client.call("echo", x="x")
        assert cached_by_hook.text == "from the cache"
        assert "ttlMs" not in cached_by_hook.result
        result = (await client.ask("resources/read", {"uri": "config://a"})).result
    assert result["contents"] == []
    assert ("ttlMs" in result) == (era is Era.MODERN), "each revision gets what it demands"


async def test_what_a_hook_answers_by_itself_is_as_fresh_as_the_server_says() -> None:
    server = Server("s", cache={"tools/list": CacheHint(ttl=60, scope="public")})

    @server.around_request("tools/list")
    async def none(request: Incoming, call_next: CallNext) -> dict[str, object]:
        return {"tools": []}

    async with serving(server, Era.MODERN) as client:
        result = (await client.ask("tools/list")).result
    assert (result["ttlMs"], result["cacheScope"]) == (60_000, "public")


@both_eras
@pytest.mark.parametrize("returned", [None, "text", 7])
async def test_a_hook_that_returns_no_result_is_found_out(
    server: Server, era: Era, returned: Any, caplog: pytest.LogCaptureFixture
) -> None:
    @server.around_request("tools/list")
    async def forgetful(request: Incoming, call_next: CallNext) -> Any:
        await call_next(request)
        return returned

    async with serving(server, era) as client:
        assert (await client.ask("tools/list")).error["message"] == "Internal error"
    assert f"the hooks around tools/list came to a {type(returned).__name__}, not to a result" in caplog.text


async def test_a_hook_cannot_turn_a_message_into_another_one(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    @server.around_request("tools/list")
    async def other(request: Incoming, call_next: CallNext) -> Any:
        return await call_next(replace(request, method="prompts/list"))

    @server.around_request("prompts/list")
    async def somebody(request: Incoming, call_next: CallNext) -> Any:
        return await call_next(replace(request, caller=replace(request.caller, principal=Principal("root"))))

    async with serving(server, Era.MODERN) as client:
        for method in ("tools/list", "prompts/list"):
            assert (await client.ask(method)).error["message"] == "Internal error"
    assert caplog.text.count("a hook may change the params of a message, and nothing else") >= 2


async def test_headers_are_compared_with_what_the_client_has_sent(server: Server) -> None:
    """Streamable HTTP, "Custom Headers from Tool Parameters": a hook that changes a mirrored argument is no mismatch,
    and none hides one."""

    @server.tool
    async def place(region: Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})]) -> str:
        return region

    @server.around_request("tools/call", "place")
    async def elsewhere(request: Incoming, call_next: CallNext) -> Any:
        return await call_next(request.with_arguments({"region": "north"}))

    async with serving(server, Era.MODERN) as client:
        params = {"name": "place", "arguments": {"region": "south"}}
        agreeing = await client.ask("tools/call", params, Mcp_Param_Region="south")
        assert agreeing.text == "north"
        assert (await client.ask("tools/call", params, Mcp_Param_Region="north")).error["code"] == -32020


@both_eras
async def test_a_hook_sees_the_context_only_if_it_asks_for_it(era: Era) -> None:
    async def opened(_server: Server) -> AsyncIterator[str]:
        yield "pool"

    server = Server("s", lifespan=opened)

    def user_of(ctx: Context) -> str:
        return f"user of {ctx.lifespan}"

    @server.around_request
    async def signed_in(
        request: Incoming, call_next: CallNext, ctx: Context, user: Annotated[str, Depends(user_of)]
    ) -> Any:
        ctx.state.user = user
        return await call_next(request)

    @server.tool
    async def who(ctx: Context) -> str:
        return str(ctx.state.user)

    async with serving(server, era) as client:
        assert (await client.call("who")).text == "user of pool"


def test_what_a_hook_is_told_shows_no_arguments_and_no_state_in_logs() -> None:
    principal = Principal("ann", state={"token": SECRET})
    caller = Caller(LATEST, principal, Headers.of({"authorization": SECRET}), None, {}, None)
    told = Incoming.of(Request(1, "tools/call", {"name": "echo", "arguments": {"x": SECRET}}), caller)
    assert SECRET not in f"{told} {told!r}"
    assert str(told) == "tools/call 'echo'"
    forged = Incoming.of(Request(1, "x\nERROR: forged", {}), caller)
    assert str(forged) == r"'x\nERROR: forged'", "nobody writes lines of their own into our log"


async def test_a_question_in_a_hook_reaches_the_client(server: Server) -> None:
    """Patterns, "Multi Round-Trip Requests": a hook that returns what it wants to know has it asked."""

    question = ElicitForm(message="Sure?", requested_schema=forms.form(yes=forms.yes_no()))

    @server.around_request("tools/call", "echo")
    async def sure(request: Incoming, call_next: CallNext, ctx: Context) -> Any:
        if ctx.input_responses:
            return await call_next(request)
        return InputRequiredResult(input_requests={"sure": question})

    async with serving(server, Era.MODERN) as client:
        capable: Json = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        asked = await client.node.modern("tools/call", {"name": "echo", "arguments": {"x": "1"}}, meta=capable).got()
        assert asked.result["resultType"] == "input_required"
        given = {"sure": {"action": "accept", "content": {"yes": True}}}
        params = {"name": "echo", "arguments": {"x": "1"}, "inputResponses": given}
        assert (await client.node.modern("tools/call", params, meta=capable).got()).text == "1"


async def test_the_end_of_a_request_passes_through_its_hooks(memory: World) -> None:
    server = memory.stage.server()
    trace = Trace()
    server.around_request("tools/call")(trace)
    node = await memory.node(server=server)
    flight = node.modern("tools/call", {"name": "held", "arguments": {"name": "a"}})
    await memory.stage.began()
    await flight.cut()
    assert trace.events[-1].startswith("!CancelledError")


OWN: list[tuple[str, Json]] = [
    ("logging/setLevel", {"level": "info"}),
    ("resources/subscribe", {"uri": "config://a"}),
    ("resources/unsubscribe", {"uri": "config://a"}),
]


async def test_hooks_are_around_the_requests_that_run_no_function(server: Server) -> None:
    trace = Trace()
    server.around_request(trace)
    async with serving(server, Era.LEGACY) as client:
        for method, params in OWN:
            assert (await client.ask(method, params)).result == {}
        assert (await client.ask("logging/setLevel", {"level": "loud"})).error["code"] == -32602
    requests = [request for request in trace.seen if not request.is_notification]
    assert [request.method for request in requests] == ["initialize", *dict(OWN), "logging/setLevel"]
    assert requests[0].client == {"name": "wire", "version": "1"}
    assert requests[2].target == "config://a"
    assert trace.events[-1].startswith("!ProtocolError: params.level")


@pytest.mark.parametrize(("method", "params"), OWN, ids=str)
async def test_a_hook_may_refuse_and_rewrite_them(server: Server, method: str, params: Json) -> None:
    @server.around_request(method)
    async def moody(request: Incoming, call_next: CallNext) -> Any:
        if request.params == params:
            raise ProtocolError(-31001, "Not you")
        return await call_next(replace(request, params=params))

    async with serving(server, Era.LEGACY) as client:
        assert (await client.ask(method, params)).error == {"code": -31001, "message": "Not you"}
        assert (await client.ask(method, {})).result == {}


async def test_of_a_handshake_that_a_hook_refuses_nothing_is_left(memory: World) -> None:
    server = memory.stage.server()
    refusing: list[str] = ["before", "after"]

    @server.around_request("initialize")
    async def moody(request: Incoming, call_next: CallNext) -> Any:
        mood = refusing.pop(0) if refusing else "well"
        if mood == "before":
            raise ProtocolError(-31001, "Not you")
        result = await call_next(request)
        if mood == "after":
            raise ProtocolError(-31001, "Not you")
        await call_next(request)
        return result

    node = await memory.node(server=server)
    before = await memory.keys()
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    for _ in range(2):
        got = await node.send("POST", hello).got()
        assert (got.error["message"], "Mcp-Session-Id" in got.headers) == ("Not you", False)
        assert await memory.keys() == before
    session = await node.initialize()
    assert (await session.call(node, "echo", x="hi").got()).text == "hi"
    assert {name.partition("/")[0] for name in await memory.keys() - before} == {session.id, "sessions"}


HELLO: Json = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "wire", "version": "1"},
}


@pytest.mark.parametrize("method", ["initialize", "logging/setLevel"])
async def test_a_hook_asks_for_no_input_where_no_result_can(
    memory: World, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = memory.stage.server()

    @server.around_request(method)
    async def curious(request: Incoming, call_next: CallNext) -> InputRequiredResult:
        return InputRequiredResult(request_state="again")

    node = await memory.node(server=server)
    if method == "initialize":
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        got = await node.send("POST", hello).got()
    else:
        got = await (await node.initialize()).request(node, method, {"level": "info"}).got()
    assert got.error["message"] == "Internal error"
    assert f"the hooks around {method} ask for input" in caplog.text


async def test_a_handshake_keeps_its_own_refusals(memory: World) -> None:
    server = memory.stage.server()
    trace = Trace()
    server.around_request(trace)
    node = await memory.node(server=server)
    params = {**HELLO, "clientInfo": {"name": "x" * 100_000, "version": "1"}}
    got = await node.send("POST", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).got()
    assert (got.status, got.reason) == (400, "client_too_large")
    assert trace.events[-1].startswith("!_Answered")


async def test_a_handshake_that_a_hook_rewrites_is_agreed_on_as_rewritten(server: Server) -> None:
    @server.around_request("initialize")
    async def older(request: Incoming, call_next: CallNext) -> Any:
        return await call_next(replace(request, params={**request.params, "protocolVersion": "2025-03-26"}))

    async with serving(server, Era.LEGACY) as client:
        session = await client.node.initialize("2025-11-25")
        assert session.date == "2025-03-26"


async def test_a_hook_decides_what_a_listen_stream_is_for(memory: World) -> None:
    server = memory.stage.server()

    @server.around_request("subscriptions/listen")
    async def tools_only(request: Incoming, call_next: CallNext) -> Any:
        return await call_next(replace(request, params={**request.params, "notifications": {"toolsListChanged": True}}))

    node = await memory.node(server=server)
    listening = node.modern("subscriptions/listen", {"notifications": {}})
    async with asyncio.timeout(DEADLINE):
        event = await listening.peer.arrived.get()
    assert event is not None
    assert json.loads(event.data or b"")["params"]["notifications"] == {"toolsListChanged": True}


async def test_a_listen_stream_passes_through_its_hooks(memory: World) -> None:
    server = memory.stage.server()
    events: list[str] = []
    server.around_request("subscriptions/listen")(Trace("", events))

    @server.around_request("subscriptions/listen")
    async def known(request: Incoming, call_next: CallNext) -> Any:
        if request.principal is None:
            raise ProtocolError(-32603, "Not you")
        return await call_next(request)

    node = await memory.node(server=server)
    params = {"notifications": {"toolsListChanged": True}}
    refused = await node.modern("subscriptions/listen", params, principal=None).got()
    assert (refused.status, refused.error["message"], refused.is_stream) == (200, "Not you", False)
    no_filter = await node.modern("subscriptions/listen", {}, principal=Principal("ann")).got()
    assert no_filter.status == 400
    assert events[-1].startswith("!_Answered")
    listening = node.modern("subscriptions/listen", params, principal=Principal("ann"))
    async with asyncio.timeout(DEADLINE):
        event = await listening.peer.arrived.get()
    assert event is not None
    node.engine.drain()
    got = await listening.got()
    assert "io.modelcontextprotocol/subscriptionId" in got.result["_meta"]
    assert events[-1] == "<dict"


async def test_what_the_store_cannot_do_now_is_503_with_hooks_too(memory: World) -> None:
    server = memory.stage.server()
    trace = Trace()
    server.around_request("logging/setLevel")(trace)
    node = await memory.node(server=server)
    session = await node.initialize()
    memory.links[node].cut_at("put *")
    got = await session.request(node, "logging/setLevel", {"level": "info"}).got()
    assert (got.status, got.reason) == (503, "store_unavailable")
    assert trace.events[-1].startswith("!Unavailable")


async def test_a_hook_around_a_server_that_cannot_look_at_its_switches_is_told_so(memory: World) -> None:
    server = Server("s", switchable=True)
    trace = Trace()
    server.around_request("tools/list")(trace)
    node = await memory.node(server=server)
    node.engine._switches._off = None  # as at the start
    memory.links[node].away = True
    got = await node.modern("tools/list").got()
    assert (got.status, got.reason) == (503, "store_unavailable")
    assert trace.events[-1].startswith("!StoreAway")


def with_two(request: Incoming, call_next: CallNext) -> None: ...


async def with_one(request: Incoming) -> None: ...


async def with_three(request: Incoming, call_next: CallNext, more: int) -> None: ...


async def with_any(**given: Any) -> None: ...


async def with_more(request: Incoming, call_next: CallNext, **more: Any) -> Any:
    return await call_next(request)


async def by_place(request: Incoming, call_next: CallNext, /) -> None: ...


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (with_two, "must be an `async def`"),
        (with_one, "takes two arguments, the message and `call_next`, not 1"),
        (with_three, "takes two arguments, the message and `call_next`, not 3"),
        (with_any, "takes two arguments"),
        (by_place, "parameter 'request' cannot be given by name"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_function_that_could_not_be_a_hook_is_refused(server: Server, wrong: Callable[..., Any], words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        server.around_request(wrong)
    assert list(server.hooks) == []


@pytest.mark.parametrize("wrong", [7, None])
def test_what_is_no_function_is_refused(server: Server, wrong: Any) -> None:
    with pytest.raises(RegistrationError, match="is no function"):
        server.around_request(wrong)
    with pytest.raises(RegistrationError, match="is no function"):
        server.around_request("tools/call")(wrong)
    with pytest.raises(RegistrationError, match="a target is one of a method"):
        server.around_request(with_more, "echo")  # type: ignore[call-overload]  # what the test is about
    assert list(server.hooks) == []
    server.around_request(with_more)


async def test_hooks_are_registered_before_the_server_is_served(server: Server) -> None:
    async with serving(server, Era.MODERN):
        with pytest.raises(RegistrationError, match="before their server is served"):
            server.around_request(Trace())


async def test_a_hook_stays_what_it_was(server: Server) -> None:
    trace = Trace()
    assert server.around_request(trace) is trace
    assert server.around_request("tools/call")(trace) is trace


MALFORMED: list[tuple[str, Json]] = [
    ("tools/call", {"name": 7, "arguments": []}),
    ("prompts/get", {}),
    ("completion/complete", {"ref": [], "argument": None}),
    ("completion/complete", {"ref": {"type": "ref/prompt"}, "argument": {"name": []}}),
    ("resources/read", {"uri": None}),
]


@pytest.mark.parametrize(("method", "params"), MALFORMED, ids=str)
def test_params_that_make_no_sense_have_no_target(method: str, params: Json) -> None:
    told = Incoming.of(Request(1, method, params), Caller(LATEST, None, Headers(), None, {}, None))
    assert told.target is None
    assert isinstance(told.arguments, dict)


def test_only_what_takes_arguments_is_given_others() -> None:
    caller = Caller(LATEST, None, Headers(), None, {}, None)
    listing = Incoming.of(Request(1, "tools/list", {}), caller)
    with pytest.raises(ValueError, match="tools/list takes no arguments"):
        listing.with_arguments({})
    moved = Incoming.of(Notification("acme/moved", {"x": 1, "_meta": {"a": 1}}), caller)
    assert moved.arguments == {"x": 1}
    assert moved.with_arguments({"x": 2}).params == {"x": 2, "_meta": {"a": 1}}
    with pytest.raises(ValueError, match="takes no arguments"):
        Incoming.of(Notification("notifications/initialized", {}), caller).with_arguments({})


def offering(*hooks: Trace) -> Server:
    """A server with one of each, and these hooks around it."""
    server = Server("o")
    for register in (server.tool(name="call"), server.prompt(name="ask"), server.method("acme/do")):
        register(one)
    server.resource("exact://{name}")(one)
    server.resource("exact://own")(nothing)
    server.completion("prompt", "ask", argument="name")(suggested)
    for hook in hooks:
        server.around_request(hook)
    return server


async def one(name: str = "") -> str:
    return name


async def nothing() -> str:
    return "nothing"


async def suggested(value: str) -> list[str]:
    return [value]


FOREIGN: list[tuple[str, Json]] = [
    ("tools/call", {"name": "mine"}),
    ("prompts/get", {"name": "mine"}),
    ("acme/mine", {}),
    ("resources/read", {"uri": "exact://mine"}),
    ("tools/list", {}),
    ("resources/read", {"uri": "nowhere://mine"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "mine"}, "argument": {"name": "name", "value": ""}}),
]
INCLUDED: list[tuple[str, Json]] = [
    ("tools/call", {"name": "x_call"}),
    ("prompts/get", {"name": "x_ask"}),
    ("x_acme/do", {}),
    ("resources/read", {"uri": "exact://own"}),
    ("resources/read", {"uri": "exact://any"}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "x_ask"}, "argument": {"name": "name", "value": ""}},
    ),
    (
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": "exact://{name}"}, "argument": {"name": "name", "value": ""}},
    ),
]


@both_eras
async def test_hooks_of_an_included_server_are_around_what_came_from_it_and_inside(era: Era) -> None:
    events: list[str] = []
    server = Server("s")
    server.tool(name="mine")(one)
    server.prompt(name="mine")(one)
    server.method("acme/mine")(one)
    server.resource("exact://mine")(nothing)
    server.around_request(Trace("outer", events))
    server.include(offering(Trace("inner", events)), prefix="x_")
    async with serving(server, era) as client:
        for method, params in FOREIGN:
            events.clear()
            await client.ask(method, params)
            assert [event for event in events if event.startswith("inner")] == [], method
        for method, params in INCLUDED:
            events.clear()
            assert "result" in (await client.ask(method, params)).reply, params
            assert [event.partition(">")[0] for event in events if ">" in event] == ["outer", "inner"], params


@both_eras
async def test_they_keep_to_their_method_and_target_under_any_prefix(era: Era) -> None:
    events: list[str] = []
    inner = offering()
    inner.around_request("tools/call", "call")(Trace("tool", events))
    inner.around_request("tools/call", "other")(Trace("other", events))
    inner.around_request("acme/do")(Trace("method", events))
    inner.around_request("resources/read", "exact://own")(Trace("resource", events))
    middle, server = Server("m"), Server("s")
    middle.tool(name="own")(one)
    inner.around_request(Trace("any", events))
    middle.include(inner, prefix="b_")
    server.include(middle, prefix="a_")
    async with serving(server, era) as client:
        await client.call("a_own")
        await client.call("a_b_call")
        await client.ask("a_b_acme/do")
        for name in ("own", "any"):
            await client.ask("resources/read", {"uri": f"exact://{name}"})
    assert [event for event in events if ">" in event] == [
        *("tool>tools/call 'a_b_call'", "any>tools/call 'a_b_call'"),
        *("method>a_b_acme/do", "any>a_b_acme/do"),
        *("resource>resources/read 'exact://own'", "any>resources/read 'exact://own'"),
        "any>resources/read 'exact://any'",
    ]


async def test_a_reader_that_was_included_brings_its_hooks_for_what_nothing_else_reads() -> None:
    trace = Trace()
    inner, server = Server("i"), Server("s")
    inner.around_request(trace)

    @inner.read_resource
    async def any_of_them(uri: str) -> str:
        return uri

    server.resource("own://x")(nothing)
    server.include(inner)
    async with serving(server, Era.MODERN) as client:
        for uri in ("own://x", "other://x"):
            await client.ask("resources/read", {"uri": uri})
    assert [told.target for told in trace.seen] == ["other://x"]


async def test_skills_that_were_included_bring_their_hooks(tmp_path: Path) -> None:
    trace = Trace()
    inner, server = Server("i"), Server("s")
    inner.add_skills(written(tmp_path / "x", {"theirs/SKILL.md": manifest("theirs")}))
    server.add_skills(written(tmp_path / "y", {"own/SKILL.md": manifest("own")}))
    inner.around_request(trace)

    @inner.read_resource
    async def any_of_them(uri: str) -> str:
        return uri

    server.include(inner)
    asked: list[tuple[str, str]] = [
        ("resources/read", "skill://own/SKILL.md"),
        ("skills/get", "skill://theirs/SKILL.md"),
        ("resources/directory/read", "skill://theirs/"),
        ("resources/read", "skill://theirs/SKILL.md"),
    ]
    async with serving(server, Era.MODERN) as client:
        for method, uri in asked:
            await client.ask(method, {"uri": uri})
    assert [(told.method, told.target) for told in trace.seen] == asked[1:]


async def test_a_served_server_includes_nothing_with_hooks_and_stays_as_it_was() -> None:
    server = Server("s")
    async with serving(server, Era.MODERN):
        with pytest.raises(RegistrationError, match="before their server is served"):
            server.include(offering(Trace()))
        assert len(server.registry.tools) == 0
        server.include(offering())
        assert len(server.registry.tools) == 1


@both_eras
async def test_hooks_are_around_what_is_chosen_for_a_request_too_and_never_twice(era: Era) -> None:
    events: list[str] = []
    everybody, staff = offering(Trace("everybody", events)), Server("staff")
    staff.include(everybody)
    staff.around_request(Trace("staff", events))

    engine = Engine(everybody, MemoryBackplane(), choose=lambda _headers, _principal: staff)
    async with engine.running():
        client = Client(Node(engine), era)
        await client.ask("ping")
        events.clear()
        assert (await client.call("call", name="x")).text == "x"
    assert events == [
        *("everybody>tools/call 'call'", "staff>tools/call 'call'"),
        *("staff<CallToolResult", "everybody<CallToolResult"),
    ]


@both_eras
async def test_a_hook_sees_what_a_tool_wants_to_ask(era: Era) -> None:
    server = Server("s")
    trace = Trace()
    server.around_request("tools/call")(trace)

    @server.tool
    async def asks(ctx: Context) -> str | InputRequiredResult:
        return "told" if ctx.request_state else InputRequiredResult(request_state="again")

    async with serving(server, era) as client:
        await client.call("asks")
    assert trace.events[1] == "<InputRequiredResult"
