"""The master dies and Sentinel makes its replica the master: the fleet goes on by itself (docs/guarantees.md)."""

from functools import partial

from tests.fleet.outages import until
from tests.fleets import Launch
from tests.redis_sentinel import RedisSentinels
from tests.wire import LATEST_HANDSHAKE, MODERN, connected


async def test_sessions_go_on_when_sentinel_replaces_the_master(
    launch_fleet: Launch, sentinels: RedisSentinels
) -> None:
    fleet = launch_fleet(2, redis_url=sentinels.url)
    async with connected(fleet.url, LATEST_HANDSHAKE) as legacy, connected(fleet.url, MODERN) as modern:
        await legacy.request("logging/setLevel", {"level": "info"})
        sentinels.await_replicated()
        sentinels.master.kill()
        assert (await modern.call("echo", x="meanwhile")).text == "meanwhile"
        sentinels.await_failover()
        for pin in (0, 1):
            answer = await until(partial(legacy.call, "count", n=3, pin=pin), 200)
            counted = [each["params"]["data"]["count"] for each in answer.notifications]
            assert (answer.text, counted) == ("3", [1, 2, 3]), f"the session or its level was lost: {answer}"
