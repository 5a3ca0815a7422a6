"""What is special to the store in Redis: what it is called, and what it does when it is evicted, full, or a replica."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from importlib import resources

import pytest

from mcpfleet.backplane.base import ABSENT, EMPTY, READ_BYTES, Entry, Plan, Position, Put, Taken, Unplan, mint
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.backplane.rediscontrol import RedisControl
from mcpfleet.backplane.scripts import Scripts
from mcpfleet.errors import InDoubt, LogGap, LogGone, LogMoved, NameRefused, Unavailable
from tests.backplane.conftest import only_node
from tests.redis_server import RedisServer, SharedRedis, connect

LOG = "s/l"


@pytest.fixture
async def backplane(redis_server: SharedRedis, namespace: str) -> AsyncIterator[RedisBackplane]:
    async with RedisBackplane.at(redis_server.url, namespace=namespace) as backplane:
        yield backplane


async def filled(backplane: RedisBackplane) -> tuple[Position, Position]:
    """A log of three entries: its start and its end."""
    start = await backplane.open(LOG, ttl=60)
    for number in range(3):
        end = await backplane.append(LOG, b"%d" % number, ttl=60, keep=9)
    return start, end


async def test_every_key_has_the_namespace_the_layout_and_the_scope_as_hash_tag(
    backplane: RedisBackplane, namespace: str
) -> None:
    await filled(backplane)
    await backplane.put("s/a/b", b"x", ttl=60)
    await backplane.admit("s/p", "m", ttl=60, cap=1)
    await backplane.commit(Plan("s/q", "m", 0, 60), expect={})
    names = await RedisControl(backplane).names()
    rests = ("a/b", "l#entries", "l#marks", "l#meta", "p#pool", "q#agenda")
    assert names == [f"{namespace}:1:{{s}}:{rest}" for rest in rests]


async def test_two_namespaces_see_nothing_of_each_other(
    backplane: RedisBackplane, redis_server: SharedRedis, namespace: str
) -> None:
    async with RedisBackplane.at(redis_server.url, namespace=f"{namespace}-other") as other:
        await filled(backplane)
        await backplane.put("s/a", b"x", ttl=60)
        assert await other.get("s/a") is None
        with pytest.raises(LogGone):
            await other.open(LOG, ttl=60, create=False)


async def test_refused_names_and_impossible_positions_cost_no_command(backplane: RedisBackplane) -> None:
    commands = only_node(backplane).link.commands
    for text in (
        "1-0",
        "9" * 16 + "-" + "0" * 16,
        "-1-" + "0" * 16,
        "\uff11-" + "0" * 16,
        "1-" + "g" * 16,
        "1" * 10**6,
    ):
        with pytest.raises(ValueError, match="position"):
            Position.parse(text)
    for offset in (-1, 2**64, 10**4000):
        with pytest.raises(ValueError, match="position"):
            Position(offset, mint())
    for name in ("{s}/l", "s/{l}", "l", "s/l#meta"):
        with pytest.raises(NameRefused):
            await backplane.open(name, ttl=60)
    assert only_node(backplane).link.commands == commands


async def test_a_position_as_far_as_one_can_go_is_a_gap(backplane: RedisBackplane) -> None:
    await filled(backplane)
    for offset in (999_999_999_999_999, 4):
        with pytest.raises(LogGap):
            await backplane.read(LOG, after=Position(offset, mint()))


async def test_a_log_whose_meta_was_evicted_is_gone_and_reopens_empty_and_usable(
    backplane: RedisBackplane, redis_server: SharedRedis
) -> None:
    start, end = await filled(backplane)
    await only_node(backplane).link.submit(b"DEL", backplane.layout.log(LOG).meta)
    for position in (start, end):
        with pytest.raises(LogGap):
            await backplane.read(LOG, after=position)
    with pytest.raises(LogGone):
        await backplane.append(LOG, b"x", ttl=60, keep=9)
    with pytest.raises(LogGone):
        await backplane.open(LOG, ttl=60, create=False)
    reopened = await backplane.open(LOG, ttl=60)
    assert reopened.offset == 0
    assert await backplane.read(LOG, after=reopened) == []
    entry = await backplane.append(LOG, b"new", ttl=60, keep=9)
    assert await backplane.read(LOG, after=reopened) == [Entry(entry, b"new")]
    with pytest.raises(LogGap):
        await backplane.read(LOG, after=start)


async def test_a_log_whose_entries_were_evicted_is_a_gap_and_goes_on(backplane: RedisBackplane) -> None:
    start, end = await filled(backplane)
    await only_node(backplane).link.submit(b"DEL", backplane.layout.log(LOG).entries)
    with pytest.raises(LogGap):
        await backplane.read(LOG, after=start)
    assert await backplane.read(LOG, after=end) == []
    last = await backplane.append(LOG, b"new", ttl=60, keep=9)
    assert await backplane.read(LOG, after=end) == [Entry(last, b"new")]
    with pytest.raises(LogGap):
        await backplane.read(LOG, after=start)


async def test_after_an_empty_restart_every_position_is_a_gap(own_redis: RedisServer) -> None:
    async with RedisBackplane.at(own_redis.url, namespace="test") as backplane:
        start, end = await filled(backplane)
        with own_redis.client() as client:
            client.flushall()
        for position in (start, end):
            with pytest.raises(LogGap):
                await backplane.read(LOG, after=position)
        with pytest.raises(LogGone):
            await backplane.append(LOG, b"x", ttl=60, keep=9, expect=end)


async def test_reading_a_living_log_again_and_again_writes_nothing(own_redis: RedisServer) -> None:
    async with RedisBackplane.at(own_redis.url, namespace="test") as backplane:
        start, _ = await filled(backplane)
        with own_redis.client() as client:
            client.config_resetstat()
            for _ in range(50):
                await backplane.read(LOG, after=start, ttl=60)
            assert "cmdstat_pexpire" not in client.info("commandstats")
            await RedisControl(backplane).age(40)
            client.config_resetstat()
            for _ in range(50):
                await backplane.read(LOG, after=start, ttl=60)
            assert client.info("commandstats")["cmdstat_pexpire"]["calls"] == 2


async def test_a_refused_append_rings_nobody(own_redis: RedisServer) -> None:
    async with RedisBackplane.at(own_redis.url, namespace="test") as backplane:
        start, _ = await filled(backplane)
        with own_redis.client() as client:
            client.config_resetstat()
            for expect in (start, EMPTY):
                with pytest.raises(LogMoved):
                    await backplane.append(LOG, b"x", ttl=60, keep=9, expect=expect)
            calls = client.info("commandstats")
    assert not {"cmdstat_publish", "cmdstat_xadd", "cmdstat_pexpire", "cmdstat_hset"} & calls.keys()


async def test_no_read_asks_for_more_than_its_budget_however_large_the_backlog(own_redis: RedisServer) -> None:
    async with RedisBackplane.at(own_redis.url, namespace="test", command_timeout=10) as backplane:
        start = await backplane.open(LOG, ttl=600)
        await backplane.append(LOG, b"small", ttl=600, keep=99)
        for _ in range(20):
            await backplane.append(LOG, bytes(READ_BYTES), ttl=600, keep=99)
        with own_redis.client() as client:
            position, sizes = start, []
            while page := await backplane.read(LOG, after=position):
                sizes.append(sum(len(entry.data) for entry in page))
                position = page[-1].position
            peak = client.info("memory")["used_memory_peak"] - client.info("memory")["used_memory"]
    assert max(sizes) <= 2 * READ_BYTES
    assert sum(sizes) == 5 + 20 * READ_BYTES
    assert peak < 16 * READ_BYTES


@pytest.fixture
async def full(own_redis: RedisServer) -> AsyncIterator[RedisBackplane]:
    """A Redis with some things in it that then became full."""
    async with RedisBackplane.at(own_redis.url, namespace="test") as backplane:
        await filled(backplane)
        await backplane.put("s/a", b"token", ttl=60)
        await backplane.admit("s/p", "member", ttl=60, cap=5)
        await backplane.put("s/record", b"1", ttl=60)
        await backplane.commit(Plan("s/queue", "a", 0, 60), expect={})
        with own_redis.client() as client:
            client.config_set("maxmemory", "1mb")
        yield backplane
        with own_redis.client() as client:
            client.config_set("maxmemory", "0")


async def test_a_full_redis_refuses_what_is_new_and_nothing_is_half_written(full: RedisBackplane) -> None:
    end = await full.open(LOG, ttl=60, create=False)
    before = await RedisControl(full).save()
    for refused in (
        full.put("s/new", b"x", ttl=60),
        full.put("s/new", b"x", ttl=60, expect=ABSENT),
        full.put("s/a", b"other", ttl=60, expect=b"token"),
        full.open("s/new", ttl=60),
        full.append(LOG, b"x", ttl=60, keep=9),
        full.append(LOG, b"x", ttl=60, keep=9, expect=end),
        full.commit(Put("s/new", b"x", 60), Plan("s/queue", "b", 0, 60), expect={"s/new": ABSENT}),
    ):
        with pytest.raises(Unavailable, match="OOM") as error:
            await refused
        assert not isinstance(error.value, InDoubt)
    after = await RedisControl(full).save()
    assert [(key.name, key.value) for key in before] == [(key.name, key.value) for key in after]
    assert only_node(full).link.connections == 1


async def test_a_full_redis_serves_what_is_alive(full: RedisBackplane) -> None:
    end = await full.open(LOG, ttl=60, create=False)
    assert await full.get("s/a") == await full.get("s/a", ttl=60) == b"token"
    assert await full.put("s/a", b"token", ttl=60, expect=b"token")
    assert await full.read(LOG, after=end, ttl=600) == []
    assert await full.admit("s/p", "member", ttl=60, cap=5) == 0
    assert await full.admit("s/p", "member", ttl=0, cap=5) == 0
    assert await full.take("s/queue", hold=60) == Taken(("a",), None)
    done = Put("s/record", b"22", 60), Unplan("s/queue", "a"), Plan("s/ends", "a", 60, 60)
    assert await full.commit(*done, expect={"s/record": b"1"})
    async with asyncio.timeout(5), full.watch(LOG, poll=60) as bell:
        await bell.rung()
        assert await full.delete(LOG)
        await bell.rung()
    assert await full.delete("s/a", expect=b"token")


async def test_a_redis_that_became_a_replica_decides_nothing_and_serves_no_stale_log(
    launch_redis: Callable[..., RedisServer],
) -> None:
    master, server = launch_redis(), launch_redis()
    async with RedisBackplane.at(server.url, namespace="test") as backplane:
        start, _ = await filled(backplane)
        with server.client() as client:
            client.replicaof("127.0.0.1", str(master.port))
            for verb in (
                lambda: backplane.read(LOG, after=start),
                lambda: backplane.append(LOG, b"x", ttl=60, keep=9),
                lambda: backplane.commit(Unplan("s/q", "m"), expect={}),
                lambda: backplane.take("s/q", hold=60),
                lambda: backplane.get("s/a", ttl=60),
                lambda: backplane.get("s/a"),  # by now the connection is known to end at a replica
            ):
                with pytest.raises(Unavailable) as refused:
                    await verb()
                assert not isinstance(refused.value, InDoubt)
            client.replicaof("NO", "ONE")
    with master.client() as client:
        assert client.dbsize() == 0


async def test_a_master_cut_off_from_its_replicas_answers_no_script_reads_included(own_redis: RedisServer) -> None:
    async with RedisBackplane.at(own_redis.url, namespace="test") as backplane:
        start, _ = await filled(backplane)
        with own_redis.client() as client:
            client.config_set("min-replicas-to-write", 1)
        for refused in (
            backplane.read(LOG, after=start),
            backplane.append(LOG, b"x", ttl=60, keep=9),
            backplane.commit(Unplan("s/q", "m"), expect={}),
            backplane.take("s/q", hold=60),
        ):
            with pytest.raises(Unavailable):
                await refused
        with own_redis.client() as client:
            client.config_set("min-replicas-to-write", 0)


async def test_an_eviction_policy_that_voids_promises_is_said_once(
    launch_redis: Callable[..., RedisServer], caplog: pytest.LogCaptureFixture
) -> None:
    server = launch_redis("--maxmemory-policy", "allkeys-lru")
    async with RedisBackplane.at(server.url, namespace="test") as backplane:
        assert await backplane.put("s/a", b"x", ttl=60)
    assert [record.levelname for record in caplog.records if "allkeys-lru" in record.message] == ["WARNING"]
    assert "sessions" in caplog.text


_NUMBERS_WITH_EXPONENTS = b"""
local real = redis
local redis = {call = function(...)
  local given = {...}
  for i, each in ipairs(given) do
    if type(each) == 'number' and each >= 1e8 and each % 1e8 == 0 then given[i] = string.format('%.9e', each) end
  end
  return real.call(unpack(given))
end}
"""
"""What some servers do to the numbers of a script (https://github.com/redis/redis/issues/13113)."""


async def test_lives_of_round_numbers_are_kept_by_servers_that_write_exponents(
    redis_server: SharedRedis, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = 1_000_000.0
    changed = {
        each.name: replace(each, text=each.text.replace(b"\n", _NUMBERS_WITH_EXPONENTS, 1), digest=b"0" * 40)
        for each in Scripts.load()
    }  # which no server knows by that digest, so that they are sent whole
    monkeypatch.setattr(Scripts, "load", lambda: Scripts(**changed))
    async with RedisBackplane.at(redis_server.url, namespace=namespace) as backplane:
        await backplane.put("s/a", b"1", ttl=60)
        assert await backplane.put("s/a", b"2", ttl=long, expect=b"1")
        await backplane.put("s/b", b"1", ttl=60)
        assert await backplane.put("s/b", b"1", ttl=long, expect=b"1")
        await backplane.open("s/old", ttl=60)
        await backplane.open("s/old", ttl=long, create=False)
        await backplane.read("s/read", after=await backplane.open("s/read", ttl=60), ttl=long)
        await backplane.open(LOG, ttl=long)
        await backplane.append(LOG, b"x", ttl=long, keep=9)
        assert await backplane.admit("s/p", "m", ttl=long, cap=1) == 0
        assert await backplane.commit(Put("s/c", b"1", long), Plan("s/q", "m", 0, long), expect={"s/c": ABSENT})
        assert await backplane.take("s/q", hold=long) == Taken(("m",), None)
        keys = await RedisControl(backplane).save()
    with connect(redis_server.url) as client:
        seconds, _ = client.time()
    assert {key.name.rpartition(b":")[2]: key.ends / 1000 - seconds for key in keys} == pytest.approx(
        dict.fromkeys(
            (
                *(b"a", b"b", b"old#meta", b"read#meta"),
                *(b"l#entries", b"l#meta", b"l#marks", b"p#pool", b"c", b"q#agenda"),
            ),
            long,
        ),
        abs=60,
    )


def scripts() -> dict[str, str]:
    """The text of every script by its name."""
    folder = resources.files("mcpfleet.backplane").joinpath("lua")
    return {each.name: each.read_text() for each in folder.iterdir() if each.name.endswith(".lua")}


@pytest.mark.parametrize("name", sorted(scripts()))
def test_every_script_says_what_it_takes_and_runs_on_masters_only(name: str) -> None:
    text = scripts()[name]
    assert re.match(r"#!lua( flags=allow-oom)?\n-- [A-Z]", text)
    assert re.search(r"^-- KEYS: .+\n(-- .*\n)*(-- ARGV: .+\n(-- .*\n)*)?-- ->    .+\n", text, re.MULTILINE)
    assert "no-writes" not in text.partition("\n")[0]


@pytest.mark.parametrize("name", sorted(scripts()))
def test_a_script_that_runs_on_a_full_redis_adds_nothing_but_places(name: str) -> None:
    head, _, body = scripts()[name].partition("\n")
    grows = set(re.findall(r"redis\.call\('(SET|HSET|HINCRBY|XADD|ZADD)'", body))
    assert ("allow-oom" in head) == (not grows or grows == {"ZADD"})
