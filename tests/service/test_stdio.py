"""`mcpfleet stdio`: one client, two pipes, both eras."""

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests import wire
from tests.processes import ROOT, assert_ends, environment, python
from tests.service.lines import COMMAND, META, Child, Json, child

every_revision = pytest.mark.parametrize("date", wire.EVERY)
both_eras = pytest.mark.parametrize("date", [wire.LATEST_HANDSHAKE, wire.MODERN])
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602


async def journal(serving: Child, until: str) -> None:
    """Return once a tool has noted this."""
    for turn in range(1000):
        await serving.call("journal", as_id=f"journal {turn}", date=wire.MODERN)
        if until in json.loads(await serving.text(f"journal {turn}")):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{until!r} was never noted")


@every_revision
async def test_every_revision_is_served(date: str) -> None:
    async with child() as serving:
        hello = await serving.shake_hands(date)
        assert hello.get("protocolVersion", wire.MODERN) == date
        await serving.request("tools/list", as_id=1, date=date)
        assert {tool["name"] for tool in (await serving.answer(1))["result"]["tools"]} >= {"echo", "add"}
        await serving.call("add", as_id=2, date=date, a=1, b=2)
        assert await serving.text(2) == "3"
        assert (await serving.close())[0] == 0


async def test_each_message_is_of_its_own_era() -> None:
    async with child() as serving:
        await serving.call("whoami", as_id=1, date=wire.MODERN)
        assert json.loads(await serving.text(1))["session"] is None
        await serving.shake_hands(wire.LATEST_HANDSHAKE)
        for as_id, date in enumerate([wire.LATEST_HANDSHAKE, wire.MODERN, wire.LATEST_HANDSHAKE], start=2):
            await serving.call("whoami", as_id=as_id, date=date)
            told = json.loads(await serving.text(as_id))
            assert told["revision"] == date
            assert (told["session"] is None) == (date == wire.MODERN)


@both_eras
async def test_requests_run_at_once_and_each_gets_its_answer(date: str) -> None:
    async with child() as serving:
        await serving.shake_hands(date)
        await serving.call("slow", as_id="slow", date=date, seconds=0.5, tag="slow")
        for turn in range(20):
            await serving.call("echo", as_id=turn, date=date, x=str(turn))
        answers = [await serving.message() for _ in range(21)]
    assert [each["id"] for each in answers][-1] == "slow"
    texts = {each["id"]: each["result"]["content"][0]["text"] for each in answers}
    assert texts.pop("slow") == "slow"
    assert texts == {turn: str(turn) for turn in range(20)}


@both_eras
@pytest.mark.parametrize("token", [0, "", "t"])
async def test_progress_comes_before_the_response(date: str, token: int | str) -> None:
    async with child() as serving:
        await serving.shake_hands(date)
        await serving.call("count", as_id=1, date=date, token=token, n=3, delay=0.05)
        told = [await serving.message() for _ in range(4)]
    assert [(each["params"]["progressToken"], each["params"]["progress"]) for each in told[:3]] == [
        (token, 1),
        (token, 2),
        (token, 3),
    ]
    assert told[3]["id"] == 1


async def test_the_log_level_of_a_handshake_lasts_as_long_as_the_process() -> None:
    async with child() as serving:
        date = wire.LATEST_HANDSHAKE
        await serving.shake_hands(date)
        await serving.call("count", as_id=1, date=date, n=1)
        assert (await serving.message())["id"] == 1, "a log message came that nobody has asked for"
        await serving.request("logging/setLevel", {"level": "info"}, as_id=2, date=date)
        assert (await serving.answer(2))["result"] == {}
        await serving.call("count", as_id=3, date=date, n=1)
        assert (await serving.message())["method"] == "notifications/message"
        await serving.answer(3)
        await serving.call("count", as_id=4, date=wire.MODERN, n=1)
        assert (await serving.message())["id"] == 4, "a modern request says itself what it wants to hear"


async def test_a_log_message_of_no_request_and_word_of_a_page_that_is_done_come_by_themselves() -> None:
    async with child("tests.servers.featured:server") as serving:
        date = wire.LATEST_HANDSHAKE
        await serving.shake_hands(date)
        await serving.request("logging/setLevel", {"level": "info"}, as_id=1, date=date)
        assert (await serving.answer(1))["result"] == {}
        await serving.call("whose", as_id=2, date=date)
        session = (await serving.answer(2))["result"]["content"][0]["text"]
        await serving.call("broadcast", as_id=3, date=wire.MODERN, level="error", words="by itself")
        await serving.call("visited", as_id=4, date=wire.MODERN, page="p", session=session)
        heard = [await serving.message() for _ in range(4)]
        assert {message["id"] for message in heard if "id" in message} == {3, 4}
        told = {message["method"]: message["params"] for message in heard if "method" in message}
        assert told == {
            "notifications/message": {"level": "error", "data": {"words": "by itself"}, "logger": "fleet"},
            "notifications/elicitation/complete": {"elicitationId": "p"},
        }


