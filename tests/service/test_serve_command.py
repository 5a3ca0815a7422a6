"""`mcpfleet serve` from end to end: the command that a user types, with a server in it."""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import httpx2
import pytest
from uvicorn.config import STARTUP_FAILURE

from tests.calls import call
from tests.processes import Serving, python

SERVE = python("-m", "mcpfleet_service.cli", "serve")
NO_DELAY = {"MCPFLEET_DRAIN_DELAY": "0"}

TOOLS = """
from mcpfleet import Server
server = Server("tools")

@server.tool
def version() -> int:
    return {version}
"""


def test_two_processes_serve_tools_and_end_cleanly(tmp_path: Path) -> None:
    command = [*SERVE, "tests.servers.basic:server", "--workers", "2", "--port", "0"]
    with Serving(command, NO_DELAY, tmp_path / "log") as serving:
        url = serving.await_greeting().url
        assert call(url, "echo", x="7") == 7
        assert call(url, "whoami")["pid"] != serving.pid
        assert serving.stop() == 0


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_printed_curl_command_lists_the_tools(tmp_path: Path) -> None:
    with Serving([*SERVE, "tests.servers.basic:server", "--port", "0"], NO_DELAY, tmp_path / "log") as serving:
        command = serving.await_line(r"^ *(curl .*)$")[1]
        answer = subprocess.run(command, shell=True, capture_output=True, check=True, timeout=20)
    assert {tool["name"] for tool in json.loads(answer.stdout)["result"]["tools"]} >= {"echo", "add"}


def test_the_target_is_found_in_the_current_directory_and_reloaded_when_it_changes(tmp_path: Path) -> None:
    module = tmp_path / "tools.py"
    module.write_text(TOOLS.format(version=1))
    command = [*SERVE, "tools:server", "--port", "0", "--reload"]
    with Serving(command, NO_DELAY, tmp_path / "log", cwd=tmp_path) as serving:
        url = serving.await_greeting().url
        assert call(url, "version") == 1
        module.write_text(TOOLS.format(version=2) + "# a change of size, too\n")
        assert_becomes(url, 2)
        assert serving.stop() == 0


def assert_becomes(url: str, version: int) -> None:
    """Ask until this version answers; between the old process and the new one a connection may be cut."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            if call(url, "version") == version:
                return
        except httpx2.TransportError:
            continue
    raise AssertionError("the old code still answers")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_start_that_cannot_succeed_ends_the_command_with_the_reason(workers: str, tmp_path: Path) -> None:
    with Serving([*SERVE, "--port", "0", "--workers", workers], {}, tmp_path / "log") as serving:
        assert serving.await_exit() != 0
        assert "mcpfleet: MCPFLEET_APP is not set" in serving.log_tail()
        assert "Traceback" not in serving.log_tail()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_lifespan_that_cannot_be_entered_ends_the_command_with_the_reason(workers: str, tmp_path: Path) -> None:
    command = [*SERVE, "tests.servers.hooked:server", "--port", "0", "--workers", workers]
    with Serving(command, {"HOOKED_REFUSES": "1"}, tmp_path / "log") as serving:
        assert serving.await_exit() == STARTUP_FAILURE
        assert "the lifespan of 'hooked' failed: ConnectionRefusedError: no database" in serving.log_tail()


def test_it_serves_and_ends_cleanly_while_its_redis_is_away_and_says_so(tmp_path: Path) -> None:
    command = [*SERVE, "tests.servers.basic:server", "--port", "0", "--redis-url", "redis://127.0.0.1:1/0"]
    with Serving(command, NO_DELAY, tmp_path / "log") as serving:
        assert call(serving.await_greeting().url, "echo", x="7") == 7
        assert serving.stop() == 0
        assert re.search(r"^WARNING: +no connection to Redis", serving.log_tail(), re.MULTILINE)


def test_a_setting_from_the_environment_is_overridden_by_the_option(tmp_path: Path) -> None:
    environ = {**NO_DELAY, "MCPFLEET_PATH": "/from/environment", "MCPFLEET_APP": "tests.servers.basic:server"}
    with Serving([*SERVE, "--port", "0", "--path", "/from/option"], environ, tmp_path / "log") as serving:
        url = serving.await_greeting().url
        assert url.endswith("/from/option")
        assert call(url, "add", a=1, b=1) == 2


def test_without_a_redis_url_several_processes_share_sessions_all_the_same(tmp_path: Path) -> None:
    command = [*SERVE, "tests.servers.basic:server", "--workers", "2", "--port", "0"]
    with Serving(command, NO_DELAY, tmp_path / "log") as serving:
        url = serving.await_greeting().url
        headers = {"Accept": "application/json, text/event-stream"}
        opening = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}
        answer = httpx2.post(url, json=body, headers=headers, timeout=20)
        headers |= {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-11-25"}
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}
        seen: set[int] = set()
        until = time.monotonic() + 20
        while len(seen) < 2 and time.monotonic() < until:
            answer = httpx2.post(url, json=body, headers=headers, timeout=20)
            assert answer.status_code == 200
            seen.add(json.loads(answer.json()["result"]["content"][0]["text"])["pid"])
        assert len(seen) == 2
        assert os.getpid() not in seen
