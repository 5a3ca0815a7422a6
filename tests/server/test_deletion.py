"""A DELETE against everything else that a session may be about: each is stopped at every step of the other.

Whatever the order, nobody hangs, what ran is cancelled, the session is gone and stays gone (transports, "Session
Management").
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, Final

import pytest

from mcpfleet import Context, Server
from tests.answer import Answer, Json
from tests.server.steps import every_step, first
from tests.server.watchable import watchable
from tests.server.wire import LEGACY, Flight, Node, Session, request
from tests.server.world import HASTY, Stage, World, eventually

AS_ID: Final = 7
SESSION: Final = re.compile("[0-9a-f]{32}")
A_DAY: Final = 86_400.0
STAR: Final = "stars://vega"


@dataclass(frozen=True, slots=True)
class Scene:
    """One session, and three processes: of what was, of what is about to be, and of the DELETE."""

    world: World
    was: Node
    here: Node
    there: Node
    session: Session
    name: str
    """Of the tool that runs, if one does."""

    @property
    def tool(self) -> Context:
        """What the tool was given that runs."""
        return self.world.stage.contexts[self.name]


@dataclass(frozen=True, slots=True)
class Rival:
    """What is about to be: how it begins, and how it is known that it has come as far as it goes by itself."""

    begin: Callable[[], Flight]
    at_rest: Callable[[Flight], Coroutine[Any, Any, object]]


Scenes = Callable[[], Awaitable[Scene]]
Prepare = Callable[[Scene], Awaitable[Rival]]


def server(stage: Stage) -> Server:
    """One whose tools are at work, and wait for an answer, until they are cancelled."""
    made = stage.server()
    made.include(watchable())

    @made.tool
    async def at_work(name: str, ctx: Context) -> str:
        await ctx.report_progress(1)
        return await stage.held(name, ctx)

    @made.tool
    async def asking(name: str, ctx: Context) -> str:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ctx.ping())
            held = tasks.create_task(stage.held(name, ctx))
        return held.result()

    return made


async def message_of(flight: Flight, method: str) -> Json:
    """The next of these messages on a stream that goes on, and so on."""
    while (message := await flight.message()) is not None:
        if message.get("method") == method:
            return message
    return await asyncio.Future()


async def answered(flight: Flight) -> None:
    await flight.got()


def one_message(send: Callable[[Scene], Flight]) -> Prepare:
    async def prepare(scene: Scene) -> Rival:
        return Rival(partial(send, scene), answered)

    return prepare


async def a_stream(scene: Scene) -> Rival:
    return Rival(partial(scene.session.listen, scene.here), partial(told_of_changes, scene))


async def a_stream_that_is_resumed(scene: Scene) -> Rival:
    flight = scene.session.listen(scene.was)
    await told_of_changes(scene, flight)
    await flight.cut()
    return Rival(partial(scene.session.listen, scene.here, flight.last_event_id), partial(told_of_changes, scene))


async def told_of_changes(scene: Scene, flight: Flight) -> None:
    await flight.event()
    await scene.was.engine.fleet.notify_tools_changed()
    await message_of(flight, "notifications/tools/list_changed")


async def a_handler(scene: Scene) -> Rival:
    begin = partial(scene.session.call, scene.here, "at_work", as_id=AS_ID, token=1, name=scene.name)
    return Rival(begin, partial(message_of, method="notifications/progress"))


async def a_call_that_is_resumed(scene: Scene) -> Rival:
    flight = scene.session.call(scene.was, "at_work", as_id=AS_ID, token=1, name=scene.name)
    await message_of(flight, "notifications/progress")
    await flight.cut()

    async def told_of_progress(flight: Flight) -> None:
        await flight.event()
        await scene.tool.report_progress(2)
        await message_of(flight, "notifications/progress")

    return Rival(partial(scene.session.listen, scene.here, flight.last_event_id), told_of_progress)


async def a_question(scene: Scene) -> Rival:
    begin = partial(scene.session.call, scene.here, "asking", as_id=AS_ID, name=scene.name)
    return Rival(begin, partial(message_of, method="ping"))


async def an_answer(scene: Scene) -> Rival:
    flight = scene.session.call(scene.was, "asking", as_id=AS_ID, name=scene.name)
    question = await message_of(flight, "ping")
    reply = {"jsonrpc": "2.0", "id": question["id"], "result": {}}
    return Rival(partial(scene.session.send, scene.here, "POST", reply), answered)


async def a_cancel(scene: Scene) -> Rival:
    await message_of((await a_handler(replace(scene, here=scene.was))).begin(), "notifications/progress")
    params = {"requestId": AS_ID}
    return Rival(partial(scene.session.notify, scene.here, "notifications/cancelled", params), answered)


RIVALS: Final[dict[str, Prepare]] = {
    "initialized": one_message(lambda scene: scene.session.notify(scene.here, "notifications/initialized")),
    "level": one_message(lambda scene: scene.session.request(scene.here, "logging/setLevel", {"level": "info"})),
    "subscription": one_message(lambda scene: scene.session.request(scene.here, "resources/subscribe", {"uri": STAR})),
    "second delete": one_message(lambda scene: scene.session.send(scene.here, "DELETE")),
    "stream": a_stream,
    "resumed stream": a_stream_that_is_resumed,
    "handler": a_handler,
    "resumed call": a_call_that_is_resumed,
    "question": a_question,
    "answer": an_answer,
    "cancel": a_cancel,
}


@pytest.fixture
async def scenes(world: World) -> Scenes:
    """Scenes with a session each, in the same three processes."""
    was, here, there = [await world.node(HASTY, server(world.stage)) for _ in range(3)]
    names = count()

    async def scene() -> Scene:
        for node in (was, here, there):
            node.flights.clear()
        return Scene(world, was, here, there, await was.initialize(), f"tool {next(names)}")

    return scene


@pytest.mark.parametrize("what", RIVALS)
async def test_a_delete_between_any_two_steps_of_anything_leaves_nothing(scenes: Scenes, what: str) -> None:
    for step in every_step():
        scene = await scenes()
        rival = await RIVALS[what](scene)
        scene.world.links[scene.here].step = step
        flight = rival.begin()
        await first(step.reached.wait(), rival.at_rest(flight))
        ending = await scene.session.end(scene.there)
        step.go()
        await judge(scene, flight, ending, str(step))
        if not step.reached.is_set():
            break
    await assert_that_it_expires(scene)


@pytest.mark.parametrize("begun", ["before it", "in its midst"])
@pytest.mark.parametrize("what", RIVALS)
async def test_a_delete_that_anything_comes_between_any_two_steps_of_leaves_nothing(
    scenes: Scenes, what: str, begun: str
) -> None:
    for step in every_step():
        scene = await scenes()
        rival = await RIVALS[what](scene)
        if begun == "before it":
            flight = rival.begin()
            await rival.at_rest(flight)
        scene.world.links[scene.there].step = step
        ending = scene.session.send(scene.there, "DELETE")
        await first(step.reached.wait(), ending.got())
        if begun == "in its midst":
            flight = rival.begin()
            await first(rival.at_rest(flight), flight.got())
        step.go()
        await judge(scene, flight, await ending.got(), str(step))
        if not step.reached.is_set():
            break
    await assert_that_it_expires(scene)


async def test_a_delete_between_any_two_steps_of_a_handshake_ends_a_session_that_is_there(world: World) -> None:
    """No client can know the id before it has the answer; one that guessed it ends either nothing or everything."""
    node, other = await world.node(), await world.node()
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {}}
    for step in every_step():
        before = await world.keys()
        world.links[node].step = step
        flight = node.send("POST", request("initialize", params))
        await first(step.reached.wait(), flight.got())
        ids = {match[0] for key in await world.keys() - before if (match := SESSION.search(key))}
        ended = [(await Session(each, LEGACY).end(other)).status for each in ids]
        step.go()
        session = Session((await flight.got()).headers["Mcp-Session-Id"], LEGACY)
        if ended != [204]:
            assert (await session.call(node, "echo", x="hi").got()).text == "hi", str(step)
            assert (await session.end(other)).status == 204
        await assert_unknown(session, node)
        assert await world.keys() == before, str(step)
        if not step.reached.is_set():
            break
    assert ended == [204]


async def judge(scene: Scene, flight: Flight, ending: Answer, step: str) -> None:
    """Whether the session has ended for everybody, and for good."""
    try:
        nodes = (scene.was, scene.here, scene.there)
        await eventually(lambda: all(each.ended for node in nodes for each in node.flights))
        got = await flight.got()
        assert [ending.status, got.status].count(204) == 1, "one DELETE has ended it, if there were two"
        assert not (got.is_stream and got.replies), "a call that was cancelled has no response"
        if scene.name in scene.world.stage.contexts:
            await eventually(lambda: scene.name in scene.world.stage.ended)
        for node in nodes:
            await assert_unknown(scene.session, node)
        await eventually(partial(only_calls_are_left, scene))
    except (AssertionError, TimeoutError) as wrong:
        raise AssertionError(f"stopped {step}: {wrong!r}") from wrong


async def assert_unknown(session: Session, node: Node) -> None:
    asked = (
        session.call(node, "echo", x="hi"),
        session.notify(node, "notifications/initialized"),
        session.listen(node),
        session.send(node, "DELETE"),
    )
    assert [(await flight.got()).status for flight in asked] == [404] * len(asked)


async def only_calls_are_left(scene: Scene) -> bool:
    """Whether nothing is left of the session, its seat included, but what its calls said; which nobody can read."""
    left = {key for key in await scene.world.keys() if scene.session.id in key or "sessions" in key}
    return all(re.search(r"\Wx/", key) for key in left)


async def assert_that_it_expires(scene: Scene) -> None:
    """Nothing keeps what is left of this session, and of those before it."""
    await scene.world.control.age(A_DAY)
    assert not [key for key in await scene.world.keys() if SESSION.search(key)]
