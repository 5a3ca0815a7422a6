"""The oldest transport, HTTP with SSE: a stream on one process, and messages to any.

Transports 2024-11-05, "HTTP with SSE" and "Security Warning".
"""

import asyncio
import json
from pathlib import Path

import httpx2
import pytest

from tests import wire
from tests.answer import Json
from tests.fleets import Fleet, Launch
from tests.pair import OLDEST, Pair, opened
from tests.processes import python
from tests.redis_server import SharedRedis, fresh_namespace
from tests.wire import LEGACY, Client

SETTINGS = {"SSE": "true", "LEASE_SECONDS": "1", "KEEPALIVE_SECONDS": "0.2"}


@pytest.fixture(scope="module")
def pairs(launch_for_module: Launch) -> Fleet:
    """Three processes that serve it, and whoever shows a known token."""
    return launch_for_module(3, **SETTINGS)


async def ready(pair: Pair) -> Pair:
    await pair.shake_hands()
    return pair


@pytest.mark.parametrize("date", LEGACY)
async def test_every_message_may_land_on_any_process(pairs: Fleet, date: str) -> None:
    """Transports 2024-11-05, "HTTP with SSE": the endpoint event, POSTs, and message events."""
    async with opened(pairs.balancer.url, pin=0) as pair:
        assert (await pair.shake_hands(date, pin=1))["protocolVersion"] == date
        for process in range(3):
            await pair.call("whoami", as_id=process, pin=process)
            told = json.loads(await pair.text(process))
            assert (told["pid"], told["revision"]) == (pairs.processes[process].pid, date)
            assert told["session"]
        assert {event.event for event in pair.stream.events[1:]} == {"message"}
        assert {event.id for event in pair.stream.events} == {None}


async def test_answers_come_as_they_are_ready_each_once(pairs: Fleet) -> None:
    async with opened(pairs.balancer.url) as pair:
        await ready(pair)
        for turn in range(20):
            await pair.call("slow", as_id=turn, seconds=0.3 if turn == 0 else 0, tag=str(turn))
        messages = [await pair.message() for _ in range(20)]
    texts = {message["id"]: message["result"]["content"][0]["text"] for message in messages if message}
    assert texts == {turn: str(turn) for turn in range(20)}
    assert messages[0] is not None
    assert messages[0]["id"] != 0


async def test_progress_and_log_messages_come_before_the_response(pairs: Fleet) -> None:
    async with opened(pairs.balancer.url, pin=0) as pair:
        await ready(pair)
        await pair.request("logging/setLevel", {"level": "debug"}, as_id="level", pin=1)
        assert (await pair.answer("level"))["result"] == {}
        await pair.call("count", as_id="count", pin=2, token=0, n=2, delay=0.05)
        assert (await pair.answer("count"))["result"]["content"][0]["text"] == "2"
    methods = [message["method"] for message in pair.heard if "method" in message]
    assert methods == ["notifications/progress", "notifications/message"] * 2


async def test_a_cancel_reaches_the_call_wherever_it_runs(pairs: Fleet) -> None:
    async with opened(pairs.balancer.url, pin=0) as pair:
        await ready(pair)
        await pair.call("slow", as_id=7, pin=1, seconds=60, tag="x")
        await pair.noted("began x", 1)
        await pair.notify("notifications/cancelled", {"requestId": 7}, pin=2)
        await pair.noted("cancelled x", 1)
    assert [message for message in pair.heard if message.get("id") == 7] == []


async def test_a_call_whose_process_dies_ends_with_an_error(launch_fleet: Launch) -> None:
    pairs = launch_fleet(3, **SETTINGS)
    async with opened(pairs.balancer.url, pin=0) as pair:
        await ready(pair)
        await pair.call("slow", as_id=7, pin=1, seconds=60, tag="x")
        await pair.noted("began x", 1)
        pairs.processes[1].kill()
        answer = await pair.answer(7, within=15)
        assert answer["error"]["data"] == {"reason": "outcome_unknown"}
        await pair.call("echo", as_id=8, pin=2, x="on")
        assert await pair.text(8) == "on"


