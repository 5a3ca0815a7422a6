"""Modern requests of several rounds, on processes that fail and a store that goes away (basic/patterns/mrtr)."""

import asyncio
from dataclasses import replace
from typing import Any

from mcpfleet import Context, ElicitForm, InputRequiredResult, Principal, QuestionFailed, Server, forms
from mcpfleet.server.events import EVENTS
from tests.answer import Answer, Json
from tests.server.wire import Node
from tests.server.world import PATIENT, World, eventually

ABLE: Json = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {}}}
FORM = forms.form(name=forms.text())


def asking(**options: Any) -> Server:
    """A server with a tool that asks."""
    server = Server("asking", version="1", **options)

    @server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", FORM)
        return f"{answer.action} {answer.content}"

    @server.tool
    async def detour(ctx: Context) -> str:
        first = await ctx.step("first", lambda: server.name)
        if first == "asking":
            server_asks.append("once")
        if len(server_asks) == 1:
            await ctx.elicit("Who?", FORM)
        await ctx.elicit("Which?", FORM)
        return "done"

    server_asks: list[str] = []
    return server


def ask(node: Node, tool: str = "greet", principal: Principal | None = None, **params: Any) -> Any:
    return node.modern("tools/call", {"name": tool, **params}, meta=ABLE, principal=principal)


def answered(got: Answer) -> Json:
    """The params of the retry that answers everything."""
    answers = {key: {"action": "accept", "content": {"name": "Ada"}} for key in got.result["inputRequests"]}
    return {"inputResponses": answers, "requestState": got.result["requestState"]}


async def test_any_process_goes_on_and_quick_calls_before_it_have_asked_the_store_nothing(world: World) -> None:
    here, there = await world.node(PATIENT, asking()), await world.node(PATIENT, asking())
    asked = await ask(here).got()
    assert (await ask(there, **answered(asked)).got()).text == "accept {'name': 'Ada'}"
    known = len([verb for verb in world.links[there].verbs if "keyring" in verb])
    assert (await ask(there, **answered(asked)).got()).text == "accept {'name': 'Ada'}"
    assert len([verb for verb in world.links[there].verbs if "keyring" in verb]) == known, "the key is known by now"


async def test_a_process_that_cannot_ask_for_the_key_says_503_and_never_invalid(world: World) -> None:
    here, there = await world.node(PATIENT, asking()), await world.node(PATIENT, asking())
    asked = await ask(here).got()
    world.links[there].away = True
    got = await ask(there, **answered(asked)).got()
    assert (got.status, got.headers["Retry-After"], got.reason) == (503, "1", "store_unavailable")
    assert (await ask(here, **answered(asked)).got()).text == "accept {'name': 'Ada'}"
    world.links[there].away = False
    assert (await ask(there, **answered(asked)).got()).text == "accept {'name': 'Ada'}"


async def test_what_was_asked_before_the_store_lost_everything_is_gone_on_with_by_a_process_that_came_after(
    world: World,
) -> None:
    """Whoever has sealed it hears of the loss, and puts its key back before anybody asks for it."""
    empty = await world.control.save()
    here = await world.node(PATIENT, asking())
    asked = await ask(here).got()
    await world.control.restore(empty)
    await world.store.open(EVENTS, ttl=60)
    await world.store.delete(EVENTS)  # which is heard at once
    await eventually(lambda: any_key(world))
    late = await world.node(PATIENT, asking())
    assert (await ask(late, **answered(asked)).got()).text == "accept {'name': 'Ada'}"


async def any_key(world: World) -> bool:
    """Whether there is a key in the store."""
    return any("key/" in name for name in await world.keys())


async def test_a_question_that_cannot_be_sealed_is_503(world: World) -> None:
    node = await world.node(PATIENT, asking())
    world.links[node].away = True
    got = await ask(node).got()
    assert (got.status, got.reason) == (503, "store_unavailable")