@pytest.mark.parametrize("asked", [*wire.LEGACY, wire.MODERN, "1999-01-01"])
async def test_every_handshake_agrees_on_the_pinned_version(asked: str) -> None:
    """Lifecycle, "Version Negotiation"."""
    async with child(MCPFLEET_HANDSHAKE_VERSION="2025-03-26") as serving:
        params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": wire.CLIENT_INFO}
        await serving.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        assert (await serving.answer(1))["result"]["protocolVersion"] == "2025-03-26"
        await serving.request("server/discover", as_id=2, date=wire.MODERN)
        assert (await serving.answer(2))["result"]["supportedVersions"] == [wire.MODERN, "2025-03-26"]
        unknown = {"_meta": {"io.modelcontextprotocol/protocolVersion": "1999-01-01"}}
        await serving.request("server/discover", unknown, as_id=3, date=wire.MODERN)
        assert (await serving.answer(3))["error"]["data"]["supported"] == [wire.MODERN, "2025-03-26"]


@both_eras
async def test_lists_have_pages_of_the_size_that_the_operator_wants(date: str) -> None:
    """Pagination, "Pagination Model"."""
    async with child(MCPFLEET_PAGE_SIZE="2") as serving:
        await serving.shake_hands(date)
        names: list[str] = []
        cursor: Json = {}
        while "nextCursor" in cursor or not names:
            params = {"cursor": cursor["nextCursor"]} if cursor else {}
            await serving.request("prompts/list", params, as_id=len(names), date=date)
            cursor = (await serving.answer(len(names)))["result"]
            assert 0 < len(cursor["prompts"]) <= 2
            names += [prompt["name"] for prompt in cursor["prompts"]]
    assert names == ["review", "greet", "media", "fails"]


async def test_a_client_has_as_long_to_answer_as_the_operator_wants() -> None:
    """Multi Round-Trip Requests, "Server Requirements (Basic Workflow)"."""
    for seconds, last in (("0.000001", -32602), ("60", None)):
        async with child("tests.servers.inquisitive:server", MCPFLEET_STATE_TTL_SECONDS=seconds) as serving:
            able: Json = {"_meta": {"io.modelcontextprotocol/clientCapabilities": {"roots": {}}}}
            params: Json = {"name": "where", "arguments": {}, **able}
            await serving.request("tools/call", params, as_id=1, date=wire.MODERN)
            asked = (await serving.answer(1))["result"]
            params["inputResponses"] = {key: {"roots": []} for key in asked["inputRequests"]}
            params["requestState"] = asked["requestState"]
            await serving.request("tools/call", params, as_id=2, date=wire.MODERN)
            assert (await serving.answer(2)).get("error", {}).get("code") == last


@both_eras
@pytest.mark.parametrize("tool", ["slow", "block"])
async def test_a_cancel_reaches_a_running_tool_and_nothing_more_is_said_of_it(date: str, tool: str) -> None:
    async with child() as serving:
        await serving.shake_hands(date)
        await serving.call(tool, as_id=7, date=date, seconds=30, tag="x")
        await journal(serving, "began x")
        await serving.notify("notifications/cancelled", {"requestId": 7})
        await journal(serving, "cancelled x")
        code, rest, _ = await serving.close()
    assert code == 0
    assert [each for each in [*serving.lines, *rest] if each.get("id") == 7] == []


@both_eras
async def test_a_cancel_right_after_its_request_is_not_lost(date: str) -> None:
    async with child() as serving:
        await serving.shake_hands(date)
        meta = {"_meta": META} if date == wire.MODERN else {}
        params = {"name": "slow", "arguments": {"seconds": 30, "tag": "x"}, **meta}
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        await serving.send_raw(json.dumps(call).encode() + b"\n" + json.dumps(cancel).encode() + b"\n")
        await serving.call("echo", as_id=8, date=date, x="after")
        assert await serving.text(8) == "after"
        code, rest, _ = await serving.close(within=5)
    assert (code, rest) == (0, [])


