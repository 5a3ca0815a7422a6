"""Sessions live in the store: any process serves them, and they end everywhere (transports, "Session Management")."""

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import msgspec
import pytest

from mcpfleet import Principal
from mcpfleet.backplane.base import Backplane
from mcpfleet.backplane.faults import Died, Doubtful, Fate, interleavings, shuffles
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.stored import pack
from mcpfleet.errors import Unavailable
from mcpfleet.protocol.revisions import LATEST_LEGACY
from mcpfleet.server.auth import ANYONE
from mcpfleet.server.events import EVENTS, Events
from mcpfleet.server.policy import Policy
from mcpfleet.server.process import Process
from mcpfleet.server.sessions import MAX_CLIENT_BYTES, UNCONFIRMED_SECONDS, Full, Record, Session, Sessions
from mcpfleet.server.subscriptions import Subscriptions
from tests.clock import Clock
from tests.server import wire
from tests.server.wire import Flight, Node, request
from tests.server.world import PATIENT, World, eventually

BRIEF = replace(PATIENT, session_idle=1.0)
"""Sessions expire soon, in less time than it takes a process to renew its leases."""


def on(backplane: Backplane, policy: Policy = PATIENT, clock: Callable[[], float] = time.time) -> Sessions:
    """The sessions of a process on this view of a store, whose ids can be told in advance."""
    numbers = count(1)
    process = Process(backplane, Keeper(backplane), policy)
    return Sessions(process, clock=clock, new_id=lambda: f"{next(numbers):032x}")


async def created(sessions: Sessions) -> Session:
    session = await sessions.create(ANYONE, LATEST_LEGACY, {"name": "c"}, {})
    assert isinstance(session, Session)
    return session


def with_level(level: str) -> Callable[[Record], Record]:
    return lambda record: msgspec.structs.replace(record, log_level=level)


async def test_a_session_begun_on_one_process_is_served_by_every_other_until_it_is_ended_on_any(world: World) -> None:
    nodes = [await world.node() for _ in range(3)]
    session = await nodes[0].initialize()
    assert (await session.notify(nodes[1], "notifications/initialized").got()).status == 202
    for node in nodes:
        assert (await session.call(node, "echo", x="hi").got()).text == "hi"
    assert (await session.end(nodes[2])).status == 204
    for node in nodes:
        got = await session.call(node, "echo", x="hi", as_id="mine").got()
        assert (got.status, got.reason, got.reply["id"]) == (404, "session_not_found", "mine")
    assert (await session.end(nodes[0])).status == 404


async def test_a_session_is_served_whether_or_not_its_client_says_that_it_is_initialized(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    assert (await session.call(node, "echo", x="hi").got()).text == "hi"
    assert (await session.notify(node, "notifications/initialized").got()).status == 202


async def test_an_ended_session_leaves_nothing_that_lives_for_long(world: World) -> None:
    node = await world.node()
    before = await world.keys()
    session = await node.initialize()
    await session.call(node, "echo", x="hi").got()
    await session.end(node)
    left = {key for key in await world.keys() - before if "live" not in key}
    assert left == set()


async def test_another_party_finds_no_session_and_cannot_tell_it_from_one_that_never_was(world: World) -> None:
    node = await world.node()
    owner, stranger = Principal("ada", issuer="https://a"), Principal("ada", issuer="https://b")
    session = await node.initialize(principal=owner)
    mine = replace(session, principal=replace(owner, claims={"scope": "renewed"}))
    assert (await mine.call(node, "echo", x="hi").got()).text == "hi"
    stolen = replace(session, principal=stranger)
    unknown = replace(stolen, id="f" * 32)
    asked: tuple[Callable[[wire.Session], Flight], ...] = (
        lambda session: session.call(node, "echo", x="hi"),
        lambda session: session.listen(node),
        lambda session: session.notify(node, "notifications/cancelled", {"requestId": 1}),
        lambda session: session.send(node, "DELETE"),
    )
    for ask in asked:
        refused, absent = await ask(stolen).got(), await ask(unknown).got()
        assert (refused.status, refused.body) == (404, absent.body)
        assert refused.headers == absent.headers
    assert (await mine.call(node, "echo", x="still mine").got()).text == "still mine"


async def test_a_session_without_authentication_and_one_with_it_are_strangers(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    assert (await replace(session, principal=Principal("ada")).call(node, "echo", x="hi").got()).status == 404


@pytest.mark.parametrize("session_id", ["f" * 32, "F" * 32, "short", "0" * 256, "sessions", "events", "a/b", "%00"])
async def test_an_unknown_session_id_is_404_and_creates_nothing(memory: World, session_id: str) -> None:
    node = await memory.node()
    before = await memory.keys()
    for method, body in (("POST", request("tools/list")), ("GET", b""), ("DELETE", b"")):
        got = await node.send(method, body, Mcp_Session_Id=session_id).got()
        assert got.status == 404
    assert await memory.keys() == before


async def test_what_a_client_says_of_itself_is_kept_whatever_numbers_it_has(world: World) -> None:
    node, other = await world.node(), await world.node()
    capabilities = {"experimental": {"big": 2**80, "negative": -(2**70), "float": 0.5, "null": None}}
    session = await node.initialize(capabilities=capabilities)
    flight = session.call(other, "held", name="a")
    await world.stage.began()
    assert world.stage.contexts["a"].client_capabilities == capabilities
    assert world.stage.contexts["a"].client_info == {"name": "wire", "version": "1"}
    world.stage.release("a")
    await flight.got()


async def test_a_client_that_says_too_much_of_itself_is_refused_and_nothing_is_created(world: World) -> None:
    node = await world.node()
    before = await world.keys()
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"experimental": {"x": "x" * MAX_CLIENT_BYTES}},
        "clientInfo": {},
    }
    got = await node.send("POST", request("initialize", params, 7)).got()
    assert (got.status, got.error["code"], got.reply["id"]) == (400, -32602, 7)
    assert "Mcp-Session-Id" not in got.headers
    assert await world.keys() == before


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2026-07-28", "2025-11-25"), ("1999", "2025-11-25")],
)
async def test_a_session_speaks_the_revision_that_was_agreed(memory: World, asked: str, agreed: str) -> None:
    node, other = await memory.node(), await memory.node()
    session = await node.initialize(asked)
    assert session.date == agreed
    flight = session.call(other, "held", name="a")
    await memory.stage.began()
    assert memory.stage.contexts["a"].protocol_version == agreed
    memory.stage.release("a")
    await flight.got()


