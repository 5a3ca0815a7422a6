"""A process that starts misses nothing that changes meanwhile, whichever of its steps it has taken by then: it takes
positions, reads the state that goes with them, and serves all the while."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Final, NoReturn

from mcpfleet import Server
from mcpfleet.backplane.background import background
from mcpfleet.backplane.faults import MOST_STEPS, Stepped, Stop, Stuck
from mcpfleet.server.engine import Engine
from tests.server.test_switches import is_callable, switchable
from tests.server.wire import Flight, Node, Session
from tests.server.world import PATIENT, World

URI: Final = "c://d"
WATCHED: Final = {"toolsListChanged": True, "resourceSubscriptions": [URI]}
CHANGED: Final = "notifications/tools/list_changed"
UPDATED: Final = "notifications/resources/updated"
ORDERS: Final = 2
"""What could happen at the same time happens in so many orders."""

Act = Callable[[], Awaitable[object]]


class Starting:
    """A process that takes the steps of its start one by one, and the streams that are open on it."""

    def __init__(self, node: Node, steps: Stepped, order: Random) -> None:
        self.node = node
        self.streams: dict[str, Flight] = {}
        self._steps = steps
        self._order = order

    @classmethod
    @asynccontextmanager
    async def begun(cls, world: World, order: Random, session: Session) -> AsyncIterator["Starting"]:
        """One that has taken no step yet, and already serves."""
        steps = Stepped()
        engine = Engine(switchable(), steps.view(await world.view()), replace(PATIENT, gather=0.0))
        start = cls(Node(engine), steps, order)
        async with background(start._live()):
            await steps.held()
            start.streams["legacy"] = session.listen(start.node)
            await start.listen("modern")
            try:
                yield start
            finally:
                for flight in start.streams.values():
                    await flight.cut()

    async def listen(self, name: str) -> None:
        """Open a modern stream, which begins at once, whatever the process has done yet."""
        self.streams[name] = flight = self.node.modern("subscriptions/listen", {"notifications": WATCHED})
        assert await flight.message() is not None

    async def step(self) -> bool:
        """Take one step; False if there is none, but for bells that nothing has rung."""
        awake = [stop for stop in await self._steps.held() if self._is_awake(stop)]
        if awake:
            self._order.choice(awake).go()
        return bool(awake)

    async def settle(self) -> None:
        """Take all the steps that are left."""
        for _ in range(MOST_STEPS):
            if not await self.step():
                return
        raise Stuck("it goes on and on")

    async def meanwhile(self, change: Act) -> None:
        """Let something change elsewhere, right after one more stream has begun; forget what was told before."""
        await self._steps.held()
        await self.listen("modern and new")
        for flight in self.streams.values():
            while not flight.peer.arrived.empty():
                flight.peer.arrived.get_nowait()
        await change()
        self._steps.news += 1  # the bells of whatever was appended elsewhere

    async def beat(self) -> None:
        """Say that it lives, and hear who else does, which it would do in its own time."""
        async with asyncio.TaskGroup() as tasks:
            beating = tasks.create_task(self.node.engine._pulse.round())
            while not beating.done():
                await self.step()
        await self.settle()

    async def told(self, method: str) -> None:
        """Assert that every stream was told this since the change."""
        for name, flight in self.streams.items():
            while (message := await flight.message()) is not None and message["method"] != method:
                pass
            assert message is not None, f"{name} has ended"

    async def _live(self) -> NoReturn:
        async with self.node.engine.running():
            await asyncio.Event().wait()
        raise AssertionError("nobody ends it")

    def _is_awake(self, stop: Stop) -> bool:
        return stop.what != "a bell" or stop.heard < self._steps.news


async def starts(world: World, other: Node, change: Act) -> AsyncIterator[Starting]:
    """One start after the other, each with the change one step later, up to where no step is left."""
    for seed in range(ORDERS):
        moment, left = 0, True
        while left:
            session = await other.initialize()
            await session.request(other, "resources/subscribe", {"uri": URI}).got()
            async with Starting.begun(world, Random(seed), session) as start:
                for _ in range(moment):
                    left = await start.step()
                await start.meanwhile(change)
                await start.settle()
                yield start
            moment += 1
        assert moment > 20


async def test_an_update_during_the_start_is_told(world: World) -> None:
    other = await world.node(server=switchable())
    async for start in starts(world, other, lambda: other.engine.fleet.notify_resource_updated(URI)):
        await start.told(UPDATED)


async def test_a_switch_during_the_start_is_told_and_heeded(world: World) -> None:
    other = await world.node(server=switchable())
    fleet = other.engine.fleet
    async for start in starts(world, other, lambda: fleet.disable("tool", "one")):
        await start.told(CHANGED)
        assert not await is_callable(start.node, "one")
        await fleet.enable("tool", "one")


async def test_a_version_that_comes_during_the_start_is_told(world: World) -> None:
    other, came = await world.node(server=switchable()), list[Node]()

    async def come() -> None:
        came.append(await world.node(server=Server("newer", version="2")))

    async for start in starts(world, other, come):
        await world.beat(*came)
        await start.beat()
        await start.told(CHANGED)
        await world.stop(came.pop())


async def test_a_version_that_leaves_during_the_start_is_told(world: World) -> None:
    other, old = await world.node(server=switchable()), await world.node(server=Server("older", version="0"))
    leaving = old.engine._pulse.leave
    async for start in starts(world, other, leaving):
        await start.beat()
        await start.told(CHANGED)