@both_eras
async def test_a_cancel_that_comes_too_late_or_names_nothing_changes_nothing(date: str) -> None:
    async with child() as serving:
        await serving.shake_hands(date)
        await serving.call("echo", as_id=7, date=date, x="done")
        assert await serving.text(7) == "done"
        wrong: list[object] = [7, "unknown", "8", None, {}]
        for request_id in wrong:
            await serving.notify("notifications/cancelled", {"requestId": request_id})
        await serving.call("echo", as_id=8, date=date, x="after")
        assert await serving.text(8) == "after"
        code, rest, _ = await serving.close()
    assert (code, rest) == (0, [])


async def test_a_modern_question_is_a_result_and_no_request() -> None:
    """Transports, "stdio": the server writes no requests."""
    async with child("tests.servers.inquisitive:server") as serving:
        declared: dict[str, object] = {"elicitation": {}}
        meta = {**META, "io.modelcontextprotocol/clientCapabilities": declared}
        params = {"name": "greet", "arguments": {}, "_meta": meta}
        await serving.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        assert (await serving.answer(1))["result"]["resultType"] == "input_required"
        code, rest, _ = await serving.close()
    assert (code, rest) == (0, [])
    assert [line for line in serving.lines if "method" in line] == []


async def test_standard_output_carries_nothing_but_the_protocol() -> None:
    async with child("tests.servers.noisy:server") as serving:
        await serving.call("shout", as_id=1, date=wire.MODERN, words="Grüße 🐍 \u2028")
        assert await serving.text(1) == "Grüße 🐍 \u2028"
        code, rest, errors = await serving.close()
    assert (code, rest) == (0, [])
    for words in ("at import", "Grüße 🐍", "from C", "from a child"):
        assert f"stray: {words}" in errors


async def test_standard_input_is_not_the_tools_to_read() -> None:
    async with child("tests.servers.noisy:server") as serving:
        await serving.call("read", as_id=1, date=wire.MODERN)
        assert await serving.text(1) == ""
        await serving.call("shout", as_id=2, date=wire.MODERN, words="still here")
        assert await serving.text(2) == "still here"


async def test_it_speaks_utf_8_whatever_the_locale() -> None:
    environ = {"PYTHONIOENCODING": "cp1252", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    async with child("tests.servers.noisy:server", **environ) as serving:
        await serving.call("shout", as_id=1, date=wire.MODERN, words="🐍")
        assert await serving.text(1) == "🐍"
        assert "stray: 🐍" in (await serving.close())[2]


@both_eras
async def test_lines_may_end_as_windows_ends_them(date: str) -> None:
    async with child() as serving:
        await serving.shake_hands(date)
        meta = {"_meta": META} if date == wire.MODERN else {}
        await serving.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": meta}, end=b"\r\n\r\n")
        assert "result" in await serving.answer(1)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", PARSE_ERROR),
        (b"\xff\xfe", PARSE_ERROR),
        (b"[]", INVALID_REQUEST),
        (b"1", INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":5,"method":"tools/list"}', INVALID_PARAMS),
    ],
)
async def test_a_line_that_is_no_message_is_answered_and_the_next_one_is_served(line: bytes, code: int) -> None:
    async with child() as serving:
        await serving.send_raw(line + b"\n")
        assert (await serving.message())["error"]["code"] == code
        await serving.call("echo", as_id=1, date=wire.MODERN, x="next")
        assert await serving.text(1) == "next"


async def test_a_message_of_a_megabyte_goes_in_and_out() -> None:
    async with child() as serving:
        await serving.call("echo", as_id=1, date=wire.MODERN, x="x" * 1_000_000)
        assert len(await serving.text(1)) == 1_000_000


@pytest.mark.parametrize("ended", [b"\n", b""])
async def test_a_line_that_is_too_long_is_answered_once_and_ends_the_connection(ended: bytes) -> None:
    async with child(MCPFLEET_MAX_LINE_BYTES="1000") as serving:
        await serving.call("echo", as_id=1, date=wire.MODERN, x="short")
        assert await serving.text(1) == "short"
        await serving.send_raw(b"x" * 1001 + ended)
        code, [answer], errors = await serving.ended()
    assert code == 1
    assert (answer["error"]["code"], answer["error"]["data"]) == (INVALID_REQUEST, {"reason": "line_too_long"})
    assert "1000 bytes" in errors


