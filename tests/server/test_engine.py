"""The engine of one process: its boundary, its life, and its end."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from mcpfleet.backplane.base import Backplane, Bell
from mcpfleet.backplane.intercepted import Intercepted, Verb
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.backplane.pulse import FLEET, Beat
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.backplane.stored import unpack
from mcpfleet.server.engine import Engine
from tests.redis_server import RedisServer
from tests.server.wire import Node
from tests.server.world import PATIENT, Stage, World, eventually

_Result = TypeVar("_Result")
SECRET = "postgres://admin:hunter2@db"


class Broken:
    """An interceptor whose `broken` verbs raise what no backplane may raise."""

    def __init__(self) -> None:
        self.broken = ""

    def view(self, inner: Backplane) -> Backplane:
        return Intercepted(inner, self)

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        if self.broken and self.broken in f"{verb} {name}":
            raise ZeroDivisionError(SECRET)
        return await act()

    def bell(self, inner: Bell, /) -> Bell:
        return inner


async def test_an_unforeseen_error_fails_one_request_and_its_words_stay_here(caplog: pytest.LogCaptureFixture) -> None:
    broken, stage = Broken(), Stage()
    engine = Engine(stage.server(), broken.view(MemoryBackplane()), PATIENT)
    async with engine.running():
        node = Node(engine)
        session = await node.initialize()
        broken.broken = "/session"
        got = await session.call(node, "echo", x="hi", as_id="mine").got()
        assert (got.status, got.error["code"], got.error["message"], got.reply["id"]) == (
            500,
            -32603,
            "Internal error",
            "mine",
        )
        assert SECRET not in json.dumps(got.messages)
        assert SECRET in caplog.text
        assert got.error["data"]["correlationId"] in caplog.text
        broken.broken = ""
        assert (await session.call(node, "echo", x="hi").got()).text == "hi"


async def test_an_unforeseen_error_in_a_call_ends_that_call_alone(caplog: pytest.LogCaptureFixture) -> None:
    broken, stage = Broken(), Stage()
    engine = Engine(stage.server(), broken.view(MemoryBackplane()), replace(PATIENT, stream_after=0.0))
    async with engine.running():
        node = Node(engine)
        session = await node.initialize()
        other = session.call(node, "held", name="other", as_id=2)
        await stage.began()
        await other.begun()
        broken.broken = "/record"
        got = await session.call(node, "held", name="a", as_id=1).got()
        assert (got.reason, got.reply["id"]) == ("server_stopped", 1)
        assert SECRET not in json.dumps(got.messages)
        assert SECRET in caplog.text
        broken.broken = ""
        stage.release("other", "goes on")
        assert (await other.got()).text == "goes on"


async def test_a_stream_that_an_unforeseen_error_cuts_off_just_ends_and_can_be_taken_up_again() -> None:
    broken, stage = Broken(), Stage()
    engine = Engine(stage.server(), broken.view(MemoryBackplane()), PATIENT)
    async with engine.running():
        node = Node(engine)
        session = await node.initialize()
        flight = session.call(node, "held", name="a", token=1)
        await stage.began()
        await stage.contexts["a"].report_progress(1)
        await flight.message()
        await flight.cut()
        again = session.listen(node, flight.last_event_id)
        broken.broken = "read"
        await session.cancel(node, "wakes the readers")
        got = await again.got()
        assert (got.status, got.messages) == (200, [])
        broken.broken = ""
        stage.release("a", "result")
        assert (await session.listen(node, flight.last_event_id).got()).text == "result"


@pytest.mark.parametrize("part", ["put keepers/", f"append {FLEET}", "open events/all"])
async def test_a_part_that_dies_ends_the_life_of_the_engine_with_its_error(part: str) -> None:
    broken = Broken()
    engine = Engine(Stage().server(), broken.view(MemoryBackplane()), replace(PATIENT, lease=0.03))
    broken.broken = part

    async def life() -> None:
        async with engine.running():
            await engine._pulse.round()
            await asyncio.Event().wait()

    with pytest.raises(ExceptionGroup) as raised:
        await life()
    assert raised.group_contains(ZeroDivisionError)


async def test_an_error_in_the_block_leaves_as_it_is_and_waits_for_no_call() -> None:
    stage = Stage()
    engine = Engine(stage.server(), MemoryBackplane(), replace(PATIENT, drain=3600.0))
    node = Node(engine)

    async def life() -> None:
        async with engine.running():
            session = await node.initialize()
            session.call(node, "held", name="a")
            await stage.began()
            raise KeyError

    with pytest.raises(KeyError):
        await life()
    got = await node.flights[-1].got()
    assert got.reason == "server_stopped"
    assert await stage.was_cancelled() == "a"


async def test_a_process_that_ends_tells_the_fleet_so(world: World) -> None:
    node, other = await world.node(), await world.node()
    await world.stop(node)
    position = await world.store.open(FLEET, ttl=60)
    assert position.offset >= 3
    await world.beat(other)
    assert [beat.process for beat in other.engine._pulse.members] == [other.engine.id]


async def test_an_engine_that_has_nothing_to_do_ends_at_once_whatever_time_it_has_to_drain() -> None:
    engine = Engine(Stage().server(), MemoryBackplane(), replace(PATIENT, drain=3600.0))
    async with asyncio.timeout(10), engine.running():
        pass


async def test_draining_twice_is_draining_once(world: World) -> None:
    node = await world.node()
    assert not node.engine.draining
    node.engine.drain()
    node.engine.drain()
    assert node.engine.draining


async def test_an_outage_is_no_deafness_and_contact_is_found_again(world: World) -> None:
    node = await world.node(replace(PATIENT, lease=0.3))
    world.links[node].away = True
    await eventually(lambda: not node.engine.in_touch)
    assert node.engine.hears
    world.links[node].away = False
    await eventually(lambda: node.engine.in_touch)


async def test_an_outage_is_not_told_in_the_log_by_every_request(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    node = await world.node()
    session = await node.initialize()
    world.links[node].away = True
    for _ in range(5):
        assert (await session.call(node, "echo", x="hi").got()).status == 503
    assert [record for record in caplog.records if record.name == "mcpfleet.engine"] == []


async def test_while_redis_is_frozen_or_gone_what_needs_no_store_is_served_and_the_rest_refused_until_it_is_back(
    own_redis: RedisServer,
) -> None:
    async with RedisBackplane.at(own_redis.url, namespace="test", command_timeout=0.2) as backplane:
        engine = Engine(Stage().server(), backplane, PATIENT)
        async with engine.running():
            node = Node(engine)
            session = await node.initialize()

            async def served() -> bool:
                return (await session.call(node, "echo", x="hi").got()).status == 200

            for take_away, give_back in ((own_redis.freeze, own_redis.thaw), (own_redis.kill, own_redis.start)):
                assert await served()
                take_away()
                for _ in range(3):
                    got = await session.call(node, "echo", x="hi").got()
                    assert (got.status, got.headers["Retry-After"], got.reason) == (503, "1", "store_unavailable")
                    modern = await node.modern("tools/call", {"name": "echo", "arguments": {"x": "hi"}}).got()
                    assert modern.text == "hi"
                give_back()
                await eventually(served)


async def test_a_beat_says_how_many_calls_run(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    session.call(node, "held", name="a")
    await world.stage.began()
    assert node.engine.calls == 1
    position = await world.store.open(FLEET, ttl=60)
    await world.beat(node)
    (entry,) = await world.store.read(FLEET, after=position)
    beat = unpack(Beat, entry.data)
    assert (beat.process, beat.load, beat.version) == (node.engine.id, 1.0, "1")


async def test_engines_have_ids_of_their_own() -> None:
    made = [Engine(Stage().server(), MemoryBackplane()) for _ in range(2)]
    assert made[0].id != made[1].id


async def test_two_engines_without_a_store_in_common_know_nothing_of_each_other() -> None:
    stage = Stage()
    one, two = (Engine(stage.server(), MemoryBackplane(), PATIENT) for _ in range(2))
    async with one.running(), two.running():
        session = await Node(one).initialize()
        assert (await session.call(Node(two), "echo", x="hi").got()).status == 404
        await one.fleet.notify_tools_changed()


async def test_a_request_before_the_engine_runs_is_refused() -> None:
    engine = Engine(Stage().server(), MemoryBackplane(), PATIENT)
    node = Node(engine)
    session = await node.initialize()
    assert (await session.call(node, "echo", x="hi").got()).status == 503


async def test_nothing_of_ours_runs_on_after_the_end(memory: World) -> None:
    before = asyncio.all_tasks()
    node = await memory.node()
    session = await node.initialize()
    session.call(node, "held", name="a", token=1)
    await memory.stage.began()
    await session.listen(node).begun()
    await memory.close()
    left = asyncio.all_tasks() - before
    await eventually(lambda: all(task.done() for task in left))
