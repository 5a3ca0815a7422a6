"""The wall clock of Redis's host jumps, and with it the end of all that expires: nobody alive is taken for dead."""

from collections.abc import Callable
from typing import Final

import pytest

from tests.fleets import Launch
from tests.redis_server import RedisServer
from tests.wall_clock import WallClock
from tests.wire import LATEST_HANDSHAKE, connected

STEPS: Final = 20
STEP_SECONDS: Final = 5
"""More than a lease; all steps together are less than the life of a session."""


@pytest.mark.parametrize("step", [STEP_SECONDS, -STEP_SECONDS])
async def test_a_call_in_flight_is_answered_though_the_clock_was_set(
    launch_fleet: Launch, launch_redis: Callable[..., RedisServer], wall_clock: WallClock, step: int
) -> None:
    redis = launch_redis(**wall_clock.environ)
    fleet = launch_fleet(2, redis_url=redis.url, LEASE_SECONDS="1")
    async with connected(fleet.url, LATEST_HANDSHAKE) as client:
        async with client.calling("slow", as_id="cut", pin=0, seconds=6, tag="done") as stream:
            assert await stream.event() is not None
        async with client.listening(stream.last_event_id, pin=1) as resumed:
            for number in range(STEPS):
                wall_clock.set(step * (number + 1))
                await client.call("slow", seconds=0.2, tag="meanwhile")  # some looks later
            answer = await resumed.answer()
        assert answer.text == "done", f"taken for dead: {answer}"
        for pin in (0, 1):
            assert (await client.call("echo", x="lives", pin=pin)).text == "lives"
