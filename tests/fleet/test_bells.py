"""The connection that wakes waiters stays open, and nothing comes out of it any more."""

import asyncio
import time
from typing import Final

from mcpfleet.backplane.pulse import DEAF_AFTER, PERIOD_SECONDS
from tests.answer import Json
from tests.backplane.proxy import proxy
from tests.fleet.outages import health, until_healthy
from tests.fleets import Launch
from tests.redis_server import RedisServer, free_port
from tests.wire import LATEST_HANDSHAKE, Client, connected

SERVER: Final = "tests.servers.inquisitive:server"
POLL_SECONDS: Final = 5.0 + 2.5
"""An answer may wait until its asker looks by itself, and the result until the call's stream is looked at."""
REPLACE_SECONDS: Final = (DEAF_AFTER + 1) * PERIOD_SECONDS
"""So many beats must have gone unheard, and the first may be on its way."""
SLACK: Final = 2.0


async def test_a_black_holed_connection_is_replaced_after_two_pulses_and_answers_arrive_meanwhile(
    launch_fleet: Launch, own_redis: RedisServer
) -> None:
    """Truth is stored, so whoever is not woken looks by itself; a process that cannot hear itself connects anew."""
    port = free_port()
    fleet = launch_fleet(2, redis_url=f"redis://127.0.0.1:{port}/0", server=SERVER)
    async with proxy(own_redis.url, port) as wire:
        await until_healthy(fleet)  # it was there before the proxy
        async with connected(fleet.url, LATEST_HANDSHAKE, capabilities={"elicitation": {}}) as client:
            woken = await answered(client)
            wire.deafen()
            since = time.monotonic()
            assert wire.deaf == 2
            polled = await answered(client)
            assert polled <= POLL_SECONDS + SLACK, f"{polled:.1f} s by polling, {woken * 1000:.0f} ms when woken"
            async with asyncio.timeout(REPLACE_SECONDS + SLACK):
                while wire.deaf:
                    assert (await client.request("ping")).status == 200
                    assert {status for _, status in await health(fleet)} == {200}
            took = time.monotonic() - since
            again = await answered(client)
            assert again < polled, f"{again * 1000:.0f} ms although replaced after {took:.1f} s"


async def answered(client: Client) -> float:
    """How many seconds lie between an answer to another process and the result of the call that asked."""
    async with client.calling("greet", pin=0) as stream:
        question: Json | None = None
        while question is None or question.get("method") != "elicitation/create":
            question = await stream.message()
            assert question is not None
        since = time.monotonic()
        assert (await client.answer(question["id"], {"action": "decline"}, pin=1)).status == 202
        assert await stream.message() is not None
    return time.monotonic() - since
