"""What is special to a Cluster: slots that move, masters that die, nodes that do not know better."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from urllib.parse import urlsplit

import pytest

from mcpfleet.backplane.base import Backplane, Bell, Position, mint
from mcpfleet.backplane.cluster import PAUSE
from mcpfleet.backplane.follow import follow
from mcpfleet.backplane.outage import outlast
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.errors import InDoubt, SettingsError, Unavailable
from tests.redis_cluster import RedisCluster, node_options
from tests.redis_server import RedisServer, SharedRedis, fresh_namespace

PATIENCE = 30.0
SCOPE, LOG = "s", "s/l"


@pytest.fixture
async def views(redis_cluster: SharedRedis) -> AsyncIterator[tuple[RedisBackplane, RedisBackplane]]:
    """Two processes on the Cluster that tests share."""
    with fresh_namespace(redis_cluster) as namespace:
        async with (
            RedisBackplane.at(redis_cluster.url, namespace=namespace) as here,
            RedisBackplane.at(redis_cluster.url, namespace=namespace) as there,
        ):
            yield here, there


async def heard(bell: Bell) -> None:
    """Wait for the bell."""
    async with asyncio.timeout(PATIENCE):
        await bell.rung()


async def take(view: Backplane, after: Position, count: int) -> list[bytes]:
    """The next entries, waited for through every outage."""
    taken: list[bytes] = []
    async with asyncio.timeout(PATIENCE), aclosing(follow(view, LOG, after, ttl=600, poll=600)) as entries:
        async for entry in entries:
            taken.append(entry.data)
            if len(taken) == count:
                break
    return taken


async def appended(view: Backplane, data: bytes, at: Position) -> Position:
    """Append once, whatever happens: the same append again until its fate is known."""
    mark = mint()
    async with asyncio.timeout(PATIENCE):
        return await outlast(lambda: view.append(LOG, data, ttl=600, keep=9999, expect=at, mark=mark))


async def test_the_commands_of_one_turn_go_to_each_master_in_one_write(
    views: tuple[RedisBackplane, RedisBackplane], running_cluster: RedisCluster
) -> None:
    here, _ = views
    scopes = [running_cluster.scope_of(master) for master in running_cluster.masters]
    links = [node.link for node in here.servers.nodes]
    before = [(link.commands, link.writes) for link in links]
    await asyncio.gather(*(here.put(f"{scope}/{n}", b"x", ttl=60) for scope in scopes for n in range(100)))
    after = [(link.commands, link.writes) for link in links]
    assert [(sent - had, writes - were) for (had, were), (sent, writes) in zip(before, after, strict=True)] == [
        (100, 1)
    ] * 3


async def test_what_a_node_sends_elsewhere_happens_once(
    views: tuple[RedisBackplane, RedisBackplane], running_cluster: RedisCluster
) -> None:
    here, there = views
    start = await here.open(LOG, ttl=60)
    running_cluster.move(SCOPE)
    ends = [await view.append(LOG, b"x", ttl=60, keep=9) for view in (here, there)]
    assert [entry.position for entry in await here.read(LOG, after=start)] == ends


async def test_a_watched_log_rings_from_wherever_its_slot_goes(
    views: tuple[RedisBackplane, RedisBackplane], running_cluster: RedisCluster
) -> None:
    here, there = views
    at = await here.open(LOG, ttl=600)
    async with there.watch(LOG, poll=600) as bell:
        await heard(bell)
        for turn in range(4):
            running_cluster.move(SCOPE)
            await heard(bell)  # the new owner's confirmation, though nobody has sent it anything
            at = await appended(here, b"%d" % turn, at)
            await heard(bell)
            assert await there.open(LOG, ttl=600) == at


async def test_everything_appended_is_followed_once_while_its_slot_moves(
    views: tuple[RedisBackplane, RedisBackplane], running_cluster: RedisCluster
) -> None:
    here, there = views
    start, total = await here.open(LOG, ttl=600), 120
    async with asyncio.TaskGroup() as group:
        taking = [group.create_task(take(view, start, total)) for view in views]
        at = start
        for number in range(total):
            if number % 20 == 10:
                await asyncio.to_thread(running_cluster.move, SCOPE)
            at = await appended(here, b"%d" % number, at)
    assert [task.result() for task in taking] == [[b"%d" % number for number in range(total)]] * 2
    assert here.alive
    assert there.alive


async def test_a_key_on_its_way_is_found_where_it_is(
    views: tuple[RedisBackplane, RedisBackplane], running_cluster: RedisCluster
) -> None:
    here, there = views
    await here.put("s/old", b"old", ttl=60)
    move = running_cluster.begin(SCOPE)
    assert await there.get("s/old") == b"old"
    assert await there.put("s/new", b"new", ttl=60)
    move.carry()
    assert await there.get("s/old") == b"old"
    assert await here.put("s/old", b"older", ttl=60, expect=b"old")
    assert await here.get("s/new") == b"new"
    move.finish()
    assert [await view.get(key) for view in views for key in ("s/old", "s/new")] == [b"older", b"new"] * 2


async def test_a_log_whose_keys_are_in_two_places_is_unavailable_and_nothing_is_in_doubt(
    views: tuple[RedisBackplane, RedisBackplane], running_cluster: RedisCluster
) -> None:
    here, _ = views
    start = await here.open(LOG, ttl=60)
    at = await here.append(LOG, b"x", ttl=60, keep=9)
    move = running_cluster.begin(SCOPE)
    move.carry(1)
    for refused in (here.append(LOG, b"y", ttl=60, keep=9), here.read(LOG, after=start)):
        with pytest.raises(Unavailable, match="TRYAGAIN") as error:
            await refused
        assert not isinstance(error.value, InDoubt)
    move.carry()
    at = await here.append(LOG, b"z", ttl=60, keep=9, expect=at)
    move.finish()
    assert [entry.data for entry in await here.read(LOG, after=start)] == [b"x", b"z"]
    assert await here.open(LOG, ttl=60) == at


async def test_a_command_that_is_asking_and_is_cancelled_takes_its_preface_along(
    views: tuple[RedisBackplane, RedisBackplane],
) -> None:
    link = views[0].servers.nodes[0].link
    commands = link.commands
    asking = link.submit(b"PING", asking=True)
    asking.cancel()
    assert await link.submit(b"PING", asking=True) == b"PONG"
    assert link.commands - commands == 2


async def test_a_dead_master_is_an_outage_for_its_scopes_only(own_cluster: RedisCluster) -> None:
    dead, *others = own_cluster.masters
    lost, kept = own_cluster.scope_of(dead), [own_cluster.scope_of(master) for master in others]
    async with RedisBackplane.at(own_cluster.url, namespace="test") as backplane, AsyncExitStack() as stack:
        bells = [await stack.enter_async_context(backplane.watch(f"{scope}/l", poll=600)) for scope in (lost, *kept)]
        for scope, bell in zip((lost, *kept), bells, strict=True):
            await backplane.open(f"{scope}/l", ttl=600)
            await heard(bell)
        dead.kill()
        for _ in range(20):
            with pytest.raises(Unavailable):
                await backplane.get(f"{lost}/a", ttl=60)
            for scope, bell in zip(kept, bells[1:], strict=True):
                await backplane.append(f"{scope}/l", b"x", ttl=600, keep=9)
                await heard(bell)
        dead.start()
        await asyncio.to_thread(own_cluster.await_whole)
        async with asyncio.timeout(PATIENCE):
            await outlast(lambda: backplane.append(f"{lost}/l", b"x", ttl=600, keep=9, mark="0" * 16))
        await heard(bells[0])
        assert backplane.alive


async def test_a_replica_that_takes_over_is_found(
    own_cluster: RedisCluster, launch_redis: Callable[..., RedisServer]
) -> None:
    master = own_cluster.masters[0]
    scope = own_cluster.scope_of(master)
    own_cluster.add_replica(master, launch_redis(*node_options()))
    async with RedisBackplane.at(own_cluster.url, namespace="test") as backplane:
        async with backplane.watch(f"{scope}/l", poll=600) as bell:
            await heard(bell)
            master.kill()
            async with asyncio.timeout(PATIENCE):
                await outlast(lambda: backplane.open(f"{scope}/l", ttl=600))
                await outlast(lambda: backplane.append(f"{scope}/l", b"x", ttl=600, keep=9, mark="0" * 16))
            await heard(bell)
        assert len(backplane.servers.nodes) == 3


async def test_any_seed_that_answers_will_do(own_cluster: RedisCluster) -> None:
    dead, alive, _ = own_cluster.masters
    dead.kill()
    url = f"redis+cluster://127.0.0.1:{dead.port},127.0.0.1:{alive.port}"
    async with RedisBackplane.at(url, namespace="test") as backplane:
        for master in own_cluster.masters[1:]:
            assert await backplane.put(f"{own_cluster.scope_of(master)}/a", b"x", ttl=60)


async def test_a_cluster_that_is_away_at_the_start_is_an_outage_like_any_other(own_cluster: RedisCluster) -> None:
    for master in own_cluster.masters:
        master.kill()
    async with RedisBackplane.at(own_cluster.url, namespace="test") as backplane:
        with pytest.raises(Unavailable, match="no node of the Cluster answers") as refused:
            await backplane.put("s/a", b"x", ttl=60)
        assert not isinstance(refused.value, InDoubt)
        for master in own_cluster.masters:
            master.start()
        async with asyncio.timeout(PATIENCE):
            assert await outlast(lambda: backplane.put("s/a", b"x", ttl=60))


async def test_slots_that_nobody_serves_are_unavailable(launch_redis: Callable[..., RedisServer]) -> None:
    node = launch_redis(*node_options())
    async with RedisBackplane.at(f"redis+cluster://127.0.0.1:{node.port}", namespace="test") as backplane:
        with pytest.raises(Unavailable, match="no node of the Cluster serves this slot"):
            await backplane.get("s/a")


async def test_nodes_that_send_a_command_to_each_other_for_ever_are_unavailable(own_cluster: RedisCluster) -> None:
    own_cluster.begin(SCOPE).deny()
    async with RedisBackplane.at(own_cluster.url, namespace="test") as backplane:
        for _ in range(3):
            with pytest.raises(Unavailable, match="do not agree") as refused:
                await backplane.get("s/a")
            assert not isinstance(refused.value, InDoubt)


async def test_however_many_commands_are_sent_elsewhere_the_map_is_asked_for_once_in_a_while(
    own_cluster: RedisCluster,
) -> None:
    loop = asyncio.get_running_loop()
    async with RedisBackplane.at(own_cluster.url, namespace="test") as backplane:
        began = loop.time()
        for turn in range(5):
            own_cluster.move(SCOPE)
            await asyncio.gather(*(backplane.put(f"s/{n}", b"%d" % turn, ttl=60) for n in range(200)))
        asked = 0
        for master in own_cluster.masters:
            with master.client() as client:
                asked += client.info("commandstats").get("cmdstat_cluster|slots", {"calls": 0})["calls"]
        passed = loop.time() - began
    assert 1 <= asked <= 2 + passed / (PAUSE / 2)


async def test_a_forced_reconnect_rings_every_bell_of_every_master(
    views: tuple[RedisBackplane, RedisBackplane], running_cluster: RedisCluster
) -> None:
    here, _ = views
    async with AsyncExitStack() as stack:
        logs = [f"{running_cluster.scope_of(master)}/l" for master in running_cluster.masters]
        bells = [await stack.enter_async_context(here.watch(log, poll=600)) for log in logs]
        for bell in bells:
            await heard(bell)
        here.reconnect()
        for bell in bells:
            await heard(bell)


async def test_a_single_server_at_a_clusters_url_is_refused_at_the_start(redis_server: SharedRedis) -> None:
    host = urlsplit(redis_server.url).netloc
    with pytest.raises(SettingsError, match="not a node of a Cluster"):
        async with RedisBackplane.at(f"redis+cluster://{host}", namespace="test"):
            pass


@pytest.mark.parametrize("durability", ["replicas:1", "fsync"])
async def test_a_durability_is_refused_on_a_cluster(durability: str) -> None:
    with pytest.raises(SettingsError, match="Cluster"):
        async with RedisBackplane.at("redis+cluster://127.0.0.1:1", namespace="test", durability=durability):
            pass


async def test_an_option_that_cannot_be_used_is_refused_at_once() -> None:
    with pytest.raises(SettingsError, match="option"):
        async with RedisBackplane.at("redis+cluster://127.0.0.1:1?colour=red", namespace="test"):
            pass