async def test_a_session_that_nobody_uses_expires(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    await session.call(node, "echo", x="hi").got()
    await world.control.age(PATIENT.session_idle + 1)
    assert (await session.call(node, "echo", x="hi").got()).status == 404
    assert (await session.listen(node).got()).status == 404
    assert (await session.send(node, "DELETE").got()).status == 404


async def test_every_use_renews_a_session(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    for _ in range(3):
        await session.call(other, "echo", x="hi").got()
        await world.control.age(PATIENT.session_idle - 10)
    assert (await session.call(node, "echo", x="hi").got()).text == "hi"


async def test_a_session_that_was_never_used_expires_soon(world: World) -> None:
    node = await world.node()
    session = await node.initialize()
    await world.control.age(UNCONFIRMED_SECONDS + 1)
    assert (await session.call(node, "echo", x="hi").got()).status == 404


@pytest.mark.parametrize("held_by", ["a running call", "an open stream"])
async def test_a_session_outlives_its_idle_time_while_it_is_held(world: World, held_by: str) -> None:
    """For twice as long, with nothing but what its process does to keep it."""
    node = await world.node(BRIEF)
    session = await node.initialize()
    if held_by == "a running call":
        session.call(node, "held", name="a")
        await world.stage.began()
    else:
        await session.listen(node).begun()
    over = time.monotonic() + 2 * BRIEF.session_idle
    await eventually(lambda: time.monotonic() > over)
    assert (await session.call(node, "echo", x="hi").got()).text == "hi"


async def test_sessions_are_capped_fleet_wide_and_a_place_that_is_freed_is_taken(world: World) -> None:
    policy = replace(PATIENT, max_sessions=2)
    node, other = await world.node(policy), await world.node(policy)
    first = await node.initialize()
    await other.initialize()
    before = await world.keys()
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    got = await node.send("POST", request("initialize", params, "mine")).got()
    assert (got.status, got.reason, got.reply["id"]) == (503, "too_many_sessions", "mine")
    assert 1 <= int(got.headers["Retry-After"]) <= UNCONFIRMED_SECONDS
    assert "Mcp-Session-Id" not in got.headers
    assert await world.keys() == before
    await first.end(other)
    await other.initialize()


async def test_the_place_of_a_session_that_expired_is_free(world: World) -> None:
    node = await world.node(replace(PATIENT, max_sessions=1))
    await node.initialize()
    await world.control.age(UNCONFIRMED_SECONDS + 1)
    session = await node.initialize()
    await session.call(node, "echo", x="confirmed").got()
    await world.control.age(PATIENT.session_idle * 1.1 + 1)
    await node.initialize()


async def test_a_session_in_use_keeps_its_place() -> None:
    clock = Clock()
    sessions = on(MemoryBackplane(MemoryStore(clock)), replace(PATIENT, max_sessions=1), clock)
    session = await created(sessions)
    for _ in range(10):
        assert await sessions.load(session.id, ANYONE) is not None
        clock.pass_by(PATIENT.session_idle * 0.9)
    assert isinstance(await sessions.create(ANYONE, LATEST_LEGACY, {}, {}), Full)


async def test_a_session_that_is_held_keeps_its_place() -> None:
    clock = Clock()
    sessions = on(MemoryBackplane(MemoryStore(clock)), replace(PATIENT, max_sessions=1), clock)
    session = await created(sessions)
    for _ in range(10):
        assert await sessions.touch(session)
        clock.pass_by(PATIENT.session_idle * 0.9)
    assert isinstance(await sessions.create(ANYONE, LATEST_LEGACY, {}, {}), Full)


async def test_without_a_cap_nobody_is_counted(memory: World) -> None:
    node = await memory.node(replace(PATIENT, max_sessions=None))
    sessions = [await node.initialize() for _ in range(5)]
    await sessions[0].end(node)
    assert not [key for key in await memory.keys() if key.startswith("sessions/")]


async def test_a_log_level_that_is_set_on_one_process_holds_on_every_other(world: World) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    assert (await session.request(node, "logging/setLevel", {"level": "warning"}).got()).result == {}
    flight = session.call(other, "held", name="a")
    await world.stage.began()
    for level in ("debug", "info", "warning", "emergency"):
        await world.stage.contexts["a"].log(level, {"at": level}, logger="tests")
    world.stage.release("a")
    params = [each["params"] for each in (await flight.got()).notifications]
    assert params == [{"level": level, "data": {"at": level}, "logger": "tests"} for level in ("warning", "emergency")]


@pytest.mark.parametrize("level", [None, "loud", 3, ["info"], ""])
async def test_an_unknown_log_level_is_refused_and_changes_nothing(memory: World, level: object) -> None:
    node = await memory.node()
    session = await node.initialize()
    got = await session.request(node, "logging/setLevel", {"level": level}).got()
    assert (got.status, got.error["code"]) == (200, -32602)


async def test_changes_of_a_record_from_three_processes_at_once_are_all_applied(world: World) -> None:
    views = [on(world.store) for _ in range(3)]
    session = await created(views[0])

    def one_more(record: Record) -> Record:
        return msgspec.structs.replace(record, log_level=f"{record.log_level or ''}x")

    async with asyncio.TaskGroup() as tasks:
        changes = [tasks.create_task(views[number % 3].update(session, one_more)) for number in range(40)]
    assert all(change.result() for change in changes)
    loaded = await views[1].load(session.id, ANYONE)
    assert loaded is not None
    assert loaded.record.log_level == "x" * 40


async def test_no_change_of_a_record_brings_a_session_back_that_is_deleted_among_them(world: World) -> None:
    views = [on(world.store) for _ in range(3)]
    session = await created(views[0])
    async with asyncio.TaskGroup() as tasks:
        for number in range(40):
            tasks.create_task(views[number % 3].update(session, with_level("info")))
            if number == 20:
                ending = tasks.create_task(views[1].end(session))
    assert ending.result()
    assert await views[2].load(session.id, ANYONE) is None
    assert [key for key in await world.keys() if session.id in key] == []


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE])
async def test_a_change_in_doubt_is_made_once(fate: Fate) -> None:
    store = MemoryStore()
    plain = on(MemoryBackplane(store))
    session = await created(plain)
    faults = Doubtful([fate])
    assert await on(faults.view(MemoryBackplane(store))).update(session, with_level("info"))
    await faults.deliver()
    loaded = await plain.load(session.id, ANYONE)
    assert loaded is not None
    assert loaded.record.log_level == "info"


