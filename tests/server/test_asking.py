"""What binds the server when it is the one who asks ("Elicitation", "Sampling", "Overview")."""

from typing import Any

import pytest

from mcpfleet import Context, ProtocolError, forms
from mcpfleet.errors import CannotAsk
from mcpfleet.protocol.messages import SamplingMessage, TextContent, ToolUseContent
from tests.answer import Json
from tests.server.wire import Flight, Node, Session
from tests.server.world import World

ABLE: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}}
FORM = forms.form(name=forms.text())


async def asking(node: Node) -> Session:
    """A session whose client can be asked, of a server with tools that ask."""

    @node.engine.server.tool
    async def ask(times: int, ctx: Context) -> str:
        """Ask for one name after another."""
        answers = [await ctx.elicit("Who?", FORM) for _ in range(times)]
        return " ".join(answer.content["name"] for answer in answers if answer.content is not None)

    @node.engine.server.tool
    async def visit(url: str, ctx: Context) -> str:
        """Have the user visit a page, and tell when they have."""
        try:
            action = await ctx.elicit_url("There", url, elicitation_id="e1")
        except ValueError as error:
            return f"refused: {error}"
        await ctx.complete_elicitation("e1")
        return action

    @node.engine.server.tool
    async def go_on(ctx: Context) -> str:
        """Go on with a conversation in which a tool use has no result."""
        use = SamplingMessage("assistant", [ToolUseContent(id="u", name="t", input={})])
        try:
            await ctx.sample([use, SamplingMessage("user", TextContent("and?"))], max_tokens=5)
        except ValueError as error:
            return f"refused: {error}"
        return "asked"

    return await node.initialize(capabilities=ABLE)


async def question(flight: Flight) -> Json:
    """The next request of ours."""
    while (message := await flight.message()) is not None:
        if "id" in message and "method" in message:
            return message
    raise AssertionError("no question came")


async def answered(session: Session, node: Node, asked: Json, **result: Any) -> None:
    got = await session.send(node, "POST", {"jsonrpc": "2.0", "id": asked["id"], "result": result}).got()
    assert (got.status, got.body) == (202, b"")


async def test_every_question_of_a_session_has_an_id_of_its_own_and_an_answered_one_is_never_cancelled(
    memory: World,
) -> None:
    """Overview, "Requests": the id MUST NOT have been used before; Cancellation: only what is in progress."""
    node = await memory.node()
    session = await asking(node)
    ids: list[Any] = []
    for _ in range(3):
        flight = session.call(node, "ask", times=4)
        for name in "abcd":
            asked = await question(flight)
            ids.append(asked["id"])
            await answered(session, node, asked, action="accept", content={"name": name})
        got = await flight.got()
        assert got.text == "a b c d"
        assert "notifications/cancelled" not in [message.get("method") for message in got.messages]
    assert len(set(ids)) == len(ids) == 12
    assert all(isinstance(each, str) for each in ids)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "page",
        "/page",
        "example.com/page",
        "https://",
        "https:///page",
        "https://example.com/a b",
        "https://[",
        "\n",
    ],
)
async def test_a_page_without_a_valid_url_is_not_asked_for(memory: World, url: str) -> None:
    """Elicitation, "URL Mode Elicitation Requests": the URL MUST be valid."""
    node = await memory.node()
    session = await asking(node)
    got = await session.call(node, "visit", url=url).got()
    assert got.text.startswith("refused: url must be")
    assert got.messages == [got.reply]


async def test_completion_is_told_to_the_client_that_was_asked_with_the_id_of_its_question(memory: World) -> None:
    """Elicitation 2025-11-25, "Completion Notifications for URL Mode Elicitation"."""
    node = await memory.node()
    session = await asking(node)
    others = [await node.initialize(capabilities=ABLE) for _ in range(2)]
    streams = [each.listen(node) for each in [session, *others]]
    for stream in streams:
        await stream.begun()
    flight = session.call(node, "visit", url="https://example.com/pay?n=1")
    asked = await question(flight)
    assert asked["params"] == {
        "mode": "url",
        "message": "There",
        "url": "https://example.com/pay?n=1",
        "elicitationId": "e1",
    }
    await answered(session, node, asked, action="accept")
    got = await flight.got()
    assert got.text == "accept"
    (completed,) = (each for each in got.notifications if "id" not in each)
    assert (completed["method"], completed["params"]) == ("notifications/elicitation/complete", {"elicitationId": "e1"})
    for each in [session, *others]:
        await each.end(node)
    assert [(await stream.got()).messages for stream in streams] == [[], [], []]


