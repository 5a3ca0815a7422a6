"""Which era a client finds, whatever servers answer to the first request (Versioning, "Backward Compatibility")."""

from collections.abc import AsyncGenerator
from typing import Final

import pytest

from mcpfleet.client.client import Client
from mcpfleet.client.erasknown import ErasKnown
from mcpfleet.errors import HttpRefused, NegotiationFailed, Unreachable
from tests.client.scripted import Got, Json, answered, called, discovered, error, initialized, result, scripted
from tests.redis_server import free_port
from tests.wire import LATEST_HANDSHAKE, MODERN

ACCEPTED: Final = answered(b"", 202)


def legacy(got: Got) -> bytes:
    """What a legacy server says to what it knows."""
    match got.rpc:
        case "initialize":
            return answered(initialized(got), Mcp_Session_Id="s1")
        case "tools/call":
            return answered(called(got, "legacy"))
        case "":
            return answered(b"", 405)
    return ACCEPTED


UNFORESEEN: Final[dict[str, tuple[int, int | None]]] = {
    "400 and nothing": (400, None),
    "400 and -32600": (400, -32600),
    "400 and -32000": (400, -32000),
    "400 and -32601": (400, -32601),
    "404 and nothing": (404, None),
    "404 and -32601": (404, -32601),
    "405": (405, None),
    "200 and -32601": (200, -32601),
    "200 and -32602": (200, -32602),
}


@pytest.mark.parametrize(("status", "code"), UNFORESEEN.values(), ids=UNFORESEEN.keys())
async def test_a_legacy_server_is_found_however_it_says_that_it_knows_no_better(status: int, code: int | None) -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        if got.rpc == "server/discover":
            yield answered(b"" if code is None else error(got, code), status)
        else:
            yield legacy(got)

    async with scripted(play) as server, Client(server.url) as client:
        assert client.protocol_version == LATEST_HANDSHAKE
        assert (await client.call_tool("x")).content
    assert len(server.asked("server/discover")) == 1
    assert len(server.asked("initialize")) == 1
    [call] = server.asked("tools/call")
    assert call.headers["mcp-session-id"] == "s1"
    assert call.headers["mcp-protocol-version"] == LATEST_HANDSHAKE
    assert server.requests[-1].method == "DELETE"


async def test_a_server_that_refuses_the_very_version_it_names_is_asked_again() -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        if len(server.requests) == 1:
            yield answered(error(got, -32022, data={"supported": [MODERN], "requested": MODERN}), 400)
        else:
            yield answered(discovered(got, MODERN))

    async with scripted(play) as server, Client(server.url) as client:
        assert client.protocol_version == MODERN
    assert len(server.requests) == 2


async def test_a_server_that_refuses_it_again_and_again_is_given_up() -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        yield answered(error(got, -32022, data={"supported": [MODERN]}), 400)

    async with scripted(play) as server:
        with pytest.raises(NegotiationFailed):
            async with Client(server.url):
                pass
    assert len(server.requests) == 3


async def test_a_modern_server_with_a_legacy_version_in_common_is_spoken_to_in_that() -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        if got.rpc == "server/discover":
            yield answered(error(got, -32022, data={"supported": ["2099-01-01", LATEST_HANDSHAKE]}), 400)
        else:
            yield legacy(got)

    async with scripted(play) as server, Client(server.url) as client:
        assert client.protocol_version == LATEST_HANDSHAKE


@pytest.mark.parametrize("data", [{"supported": ["2099-01-01"]}, {"supported": "x"}, {}, None], ids=repr)
async def test_a_modern_server_with_no_version_in_common_is_no_legacy_server(data: Json | None) -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        yield answered(error(got, -32022, data=data), 400)

    async with scripted(play) as server:
        with pytest.raises(NegotiationFailed):
            async with Client(server.url):
                pass
    assert server.asked("initialize") == []


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
async def test_a_server_that_is_down_or_wants_credentials_is_not_taken_for_a_legacy_one(status: int) -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        yield answered(b"<html>", status, media_type="text/html")

    async with scripted(play) as server:
        with pytest.raises(HttpRefused) as refused:
            async with Client(server.url):
                pass
    assert refused.value.status == status
    assert server.asked("initialize") == []


async def test_where_nobody_listens_the_server_is_unreachable() -> None:
    with pytest.raises(Unreachable):
        async with Client(f"http://127.0.0.1:{free_port()}/mcp"):
            pass


async def test_a_mode_is_kept_to() -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        yield answered(b"", 400) if got.rpc == "server/discover" else legacy(got)

    async with scripted(play) as server:
        with pytest.raises(NegotiationFailed):
            async with Client(server.url, mode="modern"):
                pass
        assert server.asked("initialize") == []
        async with Client(server.url, mode="2025-06-18") as client:
            assert client.protocol_version == LATEST_HANDSHAKE
    [handshake] = server.asked("initialize")
    assert handshake.message["params"]["protocolVersion"] == "2025-06-18"
    with pytest.raises(ValueError, match="a mode is"):
        Client("http://127.0.0.1/mcp", mode="2025-06-19")


async def test_a_handshake_that_comes_to_a_version_which_is_not_spoken_here_fails() -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        yield answered(initialized(got, "2099-01-01"))

    async with scripted(play) as server:
        with pytest.raises(NegotiationFailed, match="2099-01-01"):
            async with Client(server.url, mode="legacy"):
                pass


async def test_what_was_found_is_remembered_for_a_while() -> None:
    now = 0.0
    eras = ErasKnown(seconds=60, clock=lambda: now)

    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        yield answered(b"", 404) if got.rpc == "server/discover" else legacy(got)

    async with scripted(play) as server:
        for _ in range(3):
            async with Client(server.url, eras=eras):
                pass
        assert len(server.asked("server/discover")) == 1
        now = 61.0
        async with Client(server.url, eras=eras):
            pass
    assert len(server.asked("server/discover")) == 2


async def test_behind_a_balancer_over_old_and_new_servers_every_call_is_answered() -> None:
    """A new server answers first; the old one, which then gets the calls, has run none of those that it refused."""
    turn = 0

    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        nonlocal turn
        turn += 1
        knows_both = turn % 2 == 1
        is_modern = got.headers.get("mcp-protocol-version") == MODERN
        if is_modern and not knows_both:
            yield answered(error(got, -32600, "Bad Request: Missing session ID"), 400)
        elif got.rpc == "server/discover":
            yield answered(discovered(got, MODERN, LATEST_HANDSHAKE))
        elif is_modern:
            yield answered(called(got, "modern"))
        else:
            yield legacy(got)

    async with scripted(play) as server, Client(server.url) as client:
        assert client.protocol_version == MODERN
        for _ in range(6):
            assert (await client.call_tool("x")).content
        assert client.protocol_version == LATEST_HANDSHAKE
    answers = [call for call in server.asked("tools/call") if call.headers["mcp-protocol-version"] != MODERN]
    assert len(answers) == 6


async def test_an_answer_that_names_no_version_is_refused() -> None:
    async def play(got: Got) -> AsyncGenerator[bytes, None]:
        yield answered(result(got, {"capabilities": {}}))

    async with scripted(play) as server:
        with pytest.raises(Exception, match="server/discover"):
            async with Client(server.url):
                pass
