"""`subscriptions/listen` while processes come and go, and while Redis does ("Subscriptions")."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from tests.answer import Json
from tests.fleet.changes import announcing
from tests.fleets import Fleet, Launch
from tests.redis_server import RedisServer
from tests.wire import LATEST_HANDSHAKE, MODERN, Client, RequestId, Stream, connected

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
TOOLS = {"notifications": {"toolsListChanged": True}}


@asynccontextmanager
async def listening(client: Client, pin: int, as_id: RequestId = 1) -> AsyncIterator[Stream]:
    """A stream on one process, which has been acknowledged."""
    async with client.asking("subscriptions/listen", TOOLS, as_id=as_id, pin=pin) as stream:
        acknowledged = await stream.message()
        assert acknowledged is not None
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        yield stream


def changed(as_id: RequestId = 1) -> Json:
    return {
        "jsonrpc": "2.0",
        "method": "notifications/tools/list_changed",
        "params": {"_meta": {SUBSCRIPTION: as_id}},
    }


async def test_a_change_is_heard_on_every_process_that_is_left(launch_fleet: Launch) -> None:
    """Cases of list_changed across workers: nobody owns it, so nobody's death silences it."""
    fleet = launch_fleet(3)
    async with connected(fleet.url, MODERN) as client, AsyncExitStack() as held:
        streams = [await held.enter_async_context(listening(client, pin, pin)) for pin in (1, 2)]
        await client.call("announce", pin=0, what="tools")
        assert [await stream.message() for stream in streams] == [changed(1), changed(2)]
        fleet.processes[0].kill()
        fleet.balancer.dead.add(0)
        await client.call("announce", pin=1, what="tools")
        assert [await stream.message() for stream in streams] == [changed(1), changed(2)]


async def test_a_process_that_leaves_ends_its_streams_with_a_result_and_begins_none(launch_fleet: Launch) -> None:
    """Subscriptions, "Graceful Closure"; RFC 9110, section 15.6.4: and says when to try again."""
    fleet = launch_fleet(2, DRAIN_DELAY="0")
    async with connected(fleet.url, MODERN) as client, AsyncExitStack() as held:
        streams = [await held.enter_async_context(listening(client, 0, f"s{turn}")) for turn in range(20)]
        call = await held.enter_async_context(client.calling("slow", as_id="c", pin=0, seconds=3, tag="done"))
        waiting = asyncio.ensure_future(call.answer())
        fleet.processes[0].terminate()
        for turn, stream in enumerate(streams):
            ended = (await stream.answer()).messages[-1]
            assert (ended["id"], ended["result"]["resultType"]) == (f"s{turn}", "complete")
            assert ended["result"]["_meta"][SUBSCRIPTION] == f"s{turn}"
        assert (await waiting).text == "done"
        assert await asyncio.to_thread(fleet.processes[0].await_exit) == 0
        async with listening(client, 1) as again:
            await client.call("announce", pin=1, what="tools")
            assert await again.message() == changed()


async def test_an_empty_redis_is_a_gap_that_every_stream_is_told_of(
    launch_fleet: Launch, own_redis: RedisServer
) -> None:
    """Tools, "List Changed Notification": who may have missed a change is told of one."""
    fleet = launch_fleet(2, redis_url=own_redis.url)
    async with connected(fleet.url, MODERN) as client, listening(client, 0) as one, listening(client, 1) as two:
        own_redis.stop()
        own_redis.wipe()
        own_redis.start()
        assert [await one.message(), await two.message()] == [changed(), changed()]
        await settled(client, fleet)
        await client.call("announce", pin=0, what="tools")
        assert [await one.message(), await two.message()] == [changed(), changed()]


async def test_after_an_outage_streams_are_open_and_told(launch_fleet: Launch, own_redis: RedisServer) -> None:
    """The same for one that lost nothing: nobody could announce anything meanwhile."""
    fleet = launch_fleet(2, redis_url=own_redis.url)
    async with connected(fleet.url, MODERN) as client, listening(client, 0) as one, listening(client, 1) as two:
        own_redis.kill()
        failed = await client.call("announce", pin=0, what="tools")
        assert failed.result["isError"] is True
        await asyncio.sleep(6)  # longer than anybody is asleep without looking at the store
        own_redis.start()
        assert [await one.message(), await two.message()] == [changed(), changed()]


async def test_a_burst_reaches_every_stream_and_is_gathered(launch_fleet: Launch) -> None:
    """2000 changes at once; a client that does not read holds nobody up."""
    fleet = launch_fleet(3)
    async with (
        announcing(fleet) as announcer,
        connected(fleet.url, MODERN) as client,
        connected(fleet.url, LATEST_HANDSHAKE) as legacy,
        legacy.listening(pin=0),  # never read
        listening(client, 1, "one") as one,
        listening(client, 2, "two") as two,
    ):
        for _ in range(20):
            await asyncio.gather(*(announcer.tools_changed() for _ in range(100)))
        for pin, stream, name in ((1, one, "one"), (2, two, "two")):
            assert await stream.message() == changed(name)
            fleet.processes[pin].terminate()
            _, *told, _ = (await stream.answer()).messages
            assert told == [changed(name)] * len(told)
            assert len(told) < 1000
            assert await asyncio.to_thread(fleet.processes[pin].await_exit) == 0


async def test_a_process_has_so_many_streams_open_and_no_more(launch_fleet: Launch) -> None:
    """503 and when to try again; a place is free as soon as its client has gone."""
    fleet = launch_fleet(1, MAX_LISTEN_STREAMS="2")
    async with connected(fleet.url, MODERN) as client, listening(client, 0), AsyncExitStack() as held:
        await held.enter_async_context(listening(client, 0))
        refused = await client.request("subscriptions/listen", TOOLS, as_id="late")
        assert (refused.status, refused.reply["id"]) == (503, "late")
        assert refused.error["data"] == {"reason": "too_many_listen_streams"}
        assert int(refused.headers["Retry-After"]) > 0
        assert (await client.call("echo", x="others are served")).text == "others are served"
        await held.aclose()
        async with asyncio.timeout(10):
            while (answer := await begun(client)) != 200:
                assert answer == 503


async def begun(client: Client) -> int:
    """The status of an attempt to listen, which is given up at once."""
    async with client.asking("subscriptions/listen", TOOLS) as stream:
        return stream.status


async def settled(client: Client, fleet: Fleet) -> None:
    """Return once every process can announce again."""
    async with asyncio.timeout(10):
        for pin in range(len(fleet.processes)):
            while (await client.call("echo", pin=pin, x="x")).text != "x":
                pass