async def test_a_batch_is_answered_where_the_revision_has_batches() -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for date in wire.LEGACY:
        async with child() as serving:
            await serving.shake_hands(date)
            await serving.send([ping, {**ping, "id": 2}])
            answer = await serving.message()
            if date == "2025-03-26":
                assert [each["id"] for each in answer] == [1, 2]
            else:
                assert answer["error"]["code"] == INVALID_REQUEST


async def test_a_ping_is_answered_before_the_handshake_and_after_it() -> None:
    """Ping, "Behavior Requirements"; Lifecycle, "Initialization": pings alone may come first."""
    async with child() as serving:
        for as_id in (0, "ping"):
            await serving.send({"jsonrpc": "2.0", "id": as_id, "method": "ping"})
            assert await serving.message() == {"jsonrpc": "2.0", "id": as_id, "result": {}}
            await serving.shake_hands(wire.LATEST_HANDSHAKE)


async def test_what_one_request_says_of_its_sender_is_not_known_to_the_next() -> None:
    """Overview 2026-07-28, "Statelessness": nothing is inferred from what came before on the connection."""
    able: Json = {
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/logLevel": "debug",
    }
    async with child("tests.servers.inquisitive:server") as serving:
        params: Json = {"name": "greet", "arguments": {}}
        await serving.request("tools/call", {**params, "_meta": able}, as_id=1, date=wire.MODERN)
        assert (await serving.answer(1))["result"]["resultType"] == "input_required"
        await serving.request("tools/call", params, as_id=2, date=wire.MODERN)
        assert (await serving.answer(2))["error"]["code"] == -32021
        await serving.send({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params})
        assert (await serving.answer(3))["error"]["code"] == INVALID_PARAMS
    async with child() as serving:
        for meta, told in ((able, 2), ({}, 0)):
            params = {"name": "count", "arguments": {"n": 2}, "_meta": meta}
            await serving.request("tools/call", params, as_id="c", date=wire.MODERN)
            before = len(serving.lines)
            await serving.answer("c")
            assert len(serving.lines) - before - 1 == told


async def test_a_second_handshake_ends_what_the_first_began() -> None:
    async with child() as serving:
        date = wire.LATEST_HANDSHAKE
        await serving.shake_hands(date)
        await serving.call("slow", as_id=1, date=date, seconds=30, tag="x")
        await journal(serving, "began x")
        assert (await serving.shake_hands(date))["protocolVersion"] == date
        await journal(serving, "cancelled x")
        await serving.call("echo", as_id=2, date=date, x="anew")
        assert await serving.text(2) == "anew"


@both_eras
@pytest.mark.parametrize("tool", ["slow", "block"])
@pytest.mark.parametrize("how", ["close", "terminate"])
async def test_it_ends_in_seconds_whatever_runs(date: str, tool: str, how: str) -> None:
    async with child() as serving:
        await serving.shake_hands(date)
        await serving.call(tool, as_id=7, date=date, seconds=60, tag="x")
        await journal(serving, "began x")
        if how == "close":
            code, rest, _ = await serving.close(within=5)
        else:
            serving.terminate()
            code, rest, _ = await serving.ended(within=5)
    assert code == 0
    [answer] = rest
    assert (answer["id"], answer["error"]["data"]) == (7, {"reason": "server_stopped"})


@pytest.mark.parametrize("date", wire.LEGACY)
async def test_a_legacy_client_is_told_of_changes_and_of_what_it_watches(date: str) -> None:
    """Resources, "Subscriptions"; Tools, "List Changed Notification"."""
    watched = {"uri": "config://app"}
    updated = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": watched}
    async with child() as serving:
        await serving.shake_hands(date)
        for method, what, told in (
            ("subscribe", {"what": "resource", **watched}, [updated]),
            ("subscribe", {"what": "tools"}, [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]),
            ("unsubscribe", {"what": "resource", **watched}, []),
        ):
            await serving.request(f"resources/{method}", watched, as_id=1, date=date)
            assert (await serving.message())["result"] == {}
            await serving.call("announce", as_id=2, date=date, **what)
            messages = [await serving.message() for _ in range(1 + len(told))]
            assert [message for message in messages if "method" in message] == told


