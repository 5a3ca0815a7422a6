"""Sessions behind a balancer that sends no two requests in a row to one process ("Transports", "Session Management").

Every process count and every legacy revision; what is said of A, B and C is said by the balancer's turns.
"""

import asyncio
import re

import pytest

from tests.fleets import Fleet, Shape
from tests.wire import CLIENT_INFO, LATEST_HANDSHAKE, LEGACY, MODERN, Client, connected

THREE = pytest.mark.parametrize("fleet", [Shape("redis", 3)], indirect=True, ids=str)
every_legacy = pytest.mark.parametrize("date", LEGACY)


@every_legacy
async def test_each_step_of_a_session_may_be_served_by_another_process(fleet: Fleet, date: str) -> None:
    """Transports, "Session Management": the id is all that ties requests together."""
    async with Client(fleet.url, date) as client:
        steps = [
            await client.initialize(),
            await client.notify("notifications/initialized"),
            await client.request("tools/list", as_id=2),
            await client.call("echo", as_id=3, x="hi"),
        ]
    assert [step.status for step in steps] == [200, 202, 200, 200]
    assert {tool["name"] for tool in steps[2].result["tools"]} >= {"echo", "slow"}
    assert steps[3].text == "hi"
    assert len({step.process for step in steps}) == len(fleet.processes)


@every_legacy
async def test_a_session_id_is_long_visible_ascii_that_nobody_has_had_before(fleet: Fleet, date: str) -> None:
    """Transports, "Session Management": visible ASCII, and too random to be guessed."""
    ids: list[str] = []
    for _ in range(6):
        async with Client(fleet.url, date) as client:
            ids.append((await client.initialize()).headers["Mcp-Session-Id"])
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[!-~]{32,}", session_id) for session_id in ids)


@every_legacy
async def test_a_get_is_answered_with_an_event_stream(fleet: Fleet, date: str) -> None:
    """Transports, "Listening for Messages from the Server"; the same path takes POST."""
    async with connected(fleet.url, date) as client:
        for pin in range(len(fleet.processes)):
            async with client.listening(pin=pin) as stream:
                assert (stream.status, stream.headers["Content-Type"]) == (200, "text/event-stream")


@every_legacy
async def test_a_session_is_served_although_initialized_never_comes(fleet: Fleet, date: str) -> None:
    """Lifecycle, "Initialization": the notification may be lost on its way, so nothing may depend on it."""
    async with Client(fleet.url, date) as client:
        await client.initialize()
        for turn in range(6):
            assert (await client.call("echo", as_id=turn, x=str(turn))).text == str(turn)


@every_legacy
async def test_a_late_initialized_notification_is_accepted(fleet: Fleet, date: str) -> None:
    """Lifecycle, "Initialization"."""
    async with Client(fleet.url, date) as client:
        await client.initialize()
        assert (await client.request("tools/list", as_id=2)).status == 200
        assert (await client.notify("notifications/initialized")).status == 202
        assert (await client.request("tools/list", as_id=3)).status == 200


@every_legacy
async def test_initialized_may_come_together_with_the_first_requests(fleet: Fleet, date: str) -> None:
    """Lifecycle, "Initialization": over several connections there is no order between them."""
    async with Client(fleet.url, date) as client:
        await client.initialize()
        answers = await asyncio.gather(
            client.call("echo", as_id=2, x="before"),
            client.notify("notifications/initialized"),
            client.request("tools/list", as_id=3),
            client.request("ping", as_id=4),
        )
    assert [answer.status for answer in answers] == [200, 202, 200, 200]
    assert answers[3].result == {}


@every_legacy
async def test_many_sessions_at_once_do_not_meet(fleet: Fleet, date: str) -> None:
    """Transports, "Session Management": a tool sees the session that called it, and no other."""

    async def one(url: str) -> tuple[str | None, list[object]]:
        async with connected(url, date) as client:
            answers = await asyncio.gather(*(client.call("whoami", as_id=turn) for turn in range(4)))
            return client.session_id, [answer.value["session"] for answer in answers]

    seen = await asyncio.gather(*(one(fleet.url) for _ in range(8)))
    assert len({session for session, _ in seen}) == len(seen)
    assert all(told == [session] * 4 for session, told in seen)


