"""The README, followed to the letter."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from mcp import StdioServerParameters
from mcp.client import Client

from tests.house import shown
from tests.house.source import ROOT
from tests.processes import Serving, environment

ANY_PORT = {"MCPFLEET_PORT": "0", "MCPFLEET_DRAIN_DELAY": "0"}
BIN = ROOT / ".venv/bin"

pytestmark = pytest.mark.skipif(not (BIN / "mcpfleet").exists(), reason="`make setup` has not been run")


@pytest.mark.skipif(shutil.which("make") is None or shutil.which("curl") is None, reason="needs make and curl")
def test_make_serve_serves_an_example_and_prints_a_command_to_try(tmp_path: Path) -> None:
    make, *words = shown.command("make serve")
    made = [str(shutil.which(make)), *words, "--old-file=.venv/.ready"]  # a test installs nothing
    with Serving(made, ANY_PORT, tmp_path / "log") as serving:
        try:
            line = serving.await_line(r"^ *(curl .*)$")[1]
            answer = subprocess.run(line, shell=True, capture_output=True, check=True, timeout=20)
        finally:
            serving.interrupt()  # make, and all that it started
        serving.await_exit()
    [tool] = json.loads(answer.stdout)["result"]["tools"]
    assert tool["name"] == "forecast"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_server_in_twelve_lines_is_served_by_the_command_below_it(mode: str, tmp_path: Path) -> None:
    [snippet] = [each for each in shown.snippets() if str(each.path) == "README.md" and each.language == "python"]
    (tmp_path / "hello.py").write_text(snippet.text)
    name, *words = shown.command("mcpfleet serve hello:server --workers 2")
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    with Serving([str(BIN / name), *words], ANY_PORT, tmp_path / "log", cwd=tmp_path) as serving:
        async with Client(serving.await_greeting().url, mode=mode) as client:  # the official one; `auto` is modern
            [tool] = (await client.list_tools()).tools
            result = await client.call_tool("greet", {"name": "Ada"}, progress_callback=hear)
        assert serving.stop() == 0
    assert (tool.name, tool.description) == ("greet", "Greet somebody by name.")
    assert result.content[0].model_dump(include={"text"}) == {"text": "Hello, Ada!"}
    assert heard == [(1, 1, "found a warm word")]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_server_in_twelve_lines_is_served_over_stdio(mode: str, tmp_path: Path) -> None:
    [snippet] = [each for each in shown.snippets() if str(each.path) == "README.md" and each.language == "python"]
    (tmp_path / "hello.py").write_text(snippet.text)
    name, *words = shown.command("mcpfleet stdio hello:server")
    command = StdioServerParameters(command=str(BIN / name), args=words, cwd=tmp_path, env=environment({}))
    async with Client(command, mode=mode) as client:
        result = await client.call_tool("greet", {"name": "Ada", "mood": "cool"})
    assert result.content[0].model_dump(include={"text"}) == {"text": "Ada."}


def test_every_make_command_shown_is_a_target_of_the_makefile() -> None:
    targets = {line.partition(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if "##" in line}
    assert {line.split()[1] for line in shown.commands() if line.startswith("make ")} <= targets
