"""The command connection, against a real Redis that is cut off, frozen, restarted and refused."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import pytest

from mcpfleet.backplane.base import ABSENT, Position, mint
from mcpfleet.backplane.dial import dialer
from mcpfleet.backplane.follow import follow
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.errors import BackplaneError, InDoubt, LogMoved, SettingsError, Unavailable
from tests.backplane.conftest import answered, only_node
from tests.backplane.proxy import Proxy, proxy
from tests.redis_server import RedisServer, SharedRedis, free_port
from tests.redis_tls import TlsRedis

PATIENCE = 20.0


@pytest.fixture
async def backplane(redis_server: SharedRedis, namespace: str) -> AsyncIterator[RedisBackplane]:
    async with RedisBackplane.at(redis_server.url, namespace=namespace) as backplane:
        yield backplane


@pytest.fixture
async def wire(redis_server: SharedRedis) -> AsyncIterator[Proxy]:
    async with proxy(redis_server.url) as wire:
        yield wire


@pytest.fixture
async def wired(wire: Proxy, namespace: str) -> AsyncIterator[RedisBackplane]:
    async with RedisBackplane.at(wire.url, namespace=namespace) as backplane:
        yield backplane


async def test_all_commands_of_one_turn_go_out_in_one_write(backplane: RedisBackplane) -> None:
    link = only_node(backplane).link
    commands, writes = link.commands, link.writes
    await asyncio.gather(*(backplane.put(f"s/{n}", b"x", ttl=60) for n in range(100)))
    assert (link.commands - commands, link.writes - writes) == (100, 1)


async def test_each_caller_gets_its_own_reply(backplane: RedisBackplane) -> None:
    await asyncio.gather(*(backplane.put(f"s/{n}", b"%d" % n, ttl=60) for n in range(500)))
    assert await asyncio.gather(*(backplane.get(f"s/{n}") for n in range(500))) == [b"%d" % n for n in range(500)]


async def test_no_reply_reaches_another_caller_in_a_storm_of_cancels(backplane: RedisBackplane) -> None:
    chance = random.Random(7)
    await asyncio.gather(*(backplane.put(f"s/{n}", b"value of %d" % n, ttl=60) for n in range(50)))

    async def ask() -> int:
        answered = 0
        for _ in range(200):
            number = chance.randrange(50)
            try:
                async with asyncio.timeout(chance.choice([0, 0.0001, 0.0005, 5])):
                    assert await backplane.get(f"s/{number}") == b"value of %d" % number
            except TimeoutError:
                continue
            answered += 1
        return answered

    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(ask()) for _ in range(30)]
    assert 0 < sum(task.result() for task in asking) < 30 * 200
    assert only_node(backplane).link.connections == 1


async def test_a_command_cancelled_in_its_own_turn_is_never_sent(backplane: RedisBackplane) -> None:
    writing = asyncio.ensure_future(backplane.put("s/a", b"x", ttl=60))
    await asyncio.sleep(0)
    commands = only_node(backplane).link.commands
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await backplane.get("s/a") is None
    assert only_node(backplane).link.commands - commands == 1


async def test_too_many_commands_under_way_are_refused_at_once(redis_server: SharedRedis, namespace: str) -> None:
    async with RedisBackplane.at(redis_server.url, namespace=namespace, max_commands=3) as backplane:
        outcomes = await asyncio.gather(*(backplane.get("s/a") for _ in range(5)), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [type(None)] * 3 + [Unavailable] * 2
        assert await backplane.get("s/a") is None


async def test_what_was_sent_when_the_connection_is_cut_is_in_doubt_and_is_not_sent_again(
    wire: Proxy, wired: RedisBackplane, backplane: RedisBackplane
) -> None:
    start = await wired.open("s/l", ttl=60)
    wire.hold_replies()
    async with asyncio.timeout(PATIENCE), aclosing(follow(backplane, "s/l", start, ttl=60)) as entries:
        appending = asyncio.ensure_future(wired.append("s/l", b"x", ttl=60, keep=9))
        await anext(entries)
        wire.cut()
        with pytest.raises(InDoubt):
            await appending
    wire.release_replies()
    await answered(wired)
    assert only_node(wired).link.connections == 2
    assert len(await wired.read("s/l", after=start)) == 1


async def test_a_reply_that_does_not_come_in_time_is_doubt_and_costs_the_connection(
    wire: Proxy, wired: RedisBackplane
) -> None:
    await wired.put("s/a", b"x", ttl=60)
    wire.hold_replies()
    outcomes = await asyncio.gather(wired.get("s/a"), wired.put("s/b", b"y", ttl=60), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [InDoubt, InDoubt]
    with pytest.raises(Unavailable) as refused:
        await wired.get("s/a")
    assert not isinstance(refused.value, InDoubt)
    wire.release_replies()
    await answered(wired)
    assert await wired.get("s/a") == b"x"


async def test_while_the_connection_is_replaced_commands_wait_for_the_new_one(
    wire: Proxy, wired: RedisBackplane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpfleet.backplane.reconnect.LASTING", 0)  # as if the connection had lived longer
    wire.hold_replies()
    wire.forwarded.clear()
    asking = asyncio.ensure_future(wired.get("s/a"))
    await wire.forwarded.wait()
    wire.cut()
    with pytest.raises(InDoubt):
        await asking
    wire.release_replies()
    assert await asyncio.gather(*(wired.put(f"s/{n}", b"x", ttl=60) for n in range(20))) == [True] * 20
    assert only_node(wired).link.connections == 2


async def test_what_waits_in_vain_for_a_new_connection_was_never_sent(
    wire: Proxy, wired: RedisBackplane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpfleet.backplane.reconnect.LASTING", 0)
    wire.hold_replies()
    with pytest.raises(InDoubt):
        await wired.get("s/a")
    with pytest.raises(Unavailable) as waited:
        await wired.put("s/a", b"x", ttl=60)
    assert not isinstance(waited.value, InDoubt)
    wire.release_replies()
    await answered(wired)
    assert await wired.get("s/a") is None


async def test_a_process_that_slept_past_a_deadline_first_reads_what_has_come(
    redis_server: SharedRedis, namespace: str
) -> None:
    async with RedisBackplane.at(redis_server.url, namespace=namespace, command_timeout=0.1) as backplane:
        asking = asyncio.ensure_future(backplane.get("s/a"))
        for _ in range(3):
            await asyncio.sleep(0)
        stall(0.5)
        assert await asking is None
        assert only_node(backplane).link.connections == 1


def stall(seconds: float) -> None:
    """Hold the event loop, as a long garbage collection or a stopped process does."""
    time.sleep(seconds)


async def test_while_redis_is_away_commands_fail_without_being_sent(own_redis: RedisServer) -> None:
    async with RedisBackplane.at(own_redis.url, namespace="test") as backplane:
        assert await backplane.put("s/a", b"x", ttl=60)
        own_redis.kill()
        sent = None
        for _ in range(100):
            with pytest.raises(Unavailable):
                await backplane.put("s/b", b"y", ttl=60)
            sent = sent or only_node(backplane).link.commands
        assert only_node(backplane).link.commands == sent
        own_redis.start()
        await answered(backplane)
        assert await backplane.get("s/a") == b"x"
        assert backplane.alive


async def test_a_frozen_redis_is_waited_for_once_and_runs_each_write_at_most_once(own_redis: RedisServer) -> None:
    async with RedisBackplane.at(own_redis.url, namespace="test", connect_timeout=0.5) as backplane:
        start = await backplane.open("s/l", ttl=60)
        mark = mint()
        own_redis.freeze()
        with pytest.raises(InDoubt):
            await backplane.append("s/l", b"x", ttl=60, keep=9, expect=start, mark=mark)
        for _ in range(20):
            with pytest.raises(Unavailable) as refused:
                await backplane.append("s/l", b"x", ttl=60, keep=9, expect=start, mark=mark)
            assert not isinstance(refused.value, InDoubt)
        own_redis.thaw()
        await answered(backplane)
        assert await backplane.append("s/l", b"x", ttl=60, keep=9, expect=start, mark=mark) == Position(1, mark)
        assert len(await backplane.read("s/l", after=start)) == 1


async def test_scripts_survive_a_restart_and_appends_keep_their_order(own_redis: RedisServer) -> None:
    async with RedisBackplane.at(own_redis.url, namespace="test") as backplane:
        start = await backplane.open("s/l", ttl=60)
        own_redis.restart()
        await answered(backplane)
        await asyncio.gather(*(backplane.append("s/l", b"%d" % n, ttl=60, keep=99) for n in range(20)))
        entries = await backplane.read("s/l", after=start)
        assert [entry.data for entry in entries] == [b"%d" % n for n in range(20)]


async def test_a_server_that_forgot_its_scripts_is_told_them_again(own_redis: RedisServer) -> None:
    async with RedisBackplane.at(own_redis.url, namespace="test") as backplane:
        start = await backplane.open("s/l", ttl=60)
        with own_redis.client() as client:
            client.script_flush()
        end = await backplane.append("s/l", b"x", ttl=60, keep=9)
        assert [entry.position for entry in await backplane.read("s/l", after=start)] == [end]
        assert only_node(backplane).link.connections == 1


async def test_a_process_may_start_while_redis_is_away(own_redis: RedisServer) -> None:
    own_redis.stop()
    async with RedisBackplane.at(own_redis.url, namespace="test") as backplane:
        with pytest.raises(Unavailable):
            await backplane.get("s/a")
        own_redis.start()
        await answered(backplane)
        assert await backplane.put("s/a", b"x", ttl=60)


async def test_after_the_block_nothing_is_sent(redis_server: SharedRedis, namespace: str) -> None:
    async with RedisBackplane.at(redis_server.url, namespace=namespace) as backplane:
        assert backplane.alive
    assert not backplane.alive
    with pytest.raises(Unavailable):
        await backplane.get("s/a")


async def test_what_is_under_way_when_the_block_ends_is_in_doubt(wire: Proxy, namespace: str) -> None:
    async with RedisBackplane.at(wire.url, namespace=namespace) as backplane:
        wire.hold_replies()
        wire.forwarded.clear()
        asking = asyncio.ensure_future(backplane.get("s/a"))
        await wire.forwarded.wait()
    with pytest.raises(InDoubt):
        await asking


async def test_an_exception_of_the_block_leaves_it_as_it_is(redis_server: SharedRedis, namespace: str) -> None:
    with pytest.raises(LogMoved):
        async with RedisBackplane.at(redis_server.url, namespace=namespace):
            raise LogMoved("1-0123456789abcdef")


@pytest.mark.parametrize(
    "error",
    [
        b"LOADING Redis is loading the dataset in memory",
        b"READONLY You can't write against a read only replica.",
        b"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        b"NOREPLICAS Not enough good replicas to write.",
        b"CLUSTERDOWN The cluster is down",
    ],
)
async def test_a_server_that_may_not_decide_is_left(wire: Proxy, wired: RedisBackplane, error: bytes) -> None:
    wire.lie(b"-%b\r\n" % error)
    with pytest.raises(Unavailable) as refused:
        await wired.put("s/a", b"x", ttl=60)
    assert not isinstance(refused.value, InDoubt)
    await answered(wired)
    assert only_node(wired).link.connections == 2


@pytest.mark.parametrize(
    "error",
    [
        b"OOM command not allowed when used memory > 'maxmemory'.",
        b"BUSY Redis is busy running a script.",
        b"MISCONF no",
    ],
)
async def test_a_server_that_cannot_now_is_kept(wire: Proxy, wired: RedisBackplane, error: bytes) -> None:
    wire.lie(b"-%b\r\n" % error)
    with pytest.raises(Unavailable):
        await wired.put("s/a", b"x", ttl=60)
    assert await wired.put("s/a", b"x", ttl=60)
    assert only_node(wired).link.connections == 1


async def test_any_other_refusal_is_an_error_of_ours(wire: Proxy, wired: RedisBackplane) -> None:
    wire.lie(b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n")
    with pytest.raises(BackplaneError) as refused:
        await wired.get("s/a")
    assert not isinstance(refused.value, Unavailable)
    assert await wired.get("s/a") is None


async def test_a_server_that_speaks_nonsense_is_left(wire: Proxy, wired: RedisBackplane) -> None:
    wire.lie(b"!!!\r\n")
    with pytest.raises(InDoubt):
        await wired.get("s/a")
    await answered(wired)


async def test_a_reply_to_no_command_costs_the_connection(wire: Proxy, wired: RedisBackplane) -> None:
    await wired.put("s/a", b"mine", ttl=60)
    wire.lie(b"$5\r\nother\r\n$5\r\nother\r\n")
    assert await wired.get("s/b") == b"other"
    await answered(wired)
    assert await wired.get("s/a") == b"mine"
    assert only_node(wired).link.connections == 2


@pytest.mark.parametrize(
    "query", ["", "?retry_on_timeout=true", "?health_check_interval=1&protocol=3&socket_timeout=9"]
)
async def test_redis_py_retries_nothing(query: str, redis_server: SharedRedis) -> None:
    async with dialer(f"{redis_server.url}{query}", timeout=5, name="test")() as connection:
        retry = getattr(connection, "retry")  # noqa: B009 - redis-py's own attribute, which our protocol does not show
        assert retry.get_retries() == 0
        assert not getattr(connection, "retry_on_error")  # noqa: B009 - likewise
        assert getattr(connection, "socket_timeout") is None  # noqa: B009 - likewise


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost",
        "http://127.0.0.1",
        "redis://127.0.0.1/0?colour=red",
        "redis://127.0.0.1/0?db=x",
        "redis://127.0.0.1/cache",
        "redis://127.0.0.1:port/0",
        "redis://:secret/word@127.0.0.1/0",
    ],
)
async def test_a_url_that_cannot_be_used_is_refused_at_once(url: str) -> None:
    with pytest.raises(SettingsError, match="URL") as refused:
        async with RedisBackplane.at(url, namespace="test"):
            pass
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("namespace", ["", "my server", "{x}", "a/b"])
async def test_a_namespace_that_cannot_be_used_is_refused_at_once(redis_server: SharedRedis, namespace: str) -> None:
    with pytest.raises(SettingsError, match="namespace"):
        async with RedisBackplane.at(redis_server.url, namespace=namespace):
            pass


async def test_a_server_that_will_not_do_is_refused_at_the_start(launch_redis: Callable[..., RedisServer]) -> None:
    node = launch_redis("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    with pytest.raises(SettingsError, match="Cluster"):
        async with RedisBackplane.at(node.url, namespace="test"):
            pass


async def test_user_password_and_database_of_the_url_are_used(own_redis: RedisServer) -> None:
    with own_redis.client() as client:
        client.execute_command(
            "ACL", "SETUSER", "fleet", "on", ">p@ss/word", "~test:*", "&test:*", "+@all", "-@dangerous", "+info"
        )
    url = f"redis://fleet:p%40ss%2Fword@127.0.0.1:{own_redis.port}/3"
    async with RedisBackplane.at(url, namespace="test") as backplane:
        assert await backplane.put("s/a", b"x", ttl=60, expect=ABSENT)
        await backplane.open("s/l", ttl=60)
        async with asyncio.timeout(PATIENCE), backplane.watch("s/l", poll=60) as bell:
            await backplane.append("s/l", b"x", ttl=60, keep=9)
            await bell.rung()
    with own_redis.client() as client:
        client.select(3)
        assert client.get("test:1:{s}:a") == b"x"


async def test_a_wrong_password_is_an_outage_with_a_reason(own_redis: RedisServer) -> None:
    async with RedisBackplane.at(f"redis://nobody:wrong@127.0.0.1:{own_redis.port}/0", namespace="test") as backplane:
        with pytest.raises(Unavailable, match="password"):
            await backplane.get("s/a")


async def test_a_unix_socket_is_used(
    launch_redis: Callable[..., RedisServer], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("socket") / "redis.sock"
    server = launch_redis("--unixsocket", str(path))
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "fleet", "on", ">secret", "~*", "+@all")
    async with RedisBackplane.at(f"unix://fleet:secret@{path}?db=2", namespace="test") as backplane:
        assert await backplane.put("s/a", b"x", ttl=60)
    with server.client() as client:
        client.select(2)
        assert client.get("test:1:{s}:a") == b"x"


async def test_a_tls_server_is_used_if_its_certificate_is_trusted(tls_redis: TlsRedis) -> None:
    async with RedisBackplane.at(tls_redis.url(), namespace="test") as trusting:
        assert await trusting.put("s/a", b"x" * 100_000, ttl=60)
        assert await trusting.get("s/a") == b"x" * 100_000
    async with RedisBackplane.at(tls_redis.url(trusted=False), namespace="test") as doubting:
        with pytest.raises(Unavailable, match="certificate"):
            await doubting.get("s/a")
