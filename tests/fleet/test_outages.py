"""Redis goes away: what needs none goes on, what needs it is told to come back, and nothing has to be restarted."""

import time
from functools import partial
from typing import Final

from mcpfleet.backplane.outage import outlast
from tests.fleet.changes import announcing
from tests.fleet.outages import (
    NOTICE_SECONDS,
    REFUSE_SECONDS,
    assert_refused,
    health,
    recovered,
    until,
    until_healthy,
    within,
)
from tests.fleets import Launch
from tests.redis_server import RedisServer
from tests.wire import LATEST_HANDSHAKE, LEGACY, MODERN, Client, connected

AWAY_SECONDS: Final = 3.0


async def test_while_redis_is_away_each_request_gets_what_can_be_had_and_afterwards_everything(
    launch_fleet: Launch, own_redis: RedisServer
) -> None:
    """RFC 9110, section 15.6.4: 503 says "try again"; 404 would make a client give up a session that is still there."""
    fleet = launch_fleet(2, redis_url=own_redis.url)
    async with (
        connected(fleet.url, LATEST_HANDSHAKE) as legacy,
        connected(fleet.url, MODERN) as modern,
        Client(fleet.url, LATEST_HANDSHAKE) as newcomer,
        legacy.calling("slow", as_id="flying", pin=0, seconds=1, tag="landed") as flying,
    ):
        assert await flying.event() is not None
        own_redis.kill()
        back, told = time.monotonic() + AWAY_SECONDS, False
        while time.monotonic() < back or not told:
            assert time.monotonic() < back + NOTICE_SECONDS, await health(fleet)
            assert (await modern.call("echo", x="modern")).text == "modern"
            assert (await modern.request("tools/list")).status == 200
            for needing in (legacy.call("echo", x="legacy"), legacy.end(), newcomer.initialize()):
                assert_refused(await within(REFUSE_SECONDS, needing))
            async with legacy.listening() as stream:
                assert_refused(await stream.answer())
            said = await health(fleet)
            assert {status for _, status in said} == {200}
            told = said == [("ok", 200), ("degraded", 200)] * 2
        own_redis.start()

        assert (await flying.answer()).text == "landed"
        await recovered(legacy, fleet)
        assert (await newcomer.initialize()).status == 200
        assert (await legacy.call("count", token="t", n=3)).text == "3"
        await until_healthy(fleet)


async def test_a_call_in_flight_delivers_all_that_it_said_meanwhile(
    launch_fleet: Launch, own_redis: RedisServer
) -> None:
    """Transports, "Resumability and Redelivery": in order and once, to the connection that stayed and to one that comes
    back on another process."""
    fleet = launch_fleet(2, redis_url=own_redis.url)
    for date in LEGACY:
        async with connected(fleet.url, date) as client:
            await client.request("logging/setLevel", {"level": "info"})
            async with client.calling("count", pin=0, n=30, delay=0.02) as stream:
                assert await stream.message() is not None
                own_redis.kill()
                own_redis.start()
                stayed = await stream.answer()
            again = await client.resume(str(stream.events[-1].id), pin=1)
        for answer in (stayed, again):
            counted = [message["params"]["data"]["count"] for message in answer.notifications]
            assert counted == [*range(31 - len(counted), 31)]
            assert answer.text == "30"


async def test_a_result_that_was_held_for_as_long_as_may_be_is_lost_and_its_call_says_so(
    launch_fleet: Launch, own_redis: RedisServer
) -> None:
    """JSON-RPC 2.0, "Response object": every call ends, with an error if nobody knows its result any more."""
    fleet = launch_fleet(2, redis_url=own_redis.url, HOLD_SECONDS="1", LEASE_SECONDS="1")
    async with connected(fleet.url, LATEST_HANDSHAKE) as client:
        async with client.calling("slow", as_id="late", pin=0, seconds=0.5, tag="too late") as stream:
            assert await stream.event() is not None
            own_redis.kill()
            back = time.monotonic() + AWAY_SECONDS
            while time.monotonic() < back:
                assert_refused(await within(REFUSE_SECONDS, client.call("echo", x="meanwhile")))
            own_redis.start()
            lost = await stream.answer()
        assert (lost.reply["id"], lost.error["data"]) == ("late", {"reason": "outcome_unknown"})
        assert (await client.resume(stream.last_event_id, pin=1)).messages == lost.messages