async def test_no_question_to_a_modern_client_is_a_request(memory: World) -> None:
    """Streamable HTTP, "Receiving Messages": not even on a response that has become a stream."""
    node = await memory.node()

    @node.engine.server.tool
    async def tell_and_ask(ctx: Context) -> str:
        """Report, then ask."""
        await ctx.report_progress(1)
        return (await ctx.elicit("Who?", FORM)).action

    meta = {"io.modelcontextprotocol/clientCapabilities": ABLE, "progressToken": 1}
    got = await node.modern("tools/call", {"name": "tell_and_ask", "arguments": {}}, meta=meta).got()
    assert got.is_stream
    assert [message.get("method") for message in got.messages] == ["notifications/progress", None]
    assert got.result["resultType"] == "input_required"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": ""}},
        ),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("acme/ask", {}),
    ],
)
async def test_only_methods_that_may_ask_end_with_a_question(memory: World, method: str, params: Json) -> None:
    """Multi Round-Trip Requests, "Supported Requests": whatever a handler of any other one does."""
    node = await memory.node()
    server, raised = node.engine.server, list[str]()

    async def ask(ctx: Context) -> Any:
        """Ask, and note what comes of it."""
        try:
            return (await ctx.elicit("Who?", FORM)).action
        except CannotAsk as error:
            raised.append(str(error))
            raise

    @server.prompt
    def greet(name: str) -> str:
        """Greet somebody."""
        return name

    server.completion("prompt", "greet", argument="name")(ask)
    server.list_resources(ask)
    server.method("acme/ask")(ask)
    meta = {"io.modelcontextprotocol/clientCapabilities": ABLE}
    got = await node.modern(method, params, meta=meta).got()
    assert (got.status, got.messages, got.error["code"]) == (200, [got.reply], -32603)
    assert raised == [got.error["message"]]


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize(
    "data",
    [
        None,
        {"url": "https://example.com"},
        {"elicitations": []},
        {"elicitations": [{"mode": "form", "message": "m", "requestedSchema": {}}]},
        {"elicitations": [{"mode": "url", "message": "m", "url": "page", "elicitationId": "e"}]},
    ],
)
async def test_the_error_that_demands_a_visit_never_goes_out_without_its_pages(
    memory: World, era: str, data: Any
) -> None:
    """Elicitation 2025-11-25, "URL Elicitation Required Error": whatever a handler has written by hand."""
    node = await memory.node()
    session = await asking(node)
    params: Json = {"name": "held", "arguments": {"name": "a"}}
    meta = {"io.modelcontextprotocol/clientCapabilities": ABLE}
    modern = era == "modern"
    flight = node.modern("tools/call", params, meta=meta) if modern else session.request(node, "tools/call", params)
    await memory.stage.began()
    memory.stage.fail("a", ProtocolError(-32042, "visit", data))
    got = await flight.got()
    assert (got.status, got.error["code"], got.error["message"]) == (200, -32603, "Internal error")
    assert (await session.call(node, "echo", x="lives").got()).text == "lives"


async def test_a_conversation_that_clients_must_refuse_is_not_sent(memory: World) -> None:
    """Sampling, "Tool Use and Result Balance"."""
    node = await memory.node()
    session = await asking(node)
    got = await session.call(node, "go_on").got()
    assert got.text.startswith("refused: ")
    assert got.messages == [got.reply]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_question_that_no_client_could_read_is_not_sent(memory: World, era: str) -> None:
    """Sampling, "Creating Messages": the author is told of it, in either era."""
    node = await memory.node()
    session, found = await asking(node), list[str]()

    @node.engine.server.tool
    async def careless(ctx: Context) -> str:
        """Ask for a number of tokens that is none."""
        try:
            await ctx.sample("hi", max_tokens="5")  # type: ignore[arg-type]  # the case
        except ValueError as error:
            found.append(str(error))
        return "went on"

    params: Json = {"name": "careless", "arguments": {}}
    meta = {"io.modelcontextprotocol/clientCapabilities": ABLE}
    modern = era == "modern"
    flight = node.modern("tools/call", params, meta=meta) if modern else session.request(node, "tools/call", params)
    got = await flight.got()
    assert (got.text, got.messages) == ("went on", [got.reply])
    assert ["maxTokens" in words for words in found] == [True]