async def test_closing_the_stream_ends_the_session_and_its_calls(pairs: Fleet) -> None:
    async with opened(pairs.balancer.url, pin=2) as witness:
        await ready(witness)
        async with opened(pairs.balancer.url, pin=0) as pair:
            await ready(pair)
            await pair.call("slow", as_id=7, pin=1, seconds=60, tag="left")
            await pair.noted("began left", 1)
            address = pair.address
        await witness.noted("cancelled left", 1)
        async with Client(address, OLDEST) as late:
            ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
            answer = await late.send("POST", ping)
            assert (answer.status, answer.error["data"]) == (404, {"reason": "session_not_found"})


async def test_a_stream_whose_process_leaves_ends_after_what_is_under_way(launch_fleet: Launch) -> None:
    pairs = launch_fleet(3, **SETTINGS)
    async with opened(pairs.balancer.url, pin=0) as pair:
        await ready(pair)
        await pair.call("slow", as_id=7, pin=1, seconds=1, tag="kept")
        await pair.noted("began kept", 1)
        pairs.processes[0].terminate()
        assert await pair.text(7) == "kept"
        assert await pair.message() is None
    assert pairs.processes[0].await_exit() == 0


async def test_what_is_wrong_with_a_request_is_told_on_the_stream(pairs: Fleet) -> None:
    async with opened(pairs.balancer.url) as pair:
        await ready(pair)
        wrong: list[tuple[int, str, Json, int]] = [
            (1, "initialize", {}, -32602),
            (2, "no/such", {}, -32601),
            (3, "logging/setLevel", {"level": "loud"}, -32602),
            (4, "ping", {"_meta": 7}, -32602),
            (5, "initialize", {**HELLO, "clientInfo": {"name": "x" * 70_000, "version": "1"}}, -32602),
        ]
        for as_id, method, params, code in wrong:
            await pair.request(method, params, as_id=as_id)
            assert (await pair.answer(as_id))["error"]["code"] == code


HELLO = {"protocolVersion": OLDEST, "capabilities": {}, "clientInfo": wire.CLIENT_INFO}


@pytest.mark.parametrize(
    ("body", "code"), [(b"{", -32700), (b"[]", -32600), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600)]
)
async def test_what_is_no_message_is_refused(pairs: Fleet, body: bytes, code: int) -> None:
    async with opened(pairs.balancer.url) as pair:
        answer = await pair.post(body)
        assert (answer.status, answer.error["code"]) == (400, code)


@pytest.mark.parametrize("date", LEGACY)
async def test_a_batch_is_taken_where_the_revision_has_batches(pairs: Fleet, date: str) -> None:
    """JSON-RPC 2.0, section 6: each response is a message of its own here, the malformed answered too."""
    note = {"jsonrpc": "2.0", "method": "notifications/unheard-of"}
    batch = [
        7,
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"x": "a"}}},
        note,
        {"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": "info"}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "no_such_tool"}},
    ]
    async with opened(pairs.balancer.url) as pair:
        await pair.shake_hands(date)
        answer = await pair.post(batch)
        if date != "2025-03-26":
            assert (answer.status, answer.error["code"]) == (400, -32600)
            return
        assert (answer.status, answer.body) == (202, b"")
        told = {message.get("id"): message for message in [await pair.message() for _ in range(4)] if message}
        assert told[None]["error"]["code"] == -32600
        assert told[1]["result"]["content"][0]["text"] == "a"
        assert told[2]["result"] == {}
        assert told[3]["error"]["code"] == -32602
        assert (await pair.post([note])).status == 202
        unasked = {"jsonrpc": "2.0", "id": "ask-1", "result": {}}
        for alone in ([unasked], [unasked, note]):
            assert (await pair.post(alone)).error["data"] == {"reason": "nobody_asked"}


