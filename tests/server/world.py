"""Several processes over one store, in memory and on a real Redis, with tools and a store that obey the test."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import pytest

from mcpfleet import Context, Server
from mcpfleet.backplane.base import Backplane, Bell
from mcpfleet.backplane.intercepted import Intercepted, Verb
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.pulse import FLEET
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.backplane.rediscontrol import RedisControl
from mcpfleet.backplane.storecontrol import MemoryControl, StoreControl
from mcpfleet.errors import InDoubt, Unavailable
from mcpfleet.server.engine import Engine
from mcpfleet.server.events import EVENTS
from mcpfleet.server.policy import Policy
from tests.redis_server import SharedRedis
from tests.server.steps import Step
from tests.server.wire import DEADLINE, Node

_Result = TypeVar("_Result")

PATIENT = Policy(stream_after=60.0, spread=0.0, drain=0.2)
"""A call becomes a stream only when it says something."""
HASTY = Policy(stream_after=0.0, spread=0.0, drain=0.2)
"""A call that does not end at once becomes a stream."""


class Link:
    """One process's way to the store, which the test can cut, hold up and listen to."""

    def __init__(self) -> None:
        self.away = False
        self.lossy: str | None = None
        """Of which verbs, by `verb name`, the replies are lost: they happen, and are in doubt."""
        self.verbs: list[str] = []
        """What was asked of the store, as `verb name`."""
        self.step: Step | None = None
        """Where the process stops, if it comes there."""
        self._cut_at: str | None = None
        self._held: dict[str, asyncio.Event] = {}
        self._reached: dict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def hold(self, what: str) -> Callable[[], None]:
        """Let every verb whose `verb name` matches wait, until the returned function is called."""
        gate = self._held[what] = asyncio.Event()

        def go() -> None:
            self._held.pop(what, None)
            gate.set()

        return go

    def restore(self) -> None:
        """Let everything pass again."""
        self.away, self.lossy = False, None
        if self.step is not None:
            self.step.go()
        self._cut_at = None
        for gate in self._held.values():
            gate.set()
        self._held.clear()

    def cut_at(self, what: str) -> None:
        """Let the store be away from the first verb on whose `verb name` matches."""
        self._cut_at = what

    async def reached(self, what: str) -> None:
        """Return once a verb waits at `hold`."""
        async with asyncio.timeout(DEADLINE):
            await self._reached[what].wait()

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        told = f"{verb} {name}"
        self.verbs.append(told)
        for what, gate in [*self._held.items()]:
            if fnmatchcase(told, what):
                self._reached[what].set()
                await gate.wait()
        self.away = self.away or (self._cut_at is not None and fnmatchcase(told, self._cut_at))
        if self.away:
            raise Unavailable(told)
        result = await (act() if self.step is None else self.step.take(verb, name, act))
        if self.lossy is not None and fnmatchcase(told, self.lossy):
            raise InDoubt(told)
        return result

    def bell(self, inner: Bell, /) -> Bell:
        return inner