@pytest.mark.parametrize("date", wire.LEGACY)
async def test_a_legacy_client_is_asked_by_requests_that_are_withdrawn_with_their_call(date: str) -> None:
    """Roots, "Listing Roots"; Cancellation, "Cancellation Flow"."""
    async with child("tests.servers.inquisitive:server") as serving:
        await serving.shake_hands(date, {"roots": {}})
        await serving.call("where", as_id=1, date=date)
        asked = await serving.message()
        assert asked["method"] == "roots/list"
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///here"}]}}
        await serving.send(answer)
        assert json.loads(await serving.text(1)) == ["file:///here"]
        await serving.call("where", as_id=2, date=date)
        asked = await serving.message()
        await serving.notify("notifications/cancelled", {"requestId": 2})
        withdrawn = await serving.message()
        assert (withdrawn["method"], withdrawn["params"]["requestId"]) == ("notifications/cancelled", asked["id"])
        await serving.request("ping", as_id=3, date=date)
        assert (await serving.message())["id"] == 3


@pytest.mark.parametrize("how", ["close", "terminate"])
async def test_a_subscription_is_told_of_changes_and_ended_in_order(how: str) -> None:
    """Subscriptions, "Graceful Closure"; Cancellation: the result, and a notification of the server's own."""
    listen = {"notifications": {"toolsListChanged": True}}
    async with child() as serving:
        await serving.request("subscriptions/listen", listen, as_id="s", date=wire.MODERN)
        acknowledged = await serving.message()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        await serving.call("announce", as_id=1, date=wire.MODERN, what="tools")
        told = [await serving.message(), await serving.message()]
        [changed] = [message for message in told if "method" in message]
        assert changed["method"] == "notifications/tools/list_changed"
        assert changed["params"]["_meta"] == acknowledged["params"]["_meta"] == {SUBSCRIPTION: "s"}
        if how == "close":
            code, rest, _ = await serving.close(within=5)
        else:
            serving.terminate()
            code, rest, _ = await serving.ended(within=5)
    assert code == 0
    [result, cancelled] = rest
    assert (result["id"], result["result"]["_meta"][SUBSCRIPTION]) == ("s", "s")
    assert (cancelled["method"], cancelled["params"]) == ("notifications/cancelled", {"requestId": "s"})


async def test_a_subscription_that_its_client_cancels_is_told_nothing_more() -> None:
    """Cancellation, "Behavior Requirements": no response to the cancelled request."""
    listen = {"notifications": {"toolsListChanged": True}}
    async with child() as serving:
        await serving.request("subscriptions/listen", listen, as_id="s", date=wire.MODERN)
        await serving.message()
        await serving.notify("notifications/cancelled", {"requestId": "s"})
        await serving.call("announce", as_id=1, date=wire.MODERN, what="tools")
        assert (await serving.message())["id"] == 1
        assert await serving.close() == (0, [], "")


@pytest.mark.parametrize("how", ["close", "terminate"])
async def test_it_ends_although_a_tool_holds_the_event_loop_up(how: str) -> None:
    async with child("tests.servers.noisy:server") as serving:
        await serving.call("shout", as_id=1, date=wire.MODERN, words="ready")
        await serving.text(1)
        await serving.call("freeze", as_id=2, date=wire.MODERN, seconds=60)
        if how == "terminate":
            serving.terminate()
        await serving.close(within=10)


@pytest.mark.parametrize("frozen", [False, True])
async def test_what_its_tools_have_started_ends_with_it(frozen: bool) -> None:
    """Else a child that holds standard error would keep a client waiting that reads that to its end."""
    async with child("tests.servers.noisy:server") as serving:
        await serving.call("leave_behind", as_id=1, date=wire.MODERN, alone=False)
        left = int(await serving.text(1))
        if frozen:
            await serving.call("freeze", as_id=2, date=wire.MODERN, seconds=60)
        await serving.close(within=10)
        await asyncio.to_thread(assert_ends, left)


async def test_what_its_tools_have_started_in_a_session_of_its_own_goes_on() -> None:
    async with child("tests.servers.noisy:server") as serving:
        await serving.call("leave_behind", as_id=1, date=wire.MODERN, alone=True)
        left = int(await serving.text(1))
        try:
            transport = serving.process._transport  # type: ignore[attr-defined]  # asyncio has no other way to close one end
            transport.get_pipe_transport(2).close()
            serving.terminate()
            async with asyncio.timeout(10):
                assert await serving.process.wait() == 0
            os.kill(left, 0)
        finally:
            os.killpg(left, signal.SIGKILL)


def test_requests_from_a_file_are_answered_before_it_ends(tmp_path: Path) -> None:
    """Standard input that is no pipe, and whose last line has no end."""
    given, taken = tmp_path / "in", tmp_path / "out"
    given.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}))
    command = python(*COMMAND, "tests.servers.basic:server")
    with given.open("rb") as source, taken.open("wb") as sink:
        subprocess.run(command, stdin=source, stdout=sink, cwd=ROOT, env=environment({}), check=True, timeout=20)
    [line] = taken.read_text().splitlines()
    assert json.loads(line)["id"] == 1


