"""A real master with a replica, and the Sentinels that make the replica the master when it dies."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
import redis

from mcpfleet_service.tether import tethered
from tests.redis_server import RedisServer, answers, connect, free_port

SERVICE: Final = "sessions"
SENTINELS: Final = 3
DOWN_AFTER_MS: Final = 500
AGREE_SECONDS: Final = 30.0


class RedisSentinels:
    """Running Sentinels over a running master and its replica; every method returns when it has happened."""

    def __init__(self, binary: Path, directory: Path, master: RedisServer, replica: RedisServer) -> None:
        self.master = master
        self.replica = replica
        self._ports = [free_port() for _ in range(SENTINELS)]
        self._processes = [self._start(binary, directory / f"sentinel-{port}", port) for port in self._ports]
        self._clients = [connect(f"redis://127.0.0.1:{port}") for port in self._ports]
        _await(lambda: all(_knows_all(client) for client in self._clients), "the Sentinels do not find each other")
        _await(lambda: _replication(replica)["master_link_status"] == "up", "the replica does not come in step")

    @property
    def url(self) -> str:
        """Where clients find the master, whichever it is."""
        return f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in self._ports)}/{SERVICE}/0"

    def await_replicated(self) -> None:
        """Return once the replica has all that was written."""
        with self.master.client() as client:
            client.set("replicated", "so far", px=60_000)
            _await(lambda: client.wait(1, 100) == 1, "the replica stays behind")

    def part(self) -> None:
        """Let nothing more of what is written reach the replica; it stays fit to be the master for a few seconds."""
        with self.master.client() as client:
            client.execute_command("ACL", "SETUSER", "default", "-psync", "-sync", "-replconf")
            client.execute_command("CLIENT", "KILL", "TYPE", "replica")

    def await_failover(self) -> None:
        """Return once every Sentinel names the replica as the master."""

        _await(
            lambda: {_known(client)["port"] for client in self._clients} == {self.replica.port},
            "the replica does not become the master",
        )

    def kill(self, number: int) -> None:
        """End one of the Sentinels without a word."""
        self._processes[number].kill()
        self._processes[number].wait()

    def close(self) -> None:
        """End all Sentinels."""
        for client in self._clients:
            client.close()
        for number in range(SENTINELS):
            self.kill(number)

    def _start(self, binary: Path, directory: Path, port: int) -> "subprocess.Popen[bytes]":
        directory.mkdir()
        config = directory / "sentinel.conf"
        config.write_text(
            f"bind 127.0.0.1\nport {port}\ndir {directory}\n"
            f"sentinel monitor {SERVICE} 127.0.0.1 {self.master.port} {SENTINELS // 2 + 1}\n"
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}\n"
            f"sentinel failover-timeout {SERVICE} 3000\n"
        )
        with (directory / "sentinel.log").open("wb") as log:
            process = subprocess.Popen(
                tethered([str(binary), str(config), "--sentinel"]), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        _await(lambda: answers(f"redis://127.0.0.1:{port}"), "a Sentinel does not start")
        return process


def _known(client: redis.Redis) -> dict[str, Any]:
    found = client.sentinel_masters()
    assert isinstance(found, dict)
    return found[SERVICE]


def _knows_all(client: redis.Redis) -> bool:
    known = _known(client)
    return (known["num-other-sentinels"], known["num-slaves"]) == (SENTINELS - 1, 1)


def _replication(server: RedisServer) -> Any:
    with server.client() as client:
        return client.info("replication")


def _await(done: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + AGREE_SECONDS
    while not done():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


@pytest.fixture
def sentinels(launch_redis: Callable[..., RedisServer], redis_binary: Path, tmp_path: Path) -> Iterator[RedisSentinels]:
    """A master, its replica, and three Sentinels, to be broken."""
    master = launch_redis("--repl-diskless-sync-delay", "0")
    replica = launch_redis("--replicaof", f"127.0.0.1 {master.port}")
    with closing(RedisSentinels(redis_binary, tmp_path, master, replica)) as sentinels:
        yield sentinels
