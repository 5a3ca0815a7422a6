"""A process whose engine has died is replaced: it looks unready, stops, and says so by its exit code."""

import http.client
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.processes import Serving, assert_ends, python

SCRIPT = """
import os, sys
from mcpfleet_service.serving import serve
from mcpfleet_service.settings import Settings
sys.exit(serve(Settings.from_environment(os.environ), factory="tests.service.dying_app:application"))
"""


def get(serving: Serving, path: str) -> tuple[int, bytes]:
    address = urlsplit(serving.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    return Serving(python("-c", SCRIPT), {"MCPFLEET_PORT": "0"}, tmp_path / "log")


def test_a_process_whose_engine_dies_stops_by_itself_and_exits_with_an_error(serving: Serving) -> None:
    with serving.await_greeting():
        assert get(serving, "/readyz")[0] == 200
        assert get(serving, "/blow")[0] == 200
        assert serving.await_exit() == 1
        assert "a bug in the keeper" in serving.log_tail()


def test_a_process_that_is_told_to_stop_exits_without_one(serving: Serving) -> None:
    with serving.await_greeting():
        assert get(serving, "/readyz")[0] == 200
        serving.interrupt()
        assert serving.await_exit() == 0


def test_a_worker_whose_engine_dies_is_replaced(tmp_path: Path) -> None:
    environ = {"MCPFLEET_PORT": "0", "MCPFLEET_WORKERS": "2", "MCPFLEET_REDIS_URL": "redis://127.0.0.1:1/0"}
    with Serving(python("-c", SCRIPT), environ, tmp_path / "log").await_greeting() as serving:
        blown = int(get(serving, "/blow")[1])
        assert_ends(blown)
        assert serving.exit_code is None
        assert len(workers(serving, gone=blown)) == 2
        serving.interrupt()
        assert serving.await_exit() == 0


def workers(serving: Serving, gone: int) -> set[int]:
    """The ids of two processes that answer; what the one that is gone had accepted is lost with it."""
    until = time.monotonic() + 20
    seen: set[int] = set()
    while len(seen) < 2 and time.monotonic() < until:
        with suppress(ConnectionError):
            seen |= {int(get(serving, "/pid")[1])} - {gone}
    return seen
