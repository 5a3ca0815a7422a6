"""The tests' own Redis: it keeps what a crash keeps, and nothing outlives the tests."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from tests.processes import assert_ends
from tests.redis_server import RedisServer, SharedRedis, answers, connect, immortal_keys


def test_it_keeps_its_port_and_data_across_a_kill(own_redis: RedisServer) -> None:
    before = own_redis.url
    with own_redis.client() as client:
        client.set("key", "value", px=60_000)
    own_redis.restart()
    assert own_redis.url == before
    with own_redis.client() as client:
        assert client.get("key") == b"value"


def test_a_wiped_server_starts_empty(own_redis: RedisServer) -> None:
    with own_redis.client() as client:
        client.set("key", "value", px=60_000)
    own_redis.stop()
    own_redis.wipe()
    own_redis.start()
    with own_redis.client() as client:
        assert client.dbsize() == 0


def test_a_frozen_server_does_not_answer_until_it_thaws(own_redis: RedisServer) -> None:
    with redis.Redis.from_url(own_redis.url, retry=None, socket_timeout=0.2) as client:
        client.ping()
        own_redis.freeze()
        with pytest.raises(redis.TimeoutError):
            client.ping()
        own_redis.thaw()
    assert answers(own_redis.url)


def test_a_frozen_server_can_be_killed(own_redis: RedisServer) -> None:
    own_redis.freeze()
    own_redis.kill()
    assert not own_redis.running


def test_further_options_reach_the_server(launch_redis: Callable[..., RedisServer]) -> None:
    server = launch_redis("--maxmemory", "64mb")
    with server.client() as client:
        assert client.config_get("maxmemory") == {"maxmemory": str(64 * 1024 * 1024)}


def test_a_key_without_an_end_of_life_is_found(own_redis: RedisServer) -> None:
    with own_redis.client() as client:
        client.set("mine:mortal", "1", ex=60)
        client.set("mine:immortal", "1")
        client.set("other:immortal", "1")
        assert immortal_keys(own_redis.url, "mine") == ["mine:immortal"]
        client.delete("mine:immortal", "other:immortal")


def test_the_shared_server_answers_and_the_namespace_is_empty(redis_server: SharedRedis, namespace: str) -> None:
    with connect(redis_server.url) as client:
        assert list(client.scan_iter(f"{namespace}*")) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal")
def test_it_dies_with_the_process_that_started_it(redis_binary: Path, tmp_path: Path) -> None:
    script = (
        "import os, sys, signal, pathlib\n"
        "from tests.redis_server import RedisServer\n"
        "server = RedisServer(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))\n"
        "server.start()\n"
        "print(server._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.run(
        [sys.executable, "-c", script, str(redis_binary), str(tmp_path)],
        env=environment, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    child = int(parent.stdout)
    assert_ends(child)