class Stage:
    """What the tools of a test do: they begin, wait, and are told what to do."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[str] = asyncio.Queue()
        self.cancelled: asyncio.Queue[str] = asyncio.Queue()
        self.ended: set[str] = set()
        self.contexts: dict[str, Context] = {}
        self._gates: dict[str, asyncio.Future[Any]] = {}

    def server(self) -> Server:
        """A server with these tools."""
        server = Server("stage", version="1")
        server.tool(self.held)
        server.tool(self.stubborn)
        server.tool(echo)
        server.tool(count)
        return server

    def release(self, name: str, value: str = "") -> None:
        """Let a held tool return."""
        self._gate(name).set_result(value)

    def fail(self, name: str, error: BaseException) -> None:
        """Let a held tool raise."""
        self._gate(name).set_exception(error)

    async def began(self) -> str:
        """The name of the next tool that has begun."""
        async with asyncio.timeout(DEADLINE):
            return await self.begun.get()

    async def was_cancelled(self) -> str:
        """The name of the next tool that was cancelled."""
        async with asyncio.timeout(DEADLINE):
            return await self.cancelled.get()

    async def held(self, name: str, ctx: Context) -> str:
        """Wait until the test says what to do."""
        self.contexts[name] = ctx
        self.begun.put_nowait(name)
        try:
            value: str = await self._gate(name)
        except asyncio.CancelledError:
            self.cancelled.put_nowait(name)
            raise
        finally:
            self.ended.add(name)
        return value

    async def stubborn(self, name: str, ctx: Context) -> str:
        """Wait likewise, and take no notice of being cancelled."""
        self.contexts[name] = ctx
        self.begun.put_nowait(name)
        while not self._gate(name).done():
            try:
                await asyncio.shield(self._gate(name))
            except asyncio.CancelledError:
                self.cancelled.put_nowait(name)
        self.ended.add(name)
        value: str = self._gate(name).result()
        return value

    def _gate(self, name: str) -> "asyncio.Future[Any]":
        return self._gates.setdefault(name, asyncio.get_running_loop().create_future())


def echo(x: str) -> str:
    """Return the argument."""
    return x


async def count(n: int, ctx: Context) -> int:
    """Report each number up to n."""
    for number in range(1, n + 1):
        await ctx.report_progress(number, total=n)
    return n


class World:
    """The processes of one test."""

    def __init__(self, views: Callable[[], Awaitable[Backplane]], store: Backplane, control: StoreControl[Any]) -> None:
        self.store = store
        self.control = control
        self.stage = Stage()
        self.links: dict[Node, Link] = {}
        self.view = views
        self._lives: dict[Node, tuple[asyncio.Event, asyncio.Task[None]]] = {}

    async def node(self, policy: Policy = PATIENT, server: Server | None = None) -> Node:
        """One more process, which has settled in: it is in touch with the store, and follows its events and beats."""
        link = Link()
        engine = Engine(server or self.stage.server(), Intercepted(await self.view(), link), policy)
        node = Node(engine)
        self.links[node] = link
        stop, started = asyncio.Event(), asyncio.Event()

        async def live() -> None:
            async with engine.running():
                started.set()
                await stop.wait()

        self._lives[node] = stop, asyncio.ensure_future(live())
        settled = {f"read {EVENTS}", f"read {FLEET}"}
        await eventually(lambda: started.is_set() and engine.in_touch and settled <= {*link.verbs})
        return node

    async def stop(self, node: Node) -> None:
        """Let a process end in good order."""
        stop, life = self._lives.pop(node)
        stop.set()
        await life

    async def crash(self, node: Node) -> None:
        """Let a process end without a word: from now on nothing of it reaches the store."""
        self.links[node].away = True
        _, life = self._lives.pop(node)
        life.cancel()
        await asyncio.wait([life])

    async def beat(self, *nodes: Node) -> None:
        """Let each process, in turn, say that it lives and hear who else does, which it would do in its own time."""
        for node in nodes:
            await node.engine._pulse.round()

    async def keys(self) -> set[str]:
        """The names of all that is alive in the store."""
        return set(await self.control.names())

    async def close(self) -> None:
        """End what is still under way, and every process."""
        for node, link in self.links.items():
            link.restore()
            for flight in node.flights:
                flight.peer.reading.set()
                await flight.cut()
        for node in [*self._lives]:
            await self.stop(node)


async def eventually(true: Callable[[], bool | Awaitable[bool]]) -> None:
    """Return once it is true; `TimeoutError` after the deadline. For what announces itself to nobody."""
    async with asyncio.timeout(DEADLINE):
        while True:
            found = true()
            if await found if isinstance(found, Awaitable) else found:
                return
            await asyncio.sleep(0.005)


@pytest.fixture(params=["memory", "redis"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Processes over one store, once for each backend; nothing may go wrong in a callback that nobody sees."""
    mishaps: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, mishap: mishaps.append(mishap))
    async with AsyncExitStack() as stores:
        made = await _in_memory() if request.param == "memory" else await _on_redis(request, stores)
        try:
            yield made
        finally:
            await made.close()
            loop.set_exception_handler(None)
    assert not mishaps


@pytest.fixture
async def memory() -> AsyncIterator[World]:
    """Processes over one store in memory, for what does not depend on the backend."""
    made = await _in_memory()
    try:
        yield made
    finally:
        await made.close()


async def _in_memory() -> World:
    store = MemoryStore()

    async def view() -> Backplane:
        return MemoryBackplane(store)

    return World(view, await view(), MemoryControl(store))


async def _on_redis(request: pytest.FixtureRequest, stores: AsyncExitStack) -> World:
    server: SharedRedis = request.getfixturevalue("redis_server")
    namespace: str = request.getfixturevalue("namespace")

    async def view() -> Backplane:
        return await stores.enter_async_context(RedisBackplane.at(server.url, namespace=namespace))

    backplane = await stores.enter_async_context(RedisBackplane.at(server.url, namespace=namespace))
    return World(view, backplane, RedisControl(backplane))
