"""What is refused in the legacy era, and how; batches; and what becomes of requests while the store is away."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from mcpfleet.backplane.base import Position
from mcpfleet.server import eventids
from mcpfleet.server.eventids import CallPlace, StandalonePlace
from tests.server.wire import LEGACY, Flight, Node, Session, call, notification, request
from tests.server.world import World, eventually

INITIALIZE = request("initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {}}, 1)
HERE = Position(1, "0" * 16)


def without(message: dict[str, Any], name: str) -> dict[str, Any]:
    params = {key: value for key, value in message["params"].items() if key != name}
    return {**message, "params": params}


REFUSED: dict[str, tuple[int, Callable[[Node, Session], Flight]]] = {
    "no session": (400, lambda node, _: node.send("POST", request("tools/list"))),
    "unknown session": (404, lambda node, _: node.send("POST", request("tools/list"), Mcp_Session_Id="f" * 32)),
    "GET without a session": (400, lambda node, _: node.send("GET")),
    "GET of an unknown session": (404, lambda node, _: node.send("GET", Mcp_Session_Id="f" * 32)),
    "DELETE without a session": (400, lambda node, _: node.send("DELETE")),
    "DELETE of an unknown session": (404, lambda node, _: node.send("DELETE", Mcp_Session_Id="f" * 32)),
    "not JSON": (400, lambda node, session: session.send(node, "POST", b"{")),
    "no message": (400, lambda node, session: session.send(node, "POST", {"jsonrpc": "2.0"})),
    "null id": (400, lambda node, session: session.send(node, "POST", {**request("tools/list"), "id": None})),
    "nothing acceptable": (406, lambda node, _: node.send("POST", INITIALIZE, Accept="image/png")),
    "GET that takes no streams": (406, lambda node, session: session.send(node, "GET", Accept="application/json")),
    "another media type": (415, lambda node, _: node.send("POST", INITIALIZE, Content_Type="text/plain")),
    "another method": (405, lambda node, session: session.send(node, "PUT", request("tools/list"))),
    "HEAD": (405, lambda node, session: session.send(node, "HEAD")),
    "OPTIONS": (405, lambda node, session: session.send(node, "OPTIONS")),
    "initialize without a version": (
        400,
        lambda node, _: node.send("POST", without(INITIALIZE, "protocolVersion")),
    ),
    "initialize without capabilities": (400, lambda node, _: node.send("POST", without(INITIALIZE, "capabilities"))),
    "initialize without a client": (400, lambda node, _: node.send("POST", without(INITIALIZE, "clientInfo"))),
    "initialize in a batch": (400, lambda node, _: node.send("POST", [INITIALIZE])),
    "an unknown version": (
        400,
        lambda node, session: session.send(node, "POST", request("tools/list"), MCP_Protocol_Version="1999-01-01"),
    ),
    "a batch where there are none": (400, lambda node, session: session.send(node, "POST", [request("ping")])),
    "an empty batch": (400, lambda node, session: session.send(node, "POST", [])),
    "a batch too large": (400, lambda node, session: session.send(node, "POST", [request("ping")] * 101)),
    "an answer nobody asked for": (
        400,
        lambda node, session: session.send(node, "POST", {"jsonrpc": "2.0", "id": 1, "result": {}}),
    ),
    "an error nobody asked for": (
        400,
        lambda node, session: session.send(
            node, "POST", {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}
        ),
    ),
    "a forged event id": (400, lambda node, session: session.listen(node, "c.0011223344556677.1-0.MQ==.0")),
    "no object as _meta": (400, lambda node, session: session.request(node, "tools/list", {"_meta": []})),
    "a token of no kind": (
        400,
        lambda node, session: session.request(node, "tools/list", {"_meta": {"progressToken": 1.5}}),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_refused_leaves_nothing_in_the_store_and_gives_no_session(world: World, case: str) -> None:
    node = await world.node()
    session = await node.initialize()
    await session.call(node, "echo", x="in use").got()
    status, ask = REFUSED[case]
    before = await world.keys()
    got = await ask(node, session).got()
    assert got.status == status
    assert got.error["code"] in (-32600, -32602, -32700, -32022)
    assert "Mcp-Session-Id" not in got.headers
    assert await world.keys() == before
    assert node.engine.calls == 0


async def test_the_error_of_a_request_names_the_request(memory: World) -> None:
    node = await memory.node()
    session = await node.initialize()
    refused = [
        node.send("POST", request("tools/list", as_id="mine")),
        node.send("POST", request("tools/list", as_id="mine"), Mcp_Session_Id="f" * 32),
        session.send(node, "POST", request("no/such/method", as_id="mine")),
        session.send(node, "POST", {**request("tools/list", as_id="mine"), "params": []}),
        session.send(node, "POST", request("tools/call", {"name": "no such tool"}, as_id="mine")),
        session.send(node, "POST", request("tools/call", {"name": 3}, as_id="mine")),
        session.send(node, "POST", call("echo", as_id="mine")),
        session.send(node, "POST", request("server/discover", as_id="mine")),
    ]
    for flight in refused:
        assert (await flight.got()).reply["id"] == "mine"


async def test_errors_of_a_served_request_are_answers_like_any_other(memory: World) -> None:
    node = await memory.node()
    session = await node.initialize()
    for method, params, code in (
        ("no/such", {}, -32601),
        ("server/discover", {}, -32601),
        ("tools/call", {"name": "no such tool"}, -32602),
        ("tools/call", {"name": "echo", "arguments": []}, -32602),
        ("tools/list", {"cursor": "garbage"}, -32602),
    ):
        got = await session.request(node, method, params).got()
        assert (got.status, got.error["code"]) == (200, code)


async def test_a_ping_is_answered_with_nothing(memory: World) -> None:
    node = await memory.node()
    session = await node.initialize()
    assert (await session.request(node, "ping").got()).result == {}


@pytest.mark.parametrize(
    "event_id",
    [
        "forged",
        "x" * 1_000_000,
        "é",
        eventids.write("f" * 32, CallPlace("0" * 16, HERE, 1)),
        eventids.write("f" * 32, StandalonePlace("0" * 16, HERE, HERE)),
    ],
)
async def test_an_event_id_that_this_session_was_not_given_costs_the_store_nothing(world: World, event_id: str) -> None:
    node = await world.node()
    session = await node.initialize()
    verbs = world.links[node].verbs
    verbs.clear()
    got = await session.listen(node, event_id).got()
    assert (got.status, got.reason) == (400, "unknown_event_id")
    assert not [verb for verb in verbs if session.id in verb]


async def test_an_event_id_of_another_stream_of_the_session_takes_up_that_stream(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    got = await session.call(node, "count", n=1, token=1).got()
    position = got.events[0].id
    assert position
    theirs = position.replace(position.split(".")[1], "0" * 16)  # the tag does not fit another stream
    assert (await session.listen(node, theirs).got()).status == 400
    assert (await session.listen(node, position).got()).replies == got.replies


async def test_an_empty_event_id_is_none_at_all(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    assert await session.send(node, "GET", Last_Event_ID="").begun()


async def test_a_valid_event_id_of_an_ended_session_is_404(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    got = await session.call(node, "count", n=1, token=1).got()
    await session.end(node)
    assert (await session.listen(node, got.events[0].id).got()).status == 404


async def test_a_batch_is_answered_in_one_body_each_message_for_itself(world: World) -> None:
    node = await world.node()
    session = await node.initialize("2025-03-26")
    batch = [
        call("echo", as_id=1, x="a"),
        notification("notifications/initialized"),
        call("echo", as_id="1", x="b"),
        7,
        {"jsonrpc": "2.0", "id": 3},
        request("no/such", as_id=4),
        request("logging/setLevel", {"level": "info"}, 5),
        request("tools/list", {"_meta": {"progressToken": []}}, 6),
        call("count", as_id=8, token=1, n=3),
    ]
    got = await session.send(node, "POST", batch).got()
    found = {(type(reply.get("id")), reply.get("id")): reply for reply in got.messages}
    assert len(found) == len(got.messages) == 8
    assert found[int, 1]["result"]["content"][0]["text"] == "a"
    assert found[str, "1"]["result"]["content"][0]["text"] == "b"
    assert found[type(None), None]["error"]["code"] == -32600
    assert found[int, 3]["error"]["code"] == -32600
    assert found[int, 4]["error"]["code"] == -32601
    assert found[int, 5]["result"] == {}
    assert found[int, 6]["error"]["code"] == -32602
    assert "result" in found[int, 8]


async def test_a_batch_of_notifications_alone_is_accepted_without_a_body(memory: World) -> None:
    node = await memory.node()
    session = await node.initialize("2025-03-26")
    got = await session.send(node, "POST", [notification("notifications/initialized")] * 2).got()
    assert (got.status, got.body) == (202, b"")


async def test_a_batch_of_answers_alone_is_refused_since_nobody_asked(memory: World) -> None:
    node = await memory.node()
    session = await node.initialize("2025-03-26")
    answers = [{"jsonrpc": "2.0", "id": 1, "result": {}}, notification("notifications/initialized")]
    got = await session.send(node, "POST", answers).got()
    assert (got.status, got.reason) == (400, "nobody_asked")


async def test_the_requests_of_a_batch_are_served_side_by_side(world: World) -> None:
    node = await world.node()
    session = await node.initialize("2025-03-26")
    flight = session.send(node, "POST", [call("held", as_id=n, name=str(n)) for n in range(3)])
    assert {await world.stage.began() for _ in range(3)} == {"0", "1", "2"}
    for name in ("2", "0", "1"):
        world.stage.release(name, name)
    assert [reply["id"] for reply in (await flight.got()).messages] == [0, 1, 2]


async def test_a_client_that_takes_only_streams_gets_a_batch_as_one_event(memory: World) -> None:
    node = await memory.node()
    session = await node.initialize("2025-03-26")
    batch = [call("echo", as_id=n, x="a") for n in range(2)]
    got = await session.send(node, "POST", batch, Accept="text/event-stream").got()
    assert (got.is_stream, len(got.events), len(got.messages)) == (True, 1, 2)


@pytest.mark.parametrize("date", ["2024-11-05", "2025-06-18", "2025-11-25"])
async def test_a_batch_is_refused_where_the_session_has_none_although_no_header_says_so(
    memory: World, date: str
) -> None:
    node = await memory.node()
    session = await node.initialize(date)
    got = await session.send(node, "POST", [call("echo", x="a")]).got()
    assert (got.status, got.error["code"]) == (400, -32600)


async def test_while_the_store_is_away_whatever_needs_a_session_is_503_at_once(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    world.links[node].away = True
    asked = {
        "mine": session.call(node, "echo", x="hi", as_id="mine"),
        "level": session.request(node, "logging/setLevel", {"level": "info"}, as_id="level"),
        "again": node.send("POST", {**INITIALIZE, "id": "again"}),
    }
    for as_id, flight in asked.items():
        got = await flight.got()
        assert (got.status, got.headers["Retry-After"], got.reason, got.reply["id"]) == (
            503,
            "1",
            "store_unavailable",
            as_id,
        )
    for flight in (session.listen(node), session.send(node, "DELETE")):
        got = await flight.got()
        assert (got.status, got.reason) == (503, "store_unavailable")


async def test_after_an_outage_everything_goes_on_by_itself(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    world.links[node].away = True
    assert (await session.call(node, "echo", x="hi").got()).status == 503
    world.links[node].away = False
    assert (await session.call(node, "echo", x="hi").got()).text == "hi"


async def test_a_batch_whose_cancel_cannot_be_sent_runs_nothing_of_it(world: World) -> None:
    node = await world.node()
    session = await node.initialize("2025-03-26")
    world.links[node].cut_at("get */id/*")
    batch = [call("held", name="a"), notification("notifications/cancelled", {"requestId": 7})]
    assert (await session.send(node, "POST", batch).got()).status == 503
    assert world.stage.begun.empty()


async def test_what_needs_the_store_in_a_batch_fails_alone_while_it_is_away(world: World) -> None:
    node = await world.node()
    session = await node.initialize("2025-03-26")
    await session.call(node, "echo", x="in use").got()
    world.links[node].cut_at("put */session")
    batch = [request("logging/setLevel", {"level": "info"}, 1), call("echo", as_id=2, x="served")]
    got = await session.send(node, "POST", batch).got()
    found = {reply["id"]: reply for reply in got.messages}
    assert found[1]["error"]["data"]["reason"] == "store_unavailable"
    assert found[2]["result"]["content"][0]["text"] == "served"


async def test_a_record_of_another_version_is_refused_by_name_and_harms_nobody_else(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    node = await world.node()
    session, other = await node.initialize(), await node.initialize()
    await world.store.put(f"{session.id}/session", b"\xffof the future", ttl=60)
    got = await session.call(node, "echo", x="hi").got()
    assert (got.status, got.reason) == (503, "store_unavailable")
    assert "format 255" in caplog.text
    assert (await other.call(node, "echo", x="hi").got()).text == "hi"


async def test_a_client_that_leaves_while_its_session_is_looked_up_leaves_nothing_behind(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    go = world.links[node].hold(f"get {session.id}/session")
    flight = session.call(node, "held", name="a")
    await world.links[node].reached(f"get {session.id}/session")
    await flight.cut()
    go()
    await asyncio.sleep(0)
    await eventually(lambda: node.engine.calls == 0)
    assert world.stage.begun.empty()
