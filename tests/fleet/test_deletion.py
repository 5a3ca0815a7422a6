"""A DELETE on one process, at seeded moments of whatever the session is about on others; and what keeps a session."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from typing import Any, Final

from tests.answer import Answer
from tests.fleet.changes import announcing
from tests.fleet.holdings import await_holdings, holdings
from tests.fleets import Fleet, Launch
from tests.wire import DEADLINE, LATEST_HANDSHAKE, Client, connected

SERVER: Final = "tests.servers.everything:server"
SEED: Final = 27
ROUNDS: Final = 12
MOMENT: Final = 0.4
"""The DELETE is sent within so many seconds after the other request, mostly soon: all is under way by then."""
IDLE: Final = 2.0
HERE, THERE, WAS = range(3)

Rival = Callable[[], Coroutine[Any, Any, Answer]]


async def initialized(client: Client) -> Rival:
    return partial(client.notify, "notifications/initialized", pin=HERE)


async def level(client: Client) -> Rival:
    return partial(client.request, "logging/setLevel", {"level": "error"}, pin=HERE)


async def second_delete(client: Client) -> Rival:
    return partial(client.end, pin=HERE)


async def stream(client: Client) -> Rival:
    return partial(listened, client, HERE)


async def handler(client: Client) -> Rival:
    return partial(client.call, "count", pin=HERE, token="t", n=10_000, delay=0.01)


async def resumed(client: Client) -> Rival:
    async with client.calling("count", pin=WAS, token="t", n=10_000, delay=0.01) as begun:
        await begun.message()
    return partial(client.resume, begun.last_event_id, pin=HERE)


async def question(client: Client) -> Rival:
    return partial(client.call, "ask_greet", pin=HERE)


async def answer(client: Client) -> Rival:
    async with client.calling("ask_booked", pin=WAS, room="blue") as asking:
        while "id" not in (asked := await asking.message() or {}):
            pass
    return partial(client.answer, asked["id"], {"action": "accept", "content": {"name": "Ada"}}, pin=HERE)


RIVALS: Final = (initialized, level, second_delete, stream, handler, resumed, question, answer)


async def test_a_delete_at_any_moment_of_anything_ends_the_session_on_every_process(launch_fleet: Launch) -> None:
    fleet, chance = launch_fleet(3, server=SERVER), Random(SEED)
    held = [await holdings(fleet, process) for process in range(3)]
    for _ in range(ROUNDS):
        async with asyncio.TaskGroup() as tasks:
            for prepare in RIVALS:
                tasks.create_task(deleted(fleet, prepare, MOMENT * chance.random() ** 3))
    await await_holdings(fleet, held)
    assert [key for key in fleet.stored_keys() if re.search(rb"[0-9a-f]{32}}:(?!x/)", key)] == []


async def deleted(fleet: Fleet, prepare: Callable[[Client], Awaitable[Rival]], moment: float) -> None:
    """A session of its own, ended so many seconds after the other request was sent."""
    async with (
        Client(fleet.url, LATEST_HANDSHAKE, capabilities={"elicitation": {}}) as client,
        asyncio.timeout(DEADLINE),
        asyncio.TaskGroup() as tasks,
    ):
        await client.initialize(pin=WAS)
        rival = tasks.create_task((await prepare(client))())
        await asyncio.sleep(moment)
        ended = await client.end(pin=THERE)
        for process in range(3):
            await assert_unknown(client, process)
        got = await rival
    told = f"{prepare.__name__} {moment:.4f} s: {ended.status}, {got.status}"
    assert [ended.status, got.status].count(204) == 1, told
    assert not (got.is_stream and got.replies), told


async def assert_unknown(client: Client, process: int) -> None:
    asked = (
        client.call("echo", x="hi", pin=process),
        client.notify("notifications/initialized", pin=process),
        listened(client, process),
        client.end(pin=process),
    )
    assert [answer.status for answer in await asyncio.gather(*asked)] == [404] * len(asked)


async def listened(client: Client, process: int) -> Answer:
    """A standalone stream, to its end."""
    async with client.listening(pin=process) as stream:
        return await stream.answer()


async def test_a_call_and_a_stream_keep_their_sessions_for_longer_than_these_may_be_idle(launch_fleet: Launch) -> None:
    """For twice as long, which is less than it takes a process to renew its leases; what nobody holds is gone then."""
    fleet = launch_fleet(2, SESSION_IDLE_SECONDS=str(IDLE))
    async with AsyncExitStack() as held, announcing(fleet) as announcer:
        calling, listening, idle = [
            await held.enter_async_context(connected(fleet.url, LATEST_HANDSHAKE)) for _ in range(3)
        ]
        stream = await held.enter_async_context(listening.listening(pin=HERE))
        assert (await calling.call("slow", seconds=2 * IDLE, tag="done", pin=HERE)).text == "done"
        assert (await idle.call("echo", x="hi", pin=THERE)).status == 404
        assert (await calling.call("echo", x="hi", pin=THERE)).text == "hi"
        await announcer.tools_changed()
        assert (await stream.message()) is not None
        assert (await listening.call("echo", x="hi", pin=THERE)).text == "hi"
