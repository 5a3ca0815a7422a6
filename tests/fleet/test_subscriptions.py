"""`resources/subscribe` across processes: whoever answers, whoever publishes, whoever holds the stream."""

import asyncio
import os
from typing import Final

from tests.answer import Json
from tests.fleets import Launch
from tests.redis_server import RedisServer
from tests.wire import LATEST_HANDSHAKE, LEGACY, Client, connected

SERVER: Final = "tests.servers.switched:server"
TURNS: Final = int(os.environ.get("TEST_SUBSCRIPTIONS", "100"))
"""How often a subscription is raced; a thousand times take a minute."""


def updated(uri: str) -> Json:
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}


async def subscribe(client: Client, uri: str, *, pin: int) -> None:
    assert (await client.request("resources/subscribe", {"uri": uri}, pin=pin)).result == {}


async def test_an_update_right_after_the_subscription_is_delivered(launch_fleet: Launch) -> None:
    """Resources, "Subscriptions": the answer promises it, on whichever third process the update happens."""
    fleet = launch_fleet(3, server=SERVER)
    async with connected(fleet.url, LATEST_HANDSHAKE) as client, client.listening(pin=0) as stream:
        assert await stream.event() is not None
        for turn in range(TURNS):
            uri = f"stars://{turn}"
            await subscribe(client, uri, pin=1)
            await client.call("update", pin=2, uri=uri)
            assert await stream.message() == updated(uri)
            assert (await client.request("resources/unsubscribe", {"uri": uri}, pin=2)).result == {}


async def test_subscriptions_survive_the_process_that_took_them_and_the_one_that_held_the_stream(
    launch_fleet: Launch,
) -> None:
    """Resources, "Subscriptions"; transports, "Resumability and Redelivery"."""
    fleet = launch_fleet(3, server=SERVER)
    for date in LEGACY:
        async with connected(fleet.url, date) as client:
            await subscribe(client, "stars://sirius", pin=0)
            async with client.listening(pin=1) as stream:
                await client.call("update", pin=2, uri="stars://sirius")
                assert await stream.message() == updated("stars://sirius")
                place = stream.last_event_id
            for process in range(2):
                fleet.restart(process)
            await client.call("update", pin=2, uri="stars://sirius")
            async with client.listening(place, pin=0) as again:
                assert await again.message() == updated("stars://sirius")


async def test_an_outage_is_a_gap_for_what_a_session_watches(launch_fleet: Launch, own_redis: RedisServer) -> None:
    """Nobody could publish meanwhile, so everything that is watched counts as changed."""
    fleet = launch_fleet(2, redis_url=own_redis.url, server=SERVER)
    async with connected(fleet.url, LATEST_HANDSHAKE) as client:
        await subscribe(client, "stars://sirius", pin=1)
        async with client.listening(pin=0) as stream:
            assert await stream.event() is not None
            own_redis.kill()
            await asyncio.sleep(6)  # longer than anybody is asleep without looking at the store
            own_redis.start()
            found = [await stream.message(), await stream.message(), await stream.message()]
    assert updated("stars://sirius") in found