async def test_a_client_that_reads_no_more_is_left() -> None:
    async with child() as serving:
        await serving.call("echo", as_id=1, date=wire.MODERN, x="heard")
        await serving.text(1)
        transport = serving.process._transport  # type: ignore[attr-defined]  # asyncio has no other way to close one end
        transport.get_pipe_transport(1).close()
        await serving.call("echo", as_id=2, date=wire.MODERN, x="unheard")
        async with asyncio.timeout(10):
            assert await serving.process.wait() == 0


@pytest.mark.parametrize(
    ("target", "environ", "words"),
    [
        ("nowhere:server", {}, "No module named 'nowhere'"),
        (None, {"MCPFLEET_MAX_LINE_BYTES": "0"}, "MAX_LINE_BYTES"),
        (None, {"MCPFLEET_HANDSHAKE_VERSION": wire.MODERN}, "HANDSHAKE_VERSION"),
    ],
)
def test_what_cannot_be_served_is_told_in_one_line(target: str | None, environ: dict[str, str], words: str) -> None:
    command = python(*COMMAND, *([] if target is None else [target]))
    ended = subprocess.run(
        command, env=environment(environ), cwd=ROOT, capture_output=True, text=True, check=False, timeout=20
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    [line] = ended.stderr.splitlines()
    assert line.startswith("mcpfleet: ")
    assert words in line


@both_eras
async def test_a_lifespan_lasts_as_long_as_the_process(date: str) -> None:
    async with child("tests.servers.hooked:server") as serving:
        await serving.shake_hands(date)
        await serving.call("lived", as_id=1, date=date)
        told = json.loads(await serving.text(1))
        assert (told["pid"], told["made"], told["entered"]) == (serving.process.pid, serving.process.pid, 1)
        code, _, errors = await serving.close()
    assert (code, errors.count("left its lifespan after 1")) == (0, 1)


@both_eras
async def test_hooks_and_notifications_of_ones_own_are_served_too(date: str) -> None:
    async with child("tests.servers.hooked:server") as serving:
        await serving.notify("acme/noted", {"word": "early"})
        await serving.shake_hands(date)
        meta = {"_meta": META} if date == wire.MODERN else {}
        await serving.notify("acme/noted", {"word": "first", **meta})
        await serving.notify("acme/noted", {"word": "fail", **meta})
        await serving.call("guarded", as_id=1, date=date, mood="warm")
        assert await serving.text(1) == f"changed by tools/call in {date}"
        await serving.call("guarded", as_id=2, date=date, mood="break")
        broken = (await serving.answer(2))["result"]
        correlation = broken["content"][0]["text"].rpartition(" ")[2]
        assert broken["isError"]
        await journal(serving, f"reported RuntimeError in tools/call guarded: {correlation}")
        await journal(serving, f"noted first in {'modern' if date == wire.MODERN else 'legacy'}")
        await journal(serving, "noted early in modern")
        await journal(serving, "acme/noted raised RuntimeError")
        code, _, errors = await serving.close()
    assert code == 0
    assert "hunter2" in errors
    assert "hunter2" not in str(serving.lines)


async def test_a_modern_cancel_passes_through_the_hooks(tmp_path: Path) -> None:
    async with child("tests.servers.hooked:server") as serving:
        await serving.notify("notifications/cancelled", {"requestId": "nobody's"})
        await journal(serving, "notifications/cancelled of None")
        assert (await serving.close())[0] == 0


async def test_a_lifespan_that_cannot_be_entered_is_told_in_one_line() -> None:
    async with child("tests.servers.hooked:server", HOOKED_REFUSES="1") as serving:
        code, said, errors = await serving.ended()
    assert (code, said) == (2, [])
    assert errors == "mcpfleet: the lifespan of 'hooked' failed: ConnectionRefusedError: no database\n"


@both_eras
async def test_nobody_is_hung_up_on_who_has_one_connection_only(date: str) -> None:
    async with child() as serving:
        await serving.shake_hands(date)
        await serving.call("part", as_id="part", date=date, token="t", turns=1)
        assert (await serving.message())["method"] == "notifications/progress"
        for turn in range(2):
            await serving.call("go_on", as_id=turn, date=date)
        assert await serving.text("part") == "back"
