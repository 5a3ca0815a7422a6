"""`mcpfleet doctor`: what would not work is found before anybody relies on it, and told with what mends it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpfleet.backplane.keyring import Keyring
from mcpfleet_service.doctor import edge, examined, offer, store
from mcpfleet_service.doctor.finding import Finding, Grade
from mcpfleet_service.doctor.store import COMMANDS
from mcpfleet_service.settings import Settings
from mcpfleet_service.store import redis_of
from tests.processes import environment, python
from tests.redis_cluster import RedisCluster
from tests.redis_server import RedisServer
from tests.wall_clock import WallClock

KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
OTHER_KEY = "HwECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
APP = "tests.servers.basic:server"


def doctor(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        python("-m", "mcpfleet_service.cli", "doctor", *arguments),
        env=environment(environ), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def only(findings: list[Finding], subject: str) -> Finding:
    """The one finding about something."""
    (found,) = (each for each in findings if each.subject == subject)
    return found


async def of_redis(server: RedisServer, **more: str) -> list[Finding]:
    """What is found of a store."""
    settings = Settings.from_environment({"MCPFLEET_REDIS_URL": server.url, **more})
    return [*await store.examined(settings, "examined")]


def test_a_sound_configuration_is_fine_and_leaves_nothing_behind(own_redis: RedisServer) -> None:
    ended = doctor(APP, MCPFLEET_REDIS_URL=own_redis.url, MCPFLEET_KEY_ENCRYPTION_KEY=KEY)
    assert (ended.returncode, ended.stderr) == (0, "")
    grades = {line.split()[1]: line.split()[0] for line in ended.stdout.splitlines()}
    assert grades == dict.fromkeys(
        ("hosts", "limits", "server", "redis", "eviction", "disk", "clock", "access", "keys"), "ok"
    )
    with own_redis.client() as client:
        assert client.dbsize() == 0


def test_a_fault_is_an_exit_code(tmp_path: Path) -> None:
    ended = doctor(APP, MCPFLEET_REDIS_URL=f"unix://{tmp_path}/nowhere")
    assert ended.returncode == 1
    assert "fault    redis        it cannot be used" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr


def test_what_no_setting_can_be_is_told_by_its_variable() -> None:
    ended = doctor(APP, MCPFLEET_PORT="high")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "MCPFLEET_PORT" in ended.stderr


async def test_all_of_it_is_looked_at() -> None:
    subjects = [each.subject for each in await examined(Settings(app=APP))]
    assert subjects == ["hosts", "limits", "server", "redis"]


@pytest.mark.parametrize(
    ("settings", "subject", "grade", "words"),
    [
        (Settings(), "hosts", Grade.FINE, "localhost"),
        (Settings(host="::1"), "hosts", Grade.FINE, "localhost"),
        (
            Settings(host="0.0.0.0", allowed_hosts=("mcp.example.com",)),
            "hosts",
            Grade.FINE,
            "mcp.example.com",
        ),
        (Settings(host="0.0.0.0"), "hosts", Grade.FAULT, "MCPFLEET_ALLOWED_HOSTS"),
        (Settings(host="mcp.example.com"), "hosts", Grade.FAULT, "MCPFLEET_ALLOWED_HOSTS"),
        (Settings(allowed_hosts=None), "hosts", Grade.WARNING, "rebinding"),
        (Settings(max_sessions=None, max_body=None), "limits", Grade.WARNING, "MAX_SESSIONS, MCPFLEET_MAX_BODY_BYTES"),
        (Settings(workers=1000), "workers", Grade.WARNING, "MCPFLEET_WORKERS=1000"),
        (Settings(keepalive=None), "streams", Grade.WARNING, "MCPFLEET_KEEPALIVE_SECONDS"),
        (Settings(keepalive=60.0), "streams", Grade.WARNING, "MCPFLEET_KEEPALIVE_SECONDS"),
        (Settings(lease=1.0), "lease", Grade.FAULT, "MCPFLEET_LEASE_SECONDS=1"),
    ],
)
def test_of_the_edge(settings: Settings, subject: str, grade: Grade, words: str) -> None:
    found = only([*edge.examined(settings)], subject)
    assert found.grade is grade
    assert words in found.words


def test_a_server_that_cannot_be_loaded_is_told_with_what_it_raised() -> None:
    name, [found] = offer.examined(Settings(app="tests.servers.nowhere:server"))
    assert (name, found.grade) == (None, Grade.FAULT)
    assert "tests.servers.nowhere" in found.words


def test_tools_whose_tasks_are_never_begun_again_are_named() -> None:
    _, found = offer.examined(Settings(app="tests.service.doctor.servers:server"))
    assert [each.grade for each in found] == [Grade.FINE, Grade.WARNING]
    assert "2 tools, 1 prompt" in found[0].words
    assert found[1].words.startswith("transfer:")


async def test_an_eviction_policy_that_voids_promises_is_a_fault(own_redis: RedisServer) -> None:
    with own_redis.client() as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        found = only(await of_redis(own_redis), "eviction")
        client.config_set("maxmemory-policy", "noeviction")
    assert found.grade is Grade.FAULT
    assert "noeviction" in found.words


async def test_a_store_that_forgets_is_warned_of(launch_redis: Callable[..., RedisServer]) -> None:
    server = launch_redis()
    with server.client() as client:
        client.config_set("appendonly", "no")
    found = only(await of_redis(server), "disk")
    assert found.grade is Grade.WARNING
    assert "appendonly yes" in found.words


async def test_a_master_that_would_go_on_without_its_replicas_is_warned_of(
    launch_redis: Callable[..., RedisServer],
) -> None:
    master, replica = launch_redis(), launch_redis()
    with replica.client() as client, master.client() as other:
        other.config_set("repl-diskless-sync-delay", "0")
        client.replicaof("127.0.0.1", str(master.port))
        other.set("replicated", "so far", px=60_000)
        assert other.wait(1, 10_000) == 1
        found = only(await of_redis(master), "replicas")
        assert found.grade is Grade.WARNING
        other.config_set("min-replicas-to-write", "1")
        assert only(await of_redis(master), "replicas").grade is Grade.FINE
    assert only(await of_redis(replica), "redis").grade is Grade.FAULT


@pytest.mark.parametrize(("skew", "how"), [(30, "ahead of"), (-30, "behind")])
async def test_a_clock_that_is_wrong_is_warned_of(
    launch_redis: Callable[..., RedisServer], wall_clock: WallClock, skew: int, how: str
) -> None:
    wall_clock.set(skew)
    found = only(await of_redis(launch_redis(**wall_clock.environ)), "clock")
    assert found.grade is Grade.WARNING
    assert how in found.words


@pytest.mark.parametrize("forbidden", ["SPUBLISH", "ZADD", "EVALSHA", "XADD", "GETEX"])
async def test_a_user_who_may_not_do_all_that_is_done_is_told_what(own_redis: RedisServer, forbidden: str) -> None:
    with own_redis.client() as client:
        client.execute_command("ACL", "SETUSER", "weak", "on", ">pw", "~*", "&*", "+@all", f"-{forbidden}")
        try:
            settings = Settings(redis_url=own_redis.url.replace("redis://", "redis://weak:pw@"))
            found = only([*await store.examined(settings, "examined")], "access")
        finally:
            client.execute_command("ACL", "DELUSER", "weak")
    assert found.grade is Grade.FAULT
    assert forbidden in found.words


async def test_a_user_who_may_send_what_is_named_and_nothing_else_may_do_all_that_is_done(
    own_redis: RedisServer,
) -> None:
    with own_redis.client() as client:
        allowed = [f"+{command}" for command in COMMANDS]
        client.execute_command("ACL", "SETUSER", "able", "on", ">pw", "~examined:*", "&examined:*", *allowed)
        try:
            settings = Settings(redis_url=own_redis.url.replace("redis://", "redis://able:pw@"))
            found = [*await store.examined(settings, "examined")]
        finally:
            client.execute_command("ACL", "DELUSER", "able")
    assert [each for each in found if each.grade is Grade.FAULT] == []


async def test_without_the_key_of_the_other_processes_none_of_theirs_can_be_read(own_redis: RedisServer) -> None:
    settings = Settings(redis_url=own_redis.url, key_encryption_key=KEY)
    async with redis_of("examined", own_redis.url, settings) as backplane:
        await Keyring(backplane, wrapping=settings.wrapping_key).rotate()
    assert only(await of_redis(own_redis, MCPFLEET_KEY_ENCRYPTION_KEY=KEY), "keys").grade is Grade.FINE
    for other in ({"MCPFLEET_KEY_ENCRYPTION_KEY": OTHER_KEY}, {}):
        found = only(await of_redis(own_redis, **other), "keys")
        assert found.grade is Grade.FAULT
        assert "MCPFLEET_KEY_ENCRYPTION_KEY" in found.words


async def test_each_master_of_a_cluster_is_looked_at(running_cluster: RedisCluster) -> None:
    found = [*await store.examined(Settings(redis_url=running_cluster.url), "examined")]
    assert [each.subject for each in found].count("redis") == 3
    assert only(found, "access").grade is Grade.FINE
