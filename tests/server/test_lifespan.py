"""What a server needs is set up before it serves, once in each process, and taken down when nothing runs any more."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import SimpleNamespace
from typing import Annotated, Any

import pytest

from mcpfleet import Context, Depends, Principal, RegistrationError, Server
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.errors import LifespanFailed
from mcpfleet.server import lifespan
from mcpfleet.server.engine import Engine
from tests.server.wire import Node
from tests.server.world import PATIENT, World


class Pool:
    """Something that is opened and closed."""

    def __init__(self) -> None:
        self.events: list[str] = []

    @asynccontextmanager
    async def opened(self, server: Server) -> AsyncIterator[dict[str, object]]:
        self.events.append(f"open {server.name}")
        yield {"pool": self}
        self.events.append("close")

    async def bare(self, _server: Server) -> AsyncIterator["Pool"]:
        self.events.append("open")
        try:
            yield self
        finally:
            self.events.append("close")


async def called(server: Server, tool: str, principal: Principal | None = None) -> str:
    """What a tool of the served server returns."""
    engine = Engine(server, MemoryBackplane())
    async with engine.running():
        return (await Node(engine).modern("tools/call", {"name": tool}, principal=principal).got()).text


@pytest.mark.parametrize("kind", ["bare", "opened"])
async def test_it_is_entered_before_the_first_request_and_left_after_the_last(kind: str) -> None:
    pool = Pool()
    server = Server("s", lifespan=getattr(pool, kind))

    @server.tool
    async def use(ctx: Context) -> list[str]:
        found: Pool = ctx.lifespan["pool"] if kind == "opened" else ctx.lifespan
        assert found is pool
        return pool.events

    assert pool.events == []
    assert "close" not in await called(server, "use")
    assert pool.events == ["open s" if kind == "opened" else "open", "close"]


async def test_every_function_finds_the_same_value_and_dependencies_do_too() -> None:
    pool = Pool()
    server = Server("s", lifespan=pool.bare)

    def connected(ctx: Context) -> Pool:
        found: Pool = ctx.lifespan
        return found

    @server.tool
    def use(found: Annotated[Pool, Depends(connected)], ctx: Context) -> bool:
        return found is pool is ctx.lifespan

    assert await called(server, "use") == "true"


async def test_without_one_there_is_none() -> None:
    server = Server("s")

    @server.tool
    async def use(ctx: Context) -> bool:
        return ctx.lifespan is None

    assert await called(server, "use") == "true"


async def test_it_outlasts_a_call_that_drains(memory: World) -> None:
    pool = Pool()
    server = memory.stage.server()
    server.lifespans.append(pool.bare)

    @server.tool
    async def linger(ctx: Context) -> None:
        memory.stage.begun.put_nowait("linger")
        try:
            await asyncio.Event().wait()
        finally:
            pool.events.append("call ended")

    node = await memory.node(PATIENT, server)
    session = await node.initialize()
    flight = session.call(node, "linger")
    await memory.stage.began()
    await memory.stop(node)
    assert (await flight.got()).reason == "server_stopped"
    assert pool.events == ["open", "call ended", "close"]


async def refuse(_server: Server) -> AsyncIterator[None]:
    raise ConnectionRefusedError("no database")
    yield


async def nothing(_server: Server) -> AsyncIterator[None]:
    empty: tuple[None, ...] = ()
    for each in empty:
        yield each


def no_context(_server: Server) -> Any:
    return 7


@pytest.mark.parametrize(
    ("failing", "words"),
    [
        (refuse, "the lifespan of 's' failed: ConnectionRefusedError: no database"),
        (nothing, "the lifespan of 's' failed: RuntimeError: generator didn't yield"),
        (no_context, "the lifespan of 's' failed: TypeError: 'int' object is not an async iterator"),
    ],
    ids=["raises", "yields nothing", "is none"],
)
async def test_one_that_fails_fails_the_start_and_what_was_set_up_before_is_taken_down(
    failing: Callable[..., Any], words: str
) -> None:
    pool = Pool()
    server, other = Server("s", lifespan=pool.bare), Server("o", lifespan=failing)
    server.include(other)
    with pytest.raises(LifespanFailed) as caught:
        async with Engine(server, MemoryBackplane()).running():
            raise AssertionError("it serves")
    assert str(caught.value) == words
    assert caught.value.__cause__ is not None
    assert pool.events == ["open", "close"]


async def test_a_start_that_takes_too_long_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifespan, "START_SECONDS", 0.01)

    async def slow(_server: Server) -> AsyncIterator[None]:
        await asyncio.Event().wait()
        yield

    with pytest.raises(LifespanFailed, match=r"'s' took more than 0\.01 s"):
        async with Engine(Server("s", lifespan=slow), MemoryBackplane()).running():
            raise AssertionError("it serves")


async def test_an_end_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifespan, "STOP_SECONDS", 0.01)

    async def stuck(_server: Server) -> AsyncIterator[None]:
        yield
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        async with Engine(Server("s", lifespan=stuck), MemoryBackplane()).running():
            pass


async def test_it_is_left_when_the_block_fails_too() -> None:
    pool = Pool()
    with pytest.raises(ZeroDivisionError):
        async with Engine(Server("s", lifespan=pool.bare), MemoryBackplane()).running():
            raise ZeroDivisionError
    assert pool.events == ["open", "close"]


def yielding(value: object, name: str, events: list[str]) -> Callable[[Server], AbstractAsyncContextManager[object]]:
    @asynccontextmanager
    async def lasting(_server: Server) -> AsyncIterator[object]:
        events.append(f"+{name}")
        yield value
        events.append(f"-{name}")

    return lasting


async def test_an_included_servers_lifespan_comes_with_it_and_what_both_yield_is_merged() -> None:
    events: list[str] = []
    server = Server("s", lifespan=yielding({"a": 1}, "outer", events))
    for prefix, other in [("x_", yielding({"b": 2}, "inner", events)), ("y_", yielding(None, "silent", events))]:
        included = Server("o", lifespan=other)

        @included.tool
        async def use(ctx: Context) -> Mapping[str, int]:
            found: Mapping[str, int] = ctx.lifespan
            return found

        server.include(included, prefix=prefix)
        server.include(included, prefix=f"again_{prefix}")
    assert await called(server, "x_use") == '{"a":1,"b":2}'
    assert events == ["+outer", "+inner", "+silent", "-silent", "-inner", "-outer"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (({"a": 1, "b": 1}, {"b": 2}), "several lifespans yield b"),
        (({"a": 1}, 7), "several lifespans must yield mappings to be merged, not a int"),
    ],
    ids=["same name", "no mapping"],
)
async def test_what_cannot_be_merged_fails_the_start(values: tuple[object, object], words: str) -> None:
    first, second = values
    server = Server("s", lifespan=yielding(first, "", []))
    server.include(Server("o", lifespan=yielding(second, "", [])))
    with pytest.raises(LifespanFailed) as caught:
        async with Engine(server, MemoryBackplane()).running():
            raise AssertionError("it serves")
    assert str(caught.value) == words


async def test_an_included_value_that_stands_alone_may_be_anything() -> None:
    server, other = Server("s"), Server("o", lifespan=yielding(7, "", []))

    @other.tool
    async def use(ctx: Context) -> bool:
        return bool(ctx.lifespan == 7)

    server.include(other)
    assert await called(server, "use") == "true"


async def awaited(_server: Server) -> None:
    """Return, and yield nothing."""


@pytest.mark.parametrize("wrong", [awaited, 7, lambda: (yield)], ids=["coroutine", "number", "generator"])
def test_a_function_that_cannot_be_a_lifespan_is_refused(wrong: Any) -> None:
    with pytest.raises(RegistrationError, match="a lifespan is an asynchronous generator"):
        Server("s", lifespan=wrong)


async def test_a_request_carries_its_own_state_which_begins_with_its_principals() -> None:
    server = Server("s")
    seen: list[SimpleNamespace] = []

    def known(ctx: Context) -> str:
        ctx.state.greeting = f"Hello, {ctx.state.user}!"
        return "known"

    @server.tool
    async def greet(ctx: Context, _known: Annotated[str, Depends(known)]) -> str:
        seen.append(ctx.state)
        return f"{ctx.state.greeting}"

    principal = Principal("ann", state={"user": "Ann"})
    for _ in range(2):
        assert await called(server, "greet", principal) == "Hello, Ann!"
    assert seen[0] is not seen[1]
    assert principal.state == {"user": "Ann"}
    assert "Ann" not in repr(principal)


async def test_without_a_principal_state_is_empty_at_first() -> None:
    server = Server("s")

    @server.tool
    async def look(ctx: Context) -> str:
        return repr(ctx.state)

    assert await called(server, "look") == "namespace()"
    assert await called(server, "look", Principal("ann")) == "namespace()"