async def test_a_change_that_was_made_although_its_reply_was_lost_is_not_made_again() -> None:
    store = MemoryStore()
    plain = on(MemoryBackplane(store))
    session = await created(plain)

    def one_more(record: Record) -> Record:
        return msgspec.structs.replace(record, log_level=f"{record.log_level or ''}x")

    assert await on(Doubtful([Fate.UNANSWERED]).view(MemoryBackplane(store))).update(session, one_more)
    loaded = await plain.load(session.id, ANYONE)
    assert loaded is not None
    assert loaded.record.log_level == "x"


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED])
@pytest.mark.parametrize("at", range(4))
async def test_a_session_whose_creation_was_in_doubt_at_any_step_is_complete(fate: Fate, at: int) -> None:
    store = MemoryStore()
    faults = Doubtful([Fate.DONE] * at + [fate])
    session = await created(on(faults.view(MemoryBackplane(store))))
    assert await on(MemoryBackplane(store)).load(session.id, ANYONE) is not None


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED])
async def test_a_session_whose_end_was_in_doubt_has_ended(fate: Fate) -> None:
    store = MemoryStore()
    plain = on(MemoryBackplane(store))
    session = await created(plain)
    assert await on(Doubtful([fate]).view(MemoryBackplane(store))).end(session)
    assert await plain.load(session.id, ANYONE) is None


