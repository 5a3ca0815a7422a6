"""The same fleet on a Redis Cluster: its sessions are spread over masters, and move while they are used."""

from contextlib import AsyncExitStack
from typing import Final

from tests.fleets import Launch
from tests.redis_cluster import RedisCluster
from tests.wire import LATEST_HANDSHAKE, connected

SESSIONS: Final = 5


async def test_calls_go_on_and_resume_elsewhere_while_their_sessions_move_to_other_masters(
    launch_fleet: Launch, own_cluster: RedisCluster
) -> None:
    fleet = launch_fleet(2, redis_url=own_cluster.url)
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(fleet.url, LATEST_HANDSHAKE)) for _ in range(SESSIONS)]
        for client in clients:
            await client.request("logging/setLevel", {"level": "info"})
        streams = [
            await stack.enter_async_context(client.calling("count", pin=0, n=30, delay=0.02)) for client in clients
        ]
        for client, stream in zip(clients, streams, strict=True):
            assert await stream.message() is not None
            own_cluster.move(str(client.session_id))
        for client, stream in zip(clients, streams, strict=True):
            stayed = await stream.answer()
            again = await client.resume(str(stream.events[-1].id), pin=1)
            for answer in (stayed, again):
                counted = [message["params"]["data"]["count"] for message in answer.notifications]
                assert counted == [*range(31 - len(counted), 31)]
                assert answer.text == "30"
            assert (await client.call("echo", x="afterwards", pin=1)).text == "afterwards"
            assert (await client.end(pin=0)).status < 300
            assert (await client.call("echo", x="gone", pin=1)).status == 404
