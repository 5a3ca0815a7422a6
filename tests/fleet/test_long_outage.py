"""Redis is away for a minute, which is longer than every lease: nothing is lost, nobody is judged, nothing restarts."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tests.answer import Json
from tests.fleet.changes import announcing
from tests.fleet.outages import REFUSE_SECONDS, assert_refused, health, recovered, until_healthy, within
from tests.fleets import Fleet, Launch
from tests.redis_server import RedisServer
from tests.wire import LATEST_HANDSHAKE, MODERN, Client, Stream, connected

AWAY_SECONDS: Final = 60.0
AFTER_SECONDS: Final = 30.0
"""How long after the outage things may take that go on by themselves."""
PACE: Final = 0.5
"""How many seconds the clients let pass between two rounds of requests: they are not what is measured."""
SERVER: Final = "tests.servers.everything:server"
TOOLS: Final[Json] = {"notifications": {"toolsListChanged": True}}


async def test_a_minute_without_redis_is_survived_by_all_that_was_under_way(
    launch_fleet: Launch, own_redis: RedisServer
) -> None:
    """A call longer than the outage and followed elsewhere, one that ends within it, one that talks all the time, a
    question, a standalone stream, a listen stream and a session."""
    fleet = launch_fleet(2, redis_url=own_redis.url, server=SERVER, HOLD_SECONDS="90")
    processes = [process.pid for process in fleet.processes]
    async with (
        listener(fleet) as legacy,
        connected(fleet.url, MODERN) as modern,
        Client(fleet.url, LATEST_HANDSHAKE) as newcomer,
        legacy.listening(pin=0) as standalone,
        modern.asking("subscriptions/listen", TOOLS, pin=1) as watching,
        legacy.calling("slow", as_id="short", pin=0, seconds=AWAY_SECONDS / 4, tag="held") as short,
        legacy.calling("count", as_id="talks", pin=1, n=45, delay=AWAY_SECONDS / 40) as talks,
        legacy.calling("ask_greet", as_id="asks", pin=0) as asks,
    ):
        async with legacy.calling("slow", as_id="long", pin=0, seconds=AWAY_SECONDS + 5, tag="outlived") as cut:
            assert await cut.event() is not None
        async with legacy.listening(cut.last_event_id, pin=1) as followed:
            for stream in (followed, short, watching):
                assert await stream.event() is not None
            question = await asked(asks)
            own_redis.kill()
            await refused_until(time.monotonic() + AWAY_SECONDS, legacy, modern, newcomer, question)
            assert await health(fleet) == [("ok", 200), ("degraded", 200)] * 2
            own_redis.start()
            await recovered(legacy, fleet)
            assert (await short.answer(AFTER_SECONDS)).text == "held"
            assert (await followed.answer(AFTER_SECONDS)).text == "outlived"
        spoken = await talks.answer(AFTER_SECONDS)
        assert [message["params"]["data"]["count"] for message in spoken.notifications] == [*range(1, 46)]
        assert spoken.text == "45"
        assert (await legacy.answer(question["id"], {"action": "decline"}, pin=1)).status == 202
        assert (await asks.answer()).replies[-1]["result"]["content"][0]["text"] == "declined"
        for stream in (standalone, watching):
            assert await heard(stream, "notifications/tools/list_changed")
        async with announcing(fleet) as announcer:
            await announcer.tools_changed()
            for stream in (standalone, watching):
                assert await heard(stream, "notifications/tools/list_changed")
        assert (await newcomer.initialize()).status == 200
        await until_healthy(fleet)
    assert [process.pid for process in fleet.processes if process.exit_code is None] == processes


@asynccontextmanager
async def listener(fleet: Fleet) -> AsyncIterator[Client]:
    """A client that can be asked, and that log messages are sent to."""
    async with connected(fleet.url, LATEST_HANDSHAKE, capabilities={"elicitation": {}}) as client:
        await client.request("logging/setLevel", {"level": "info"})
        yield client


async def refused_until(end: float, legacy: Client, modern: Client, newcomer: Client, question: Json) -> None:
    """Whatever needs Redis is refused soon, again and again; all that needs none is served meanwhile."""
    while time.monotonic() < end:
        for process in (0, 1):
            assert (await modern.call("echo", x="modern", pin=process)).text == "modern"
        for needing in (
            legacy.call("echo", x="legacy"),
            legacy.end(),
            legacy.answer(question["id"], {"action": "decline"}),
            newcomer.initialize(),
        ):
            assert_refused(await within(REFUSE_SECONDS, needing))
        await asyncio.sleep(PACE)


async def asked(stream: Stream) -> Json:
    """The question that comes on a stream."""
    while (message := await stream.message()) is not None:
        if message.get("method") == "elicitation/create":
            return message
    raise AssertionError("the stream ended without a question")


async def heard(stream: Stream, method: str) -> bool:
    """Whether a stream tells this, among others that count as changed after a gap."""
    while (message := await stream.message(AFTER_SECONDS)) is not None:
        if message["method"] == method:
            return True
    return False