async def test_a_session_is_found_although_it_cannot_be_noted_that_it_was_used() -> None:
    store = MemoryStore()
    session = await created(on(MemoryBackplane(store)))
    faults = Doubtful([Fate.DONE, Fate.DONE, Fate.UNSENT])
    assert await on(faults.view(MemoryBackplane(store))).load(session.id, ANYONE) is not None


async def test_a_used_session_is_noted_at_most_every_tenth_of_its_idle_time() -> None:
    store, clock = MemoryStore(), Clock()
    sessions = on(MemoryBackplane(store), clock=clock)
    session = await created(sessions)
    first = await sessions.load(session.id, ANYONE)
    again = await sessions.load(session.id, ANYONE)
    assert first is not None
    assert again is not None
    assert again.raw != first.raw
    for _ in range(3):
        later = await sessions.load(session.id, ANYONE)
        assert later is not None
        assert later.raw == again.raw
    clock.pass_by(PATIENT.session_idle / 10 + 1)
    await sessions.load(session.id, ANYONE)
    last = await sessions.load(session.id, ANYONE)
    assert last is not None
    assert last.raw != again.raw


async def test_under_endless_contention_a_change_is_given_up() -> None:
    backplane = MemoryBackplane()
    sessions = on(backplane)
    session = await created(sessions)
    turns = count()

    def disturbed(record: Record) -> Record:
        disturbance = msgspec.structs.replace(record, seen=float(next(turns)))
        backplane.store.put_cell(f"{session.id}/session", pack(disturbance), 60_000)
        return with_level("info")(record)

    with pytest.raises(Unavailable):
        await sessions.update(session, disturbed)


async def test_a_delete_at_any_step_of_anything_leaves_no_session_behind() -> None:
    """Whatever else is under way when a session is deleted: afterwards it is gone, and nothing brings it back."""
    for what, steps in itertools.product(("update", "load", "touch", "subscribe", "end"), shuffles(5, 150)):
        store = MemoryStore()
        session = await created(on(MemoryBackplane(store)))
        here, there = (on(steps.view(MemoryBackplane(store))) for _ in range(2))
        elsewhere = Process(steps.view(MemoryBackplane(store)), Keeper(MemoryBackplane(store)), PATIENT)
        subscriptions = Subscriptions(elsewhere, Events(elsewhere))
        rivals: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
            "update": partial(there.update, session, with_level("info")),
            "load": partial(there.load, session.id, ANYONE),
            "touch": partial(there.touch, session),
            "subscribe": partial(subscriptions.add, session, "a://b"),
            "end": partial(there.end, session),
        }
        await steps.run(here.end(session), rivals[what]())
        assert await on(MemoryBackplane(store)).load(session.id, ANYONE) is None, str(steps)
        assert [name for name in store.names() if name != EVENTS] == [], f"{what}: {steps}"


async def test_a_stream_that_begins_as_its_session_ends_leaves_nothing_behind(memory: World) -> None:
    node = await memory.node()
    link = memory.links[node]
    before = await memory.keys()
    session = await node.initialize()
    go_on = link.hold("put */stream")
    flight = session.listen(node)
    await link.reached("put */stream")
    assert (await session.end(node)).status == 204
    go_on()
    await flight.got()
    assert await memory.keys() == before


async def test_a_process_that_dies_while_it_creates_a_session_leaves_only_what_expires_soon() -> None:
    for steps in interleavings():
        store = MemoryStore()
        [outcome] = await steps.run(
            on(steps.view(MemoryBackplane(store), mortal=True)).create(ANYONE, LATEST_LEGACY, {}, {})
        )
        assert isinstance(outcome, Session | Died)
        store.age(UNCONFIRMED_SECONDS + 1)
        assert [name for name in store.names() if name != "events/all"] == [], str(steps)


async def test_a_full_fleet_refuses_and_says_when_to_ask_again() -> None:
    sessions = on(MemoryBackplane(), replace(PATIENT, max_sessions=1))
    await created(sessions)
    refused = await sessions.create(ANYONE, LATEST_LEGACY, {}, {})
    assert isinstance(refused, Full)
    assert 0 < refused.retry_after <= UNCONFIRMED_SECONDS


@pytest.mark.parametrize(
    ("ask", "step"),
    [
        (lambda session, node: session.notify(node, "notifications/cancelled", {"requestId": 1}), "get */id/*"),
        (lambda session, node: session.listen(node), "get */stream"),
    ],
)
async def test_a_message_for_a_session_that_ends_meanwhile_is_404(
    world: World, ask: Callable[[wire.Session, Node], Flight], step: str
) -> None:
    node, other = await world.node(), await world.node()
    session = await node.initialize()
    go = world.links[node].hold(step)
    flight = ask(session, node)
    await world.links[node].reached(step)
    await session.end(other)
    go()
    assert (await flight.got()).status == 404