async def test_a_redis_that_does_not_answer_is_away_too(launch_fleet: Launch, own_redis: RedisServer) -> None:
    """A frozen server accepts connections and says nothing; no request may wait for it longer than for a dead one."""
    fleet = launch_fleet(2, redis_url=own_redis.url)
    async with connected(fleet.url, LATEST_HANDSHAKE) as legacy, connected(fleet.url, MODERN) as modern:
        own_redis.freeze()
        for _ in range(4):
            assert (await modern.call("echo", x="modern")).text == "modern"
            assert_refused(await within(2 * REFUSE_SECONDS, legacy.call("echo", x="legacy")))
        own_redis.thaw()
        await recovered(legacy, fleet)


async def test_a_restarted_redis_breaks_no_stream_and_no_bell_is_lost_for_good(
    launch_fleet: Launch, own_redis: RedisServer
) -> None:
    """Transports, "Listening for Messages from the Server": a process that lost its subscription hears again."""
    fleet = launch_fleet(2, redis_url=own_redis.url)
    async with (
        connected(fleet.url, LATEST_HANDSHAKE) as client,
        client.listening(pin=0) as stream,
        announcing(fleet) as announcer,
    ):
        await announcer.tools_changed()
        assert await stream.message() is not None
        own_redis.restart()
        await recovered(client, fleet)
        await outlast(announcer.tools_changed)
        changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        while (message := await stream.message()) != changed:  # who noticed the outage takes every list for changed
            assert message is not None
            assert message["method"].endswith("/list_changed")
        tag = "after the restart"
        async with client.calling("slow", as_id="c", pin=1, seconds=30, tag=tag) as call:
            assert await call.event() is not None
            assert (await client.cancel("c", pin=0)).status == 202
            assert (await call.answer(within=5)).replies == []


async def test_after_an_empty_restart_old_sessions_are_gone_and_new_ones_work(
    launch_fleet: Launch, own_redis: RedisServer
) -> None:
    """Transports, "Session Management": 404, so that clients begin anew; a call that was in flight ends."""
    fleet = launch_fleet(2, redis_url=own_redis.url)
    async with (
        connected(fleet.url, LATEST_HANDSHAKE) as old,
        old.calling("slow", as_id="flying", pin=0, seconds=1, tag="landed") as flying,
    ):
        assert await flying.event() is not None
        own_redis.stop()
        own_redis.wipe()
        own_redis.start()
        ended = await flying.answer()
        assert ended.reply["id"] == "flying"
        for process in range(2):
            await until(partial(old.call, "echo", pin=process, x="x"), 404)
        for date in LEGACY:
            async with connected(fleet.url, date) as new:
                assert (await new.call("count", token="t", n=3)).text == "3"
        await until_healthy(fleet)


async def test_an_outage_at_the_start_is_an_outage_like_any_other(launch_fleet: Launch, own_redis: RedisServer) -> None:
    """A process that finds no Redis serves what needs none, and the rest once it is there."""
    own_redis.stop()
    fleet = launch_fleet(1, redis_url=own_redis.url)
    async with connected(fleet.url, MODERN) as modern, Client(fleet.url, LATEST_HANDSHAKE) as legacy:
        assert (await modern.call("echo", x="modern")).text == "modern"
        assert_refused(await legacy.initialize())
        own_redis.start()
        await until(legacy.initialize, 200)
        assert (await legacy.call("echo", x="legacy")).text == "legacy"
