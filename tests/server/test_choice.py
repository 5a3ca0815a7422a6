"""Which server's offer a request is made is decided for each request."""

import asyncio
from typing import Any

import pytest

from mcpfleet import Principal, ProtocolError, Server
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.protocol.headers import Headers
from mcpfleet.server import choice
from mcpfleet.server.choice import Choice
from mcpfleet.server.dispatch import Dispatcher
from mcpfleet.server.engine import Engine
from mcpfleet.server.threads import Threads
from tests.server.wire import Node


def offering(name: str) -> Server:
    server = Server("one name for all", version="1")

    def tell() -> str:
        return name

    server.tool(name=name)(tell)
    return server


MINE, YOURS = offering("mine"), offering("yours")


def by_header(headers: Headers, _principal: Principal | None) -> Server:
    return MINE if headers.get("X-Tenant") == "me" else YOURS


async def by_principal(_headers: Headers, principal: Principal | None) -> Server:
    return MINE if principal == Principal("me") else YOURS


async def listed(node: Node, principal: Principal | None = None, **headers: Any) -> list[str]:
    got = await node.modern("tools/list", principal=principal, **headers).got()
    return [tool["name"] for tool in got.result["tools"]]


async def test_the_headers_decide() -> None:
    engine = Engine(Server("main"), MemoryBackplane(), choose=by_header)
    async with engine.running():
        node = Node(engine)
        assert await listed(node, X_Tenant="me") == ["mine"]
        assert await listed(node) == ["yours"]
        assert (await node.modern("tools/call", {"name": "mine"}, X_Tenant="me").got()).text == "mine"
        assert (await node.modern("tools/call", {"name": "mine"}).got()).error["code"] == -32602


async def test_the_principal_decides_in_sessions_too() -> None:
    engine = Engine(Server("main"), MemoryBackplane(), choose=by_principal)
    async with engine.running():
        node = Node(engine)
        for principal, name in [(Principal("me"), "mine"), (Principal("you"), "yours")]:
            session = await node.initialize(principal=principal)
            assert (await session.call(node, name).got()).text == name
            assert await listed(node, principal) == [name]


async def test_lists_of_principals_that_alternate_never_mix_on_any_process() -> None:
    """Caching, "Cache Scope": what is made for one of them says that it is for nobody else."""
    store = MemoryBackplane()
    one, other = (Engine(Server("main"), store, choose=by_principal) for _ in range(2))
    async with one.running(), other.running():
        nodes, parties = (Node(one), Node(other)), {"me": "mine", "you": "yours"}

        async def seen(turn: int) -> tuple[str, str, str]:
            subject = "me" if turn % 3 else "you"
            got = await nodes[turn % 2].modern("tools/list", principal=Principal(subject)).got()
            [tool] = got.result["tools"]
            return subject, tool["name"], got.result["cacheScope"]

        found = await asyncio.gather(*map(seen, range(60)))
    assert set(found) == {(subject, name, "private") for subject, name in parties.items()}


@pytest.mark.parametrize("raised", [ValueError("secret"), TimeoutError("secret")])
async def test_what_goes_wrong_while_choosing_fails_one_request_without_its_words(raised: Exception) -> None:
    def broken(headers: Headers, _principal: Principal | None) -> Server:
        if headers.get("X-Tenant") is None:
            raise raised
        return MINE

    engine = Engine(Server("main"), MemoryBackplane(), choose=broken)
    async with engine.running():
        node = Node(engine)
        error = (await node.modern("tools/list").got()).error
        assert error["code"] == -32603
        assert "secret" not in str(error)
        assert await listed(node, X_Tenant="me") == ["mine"]


async def test_a_choice_may_refuse_in_words_of_its_own() -> None:
    def strict(_headers: Headers, _principal: Principal | None) -> Server:
        raise ProtocolError(-32600, "Name your tenant")

    engine = Engine(Server("main"), MemoryBackplane(), choose=strict)
    async with engine.running():
        assert (await Node(engine).modern("tools/list").got()).error["message"] == "Name your tenant"


async def test_what_is_no_server_is_an_error() -> None:
    def wrong(_headers: Headers, _principal: Principal | None) -> Server:
        return None  # type: ignore[return-value]  # as a careless author does

    engine = Engine(Server("main"), MemoryBackplane(), choose=wrong)
    async with engine.running():
        assert (await Node(engine).modern("tools/list").got()).error["code"] == -32603


async def test_servers_that_are_made_anew_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "MAX_KEPT", 3)
    threads = Threads()
    made: list[Server] = []

    def make(server: Server) -> Dispatcher:
        made.append(server)
        return Dispatcher(server, threads)

    chosen = Choice(by_header, make)
    kept = offering("kept")
    for server in (kept, offering("a"), kept, offering("b"), kept, offering("c"), offering("d"), kept):
        chosen._serving(server)
    assert made.count(kept) == 1
    assert len(chosen._made) == 3
    threads.close()