async def test_another_principal_cannot_go_on(memory: World) -> None:
    node = await memory.node(PATIENT, asking())
    asked = await ask(node, principal=Principal("ada")).got()
    for other in (None, Principal("eve")):
        got = await ask(node, principal=other, **answered(asked)).got()
        assert (got.status, got.error["code"]) == (400, -32602)
    assert (await ask(node, principal=Principal("ada"), **answered(asked)).got()).text == "accept {'name': 'Ada'}"


async def test_a_state_for_one_use_is_accepted_once_by_the_whole_fleet(world: World) -> None:
    nodes = [await world.node(PATIENT, asking(single_use_state=True)) for _ in range(2)]
    asked = await ask(nodes[0]).got()
    answers = await asyncio.gather(*(ask(nodes[turn % 2], **answered(asked)).got() for turn in range(6)))
    assert sorted(got.status for got in answers) == [200, *[400] * 5]
    assert {got.error["message"] for got in answers if got.status == 400} == {"Invalid or expired requestState"}


async def test_a_handler_that_asks_another_question_than_before_is_refused(memory: World) -> None:
    node = await memory.node(replace(PATIENT, replay_within=0.05), asking())
    asked = await ask(node, "detour").got()
    got = await ask(node, "detour", **answered(asked)).got()
    assert got.error["code"] == -32603


async def test_the_client_that_leaves_before_the_question_is_out_leaves_nothing(memory: World) -> None:
    node = await memory.node(PATIENT, asking())
    flight = ask(node)
    await flight.cut()
    assert (await ask(node).got()).result["resultType"] == "input_required"


async def test_methods_whose_results_cannot_ask_ignore_what_belongs_to_rounds(memory: World) -> None:
    node = await memory.node(PATIENT, asking())
    got = await node.modern("tools/list", {"requestState": "x", "inputResponses": 1}, meta=ABLE).got()
    assert got.result["resultType"] == "complete"


async def test_methods_of_ones_own_can_ask_nothing(memory: World) -> None:
    """The results of other methods than the three cannot ask for input."""
    server = asking()

    @server.method("acme/ask")
    async def acme_ask(ctx: Context) -> dict[str, str]:
        try:
            await ctx.elicit("Who?", FORM)
        except QuestionFailed as error:
            return {"failed": str(error)}
        return {}

    @server.method("acme/hand")
    async def acme_hand() -> InputRequiredResult:
        return InputRequiredResult(request_state="x")

    node = await memory.node(PATIENT, server)
    assert "cannot be asked" in (await node.modern("acme/ask", meta=ABLE).got()).result["failed"]
    assert (await node.modern("acme/hand", meta=ABLE).got()).error["code"] == -32603


async def test_a_server_may_refuse_legacy_clients_what_takes_rounds(memory: World) -> None:
    """Instead of asking them by real requests."""
    for shim in (True, False):
        server = asking(input_required_legacy_shim=shim)

        @server.tool
        async def hand(ctx: Context) -> str | InputRequiredResult:
            if ctx.request_state is not None:
                return f"again, with {ctx.request_state}"
            return InputRequiredResult(request_state="x")

        node = await memory.node(PATIENT, server)
        session = await node.initialize()
        got = await session.call(node, "hand").got()
        if shim:
            assert got.text == "again, with x"
        else:
            assert (got.error["code"], got.reason) == (-32603, "input_required")


async def test_a_form_that_an_older_client_cannot_show_is_not_asked(memory: World) -> None:
    """2025-06-18 has no choice of several values."""
    server = asking()
    several = forms.form(tags=forms.choices(["a", "b"]))

    @server.tool
    async def direct(ctx: Context) -> str:
        return (await ctx.elicit("Which?", several)).action

    @server.tool
    async def by_hand() -> InputRequiredResult:
        return InputRequiredResult(input_requests={"a": ElicitForm(message="Which?", requested_schema=several)})

    node = await memory.node(PATIENT, server)
    session = await node.initialize("2025-06-18", capabilities={"elicitation": {}})
    got = await session.call(node, "direct").got()
    assert "tags" in got.complaint
    assert "tags" in (await session.call(node, "by_hand").got()).error["message"]
