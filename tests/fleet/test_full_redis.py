"""Redis has no memory left (`maxmemory`, `noeviction`): what is alive goes on, and what is new waits or is refused."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.fleet.outages import REFUSE_SECONDS, assert_refused, health, until, until_healthy, within
from tests.fleets import Launch
from tests.redis_server import RedisServer
from tests.wire import LATEST_HANDSHAKE, MODERN, Client, connected


@contextmanager
def full(redis: RedisServer) -> Iterator[None]:
    """A Redis that takes nothing more for the time of the block."""
    with redis.client() as admin:
        admin.config_set("maxmemory", "1mb")
        yield
        admin.config_set("maxmemory", "0")


async def test_while_redis_is_full_running_sessions_go_on_and_new_ones_are_told_to_wait(
    launch_fleet: Launch, own_redis: RedisServer
) -> None:
    """RFC 9110, section 15.6.4; a call says later what it could not say, and what was said before is replayed."""
    fleet = launch_fleet(2, redis_url=own_redis.url)
    async with (
        connected(fleet.url, LATEST_HANDSHAKE) as legacy,
        connected(fleet.url, MODERN) as modern,
        Client(fleet.url, LATEST_HANDSHAKE) as newcomer,
    ):
        await legacy.request("logging/setLevel", {"level": "info"})
        said = await legacy.call("count", as_id="said", n=3)
        place = str(said.events[0].id)
        async with legacy.calling("count", as_id="saying", pin=0, n=50, delay=0.05) as saying:
            assert await saying.message() is not None
            with full(own_redis):
                for process in (0, 1):
                    assert (await legacy.call("echo", x="short", pin=process)).text == "short"
                    assert (await legacy.call("slow", seconds=0.5, tag="long", pin=process)).text == "long"
                    assert (await legacy.call("count", n=3, token="t", pin=process)).text == "3"
                    assert (await modern.call("echo", x="modern", pin=process)).text == "modern"
                    replayed = await legacy.resume(place, pin=process)
                    assert replayed.messages == said.messages
                    for needing in (newcomer.initialize(pin=process), legacy.cancel("said", pin=process)):
                        assert_refused(await within(REFUSE_SECONDS, needing))
                    async with legacy.listening(pin=process) as standalone:
                        assert_refused(await standalone.answer())
                assert {status for _, status in await health(fleet)} == {200}
            answer = await saying.answer()
        assert [each["params"]["data"]["count"] for each in answer.notifications] == [*range(1, 51)]
        assert answer.text == "50"
        await until(newcomer.initialize, 200)
        assert (await newcomer.call("count", n=3, token="t")).text == "3"
        await until_healthy(fleet)