@every_legacy
async def test_a_deleted_session_is_gone_at_once_for_every_request_on_every_process(fleet: Fleet, date: str) -> None:
    """Transports, "Session Management": 404 to all that come with the id after the DELETE was answered."""
    async with connected(fleet.url, date) as client:
        assert (await client.end()).status in (200, 204)
        for process in range(len(fleet.processes)):
            late = [
                await client.call("echo", as_id=7, pin=process, x="late"),
                await client.notify("notifications/initialized", pin=process),
                await client.end(pin=process),
            ]
            async with client.listening(pin=process) as stream:
                late.append(await stream.answer())
            assert [answer.status for answer in late] == [404] * 4
            assert late[0].reply["id"] == 7
            assert {answer.error["data"]["reason"] for answer in late} == {"session_not_found"}


@THREE
async def test_of_many_deletes_at_once_none_fails_and_one_ends_the_session(fleet: Fleet) -> None:
    """Transports, "Session Management": only one can have found a session to end."""
    async with connected(fleet.url, LATEST_HANDSHAKE) as client:
        answers = await asyncio.gather(*(client.end() for _ in range(6)))
    statuses = sorted(answer.status for answer in answers)
    assert statuses == [204, 404, 404, 404, 404, 404]


@every_legacy
async def test_the_requested_version_is_agreed_if_it_is_a_legacy_one(fleet: Fleet, date: str) -> None:
    """Lifecycle, "Version Negotiation": a version that the server supports is answered with the same."""
    async with Client(fleet.url, date) as client:
        assert (await client.initialize()).result["protocolVersion"] == date
        assert (await client.call("whoami")).value["revision"] == date


@pytest.mark.parametrize("requested", ["1999-12-31", "2099-01-01", "latest", "", MODERN, "2025-11-25 "])
async def test_any_other_version_is_answered_with_the_latest_legacy_one(fleet: Fleet, requested: str) -> None:
    """Lifecycle, "Version Negotiation": otherwise another version that it supports, which should be the latest; the
    modern one has no handshake, so it is never agreed in one."""
    async with Client(fleet.url, LATEST_HANDSHAKE) as client:
        answer = await client.initialize(requested)
        assert answer.result["protocolVersion"] == LATEST_HANDSHAKE
        assert (await client.call("echo", x="served")).text == "served"


@every_legacy
async def test_the_handshake_says_who_serves_and_what_it_can_do(fleet: Fleet, date: str) -> None:
    """Lifecycle, "Capability Negotiation"."""
    async with Client(fleet.url, date) as client:
        result = (await client.initialize()).result
    assert result["serverInfo"] == {"name": "basic", "version": "1.0.0"}
    assert result["capabilities"] == {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "logging": {},
        **({} if date == "2024-11-05" else {"completions": {}}),
    }
    assert result["instructions"] == "Tools for tests."


@every_legacy
async def test_a_session_agrees_on_one_revision_whatever_a_later_header_says(fleet: Fleet, date: str) -> None:
    """Transports, "Protocol Version Header": a server that knows the version otherwise may rely on that."""
    async with connected(fleet.url, date) as client:
        other = "2025-06-18" if date != "2025-06-18" else "2025-11-25"
        answer = await client.request("tools/call", {"name": "whoami"}, headers={"MCP-Protocol-Version": other})
        assert answer.value["revision"] == date


async def test_an_unknown_session_and_one_that_is_no_id_of_ours_are_told_alike(fleet: Fleet) -> None:
    """Transports, "Session Management": 404, so that the client starts over."""
    async with Client(fleet.url, LATEST_HANDSHAKE) as client:
        for unknown in ("0" * 32, "f" * 32, "not-ours", "*", "{}", "../x"):
            client.session_id = unknown
            answer = await client.call("echo", as_id="x", x="nobody")
            assert (answer.status, answer.error["code"], answer.reply["id"]) == (404, -32600, "x")
            assert "Mcp-Session-Id" not in answer.headers


@pytest.mark.parametrize("date", LEGACY)
async def test_a_client_may_say_anything_of_itself_that_json_can_carry(fleet: Fleet, date: str) -> None:
    """Lifecycle, "Initialization": `clientInfo` and `experimental` are open, and an integer in them has any size."""
    capabilities = {"experimental": {"ä\u2028": {"deep": [10**40, -(2**70), 1e300, None, ""]}}}
    params = {"protocolVersion": date, "capabilities": capabilities, "clientInfo": {**CLIENT_INFO, "build": 2**64}}
    async with Client(fleet.url, date) as client:
        answer = await client.request("initialize", params, as_id=2**64)
        assert answer.reply["id"] == 2**64
        client.session_id = answer.headers["Mcp-Session-Id"]
        assert (await client.call("echo", x="known")).text == "known"