async def test_an_answer_that_nobody_waits_for_is_refused(pairs: Fleet) -> None:
    async with opened(pairs.balancer.url) as pair:
        answer = await pair.post({"jsonrpc": "2.0", "id": "ask-1", "result": {}})
        assert (answer.status, answer.error["data"]) == (400, {"reason": "nobody_asked"})


async def test_each_session_is_of_its_transport(pairs: Fleet) -> None:
    """A message whose answer would go to a stream that nobody has is refused."""
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    async with wire.connected(pairs.url, wire.LATEST_HANDSHAKE) as client:
        for address in ("/messages", "/messages?session_id=no", f"/messages?session_id={client.session_id}"):
            async with Client(pairs.balancer.url + address, OLDEST) as stray:
                assert (await stray.send("POST", ping)).status == (400 if address == "/messages" else 404)


async def test_a_session_is_for_whoever_opened_it(redis_server: SharedRedis, tmp_path: Path) -> None:
    def shown(token: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}

    command = python("-m", "tests.servers.tokens")
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with fresh_namespace(redis_server) as namespace:
        settings = {**SETTINGS, "REDIS_URL": redis_server.url, "NAMESPACE": namespace}
        with Fleet(tmp_path, 2, settings, command=command) as fleet:
            async with Client(f"{fleet.balancer.url}/sse", OLDEST) as nobody:
                assert (await nobody.send("GET")).status == 401
            async with opened(fleet.balancer.url, headers=shown("alice-1")) as pair:
                for token, status in [("bob", 404), ("other-alice", 404), ("nobody", 401), ("alice-2", 202)]:
                    assert (await pair.post(ping, headers=shown(token))).status == status
                assert (await pair.answer(1))["result"] == {}


async def test_it_is_only_there_when_it_is_switched_on(launch_fleet: Launch) -> None:
    fleet = launch_fleet(1)
    async with httpx2.AsyncClient(trust_env=False) as http:
        for path in ("/sse", "/messages"):
            assert (await http.get(fleet.balancer.url + path)).status_code == 404


async def test_methods_and_hosts_are_checked(pairs: Fleet) -> None:
    async with Client(f"{pairs.balancer.url}/sse", OLDEST) as client:
        posted = await client.send("POST", "{}")
        assert (posted.status, posted.headers["allow"]) == (405, "GET")
        assert (await client.send("GET", headers={"Origin": "https://evil.example"})).status == 403
        assert (await client.send("GET", headers={"Accept": "application/json"})).status == 406
    async with Client(f"{pairs.balancer.url}/messages?session_id=x", OLDEST) as client:
        got = await client.send("GET")
        assert (got.status, got.headers["allow"]) == (405, "POST")
        assert (await client.send("POST", "{}", headers={"Content-Type": "text/plain"})).status == 415


async def test_a_question_is_asked_on_the_stream_and_answered_on_any_process(launch_fleet: Launch) -> None:
    fleet = launch_fleet(3, server="tests.servers.inquisitive:server", **SETTINGS)
    async with opened(fleet.balancer.url, pin=0) as pair:
        able = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": wire.CLIENT_INFO}
        await pair.request("initialize", able, as_id="hello", pin=1)
        await pair.answer("hello")
        await pair.call("greet", as_id=7, pin=1)
        question = await pair.message()
        assert question is not None
        assert question["method"] == "elicitation/create"
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
        assert (await pair.post(answer, pin=2)).status == 202
        assert await pair.text(7) == "declined"


async def test_a_silent_stream_is_kept_alive(pairs: Fleet) -> None:
    received = b""
    async with (
        asyncio.timeout(wire.DEADLINE),
        httpx2.AsyncClient(trust_env=False) as http,
        http.stream("GET", f"{pairs.balancer.url}/sse") as response,
    ):
        chunks = response.aiter_bytes()
        while received.count(b": \n\n") < 3:
            received += await anext(chunks)
