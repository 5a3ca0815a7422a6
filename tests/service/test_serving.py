"""What the processes of one `serve` command do as processes; what they serve is not asked here."""

import http.client
import itertools
import json
import os
import shlex
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis

from mcpfleet.protocol.revisions import LATEST
from mcpfleet_service.greeting import curl
from tests.processes import Serving, assert_ends, python

SCRIPT = """
import os, sys
from mcpfleet_service.serving import serve
from mcpfleet_service.settings import Settings
sys.exit(serve(Settings.from_environment(os.environ), factory="tests.service.plain_app:application"))
"""

Serve = Callable[..., Serving]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a command with these settings and return once it serves; what still runs at the end is killed."""
    started: list[Serving] = []

    def start(**settings: str) -> Serving:
        environ = {f"MCPFLEET_{name}": value for name, value in {"PORT": "0", **settings}.items()}
        environ["TMPDIR"] = str(tmp_path)
        started.append(Serving(python("-c", SCRIPT), environ, tmp_path / f"log-{len(started)}"))
        return started[-1].await_greeting()

    yield start
    for serving in started:
        with serving:
            pass


def get(serving: Serving, path: str) -> str:
    connection = open_connection(serving, path)
    try:
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def open_connection(serving: Serving, path: str) -> http.client.HTTPConnection:
    address = urlsplit(serving.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)
    connection.request("GET", path)
    return connection


def pids(serving: Serving, wanted: int, gone: int = 0) -> set[int]:
    """The ids of this many processes, each of which answered; ask again until they have, for twenty seconds."""
    until = time.monotonic() + 20
    seen: set[int] = set()
    while len(seen) < wanted and time.monotonic() < until:
        seen |= {int(get(serving, "/pid"))} - {gone}
    assert len(seen) == wanted, f"only {seen} answered"
    return seen


def test_one_process_serves_on_a_free_port_without_a_redis(serve: Serve) -> None:
    serving = serve()
    assert pids(serving, 1) == {serving.pid}
    assert get(serving, "/redis") == ""


def test_the_greeting_has_the_url_and_a_request_to_try(serve: Serve) -> None:
    serving = serve(PATH="/tools")
    assert urlsplit(serving.url).path == "/tools"
    serving.stop()
    assert f"curl -sS {serving.url} " in serving.log_tail()


def test_the_request_to_try_is_one_of_the_latest_revision() -> None:
    words = shlex.split(curl("http://127.0.0.1:1/mcp"))
    headers = [word for option, word in itertools.pairwise(words) if option == "-H"]
    body = json.loads(words[words.index("-d") + 1])
    assert f"MCP-Protocol-Version: {LATEST.date}" in headers
    assert f"Mcp-Method: {body['method']}" in headers
    assert body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == LATEST.date


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_signal_lets_what_runs_finish_and_exits_zero(serve: Serve, workers: str, number: signal.Signals) -> None:
    serving = serve(WORKERS=workers)
    connection = open_connection(serving, "/slow")
    response = connection.getresponse()
    assert response.read(6) == b"begun "
    os.kill(serving.pid, number)
    assert response.read() == b"ended"
    connection.close()
    assert serving.await_exit() == 0


def test_ctrl_c_in_a_terminal_ends_all_processes_cleanly(serve: Serve) -> None:
    serving = serve(WORKERS="2")
    workers = pids(serving, 2)
    serving.interrupt()
    assert serving.await_exit() == 0
    for pid in workers:
        assert_ends(pid)


def test_several_processes_share_an_embedded_redis_that_ends_last(serve: Serve) -> None:
    serving = serve(WORKERS="2")
    url = get(serving, "/redis")
    assert serving.pid not in pids(serving, 2)
    with redis.Redis.from_url(url, retry=None) as client:
        server = int(client.info("server")["process_id"])
    connection = open_connection(serving, "/slow")
    response = connection.getresponse()
    assert response.read(6) == b"begun "
    serving.terminate()
    with redis.Redis.from_url(url, retry=None) as client:
        assert client.ping()
    assert response.read() == b"ended"
    connection.close()
    assert serving.await_exit() == 0
    assert_ends(server)
    assert not Path(urlsplit(url).path).parent.exists()


def test_a_given_redis_is_used_and_none_is_started(serve: Serve) -> None:
    serving = serve(WORKERS="2", REDIS_URL="redis://127.0.0.1:1/0")
    assert get(serving, "/redis") == "redis://127.0.0.1:1/0"


def test_a_killed_worker_is_replaced(serve: Serve) -> None:
    serving = serve(WORKERS="2")
    before = pids(serving, 2)
    os.kill(min(before), signal.SIGKILL)
    assert_ends(min(before))
    after = pids(serving, 2, gone=min(before))
    assert len(after - before) == 1


def test_no_worker_and_no_redis_outlive_a_killed_command(serve: Serve) -> None:
    serving = serve(WORKERS="2")
    workers = pids(serving, 2)
    with redis.Redis.from_url(get(serving, "/redis"), retry=None) as client:
        server = int(client.info("server")["process_id"])
    serving.kill()
    for pid in (*workers, server):
        assert_ends(pid)


def test_forwarded_headers_of_strangers_change_nothing(serve: Serve) -> None:
    serving = serve()
    address = urlsplit(serving.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)
    connection.request("GET", "/headers", headers={"X-Forwarded-For": "10.9.8.7"})
    answer = connection.getresponse()
    assert "('10.9.8.7'" not in answer.read().decode()
    assert answer.headers["Server"] is None
    connection.close()


def test_a_taken_port_is_told_in_one_line(serve: Serve, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with Serving(python("-c", SCRIPT), {"MCPFLEET_PORT": port}, tmp_path / "log") as refused:
            assert refused.await_exit() != 0
            assert f"cannot listen on MCPFLEET_HOST=127.0.0.1 MCPFLEET_PORT={port}" in refused.log_tail()
