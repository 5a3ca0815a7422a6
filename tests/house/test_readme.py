"""The README, followed to the letter."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from mcp import StdioServerParameters
from mcp.client import Client as OfficialClient

from mcpfleet.protocol.revisions import LATEST
from mcpfleet.protocol.tasks import EXTENSION
from tests.answer import Json
from tests.house import shown
from tests.house.source import ROOT
from tests.processes import Serving, environment
from tests.redis_server import SharedRedis
from tests.wire import Client, connected

ANY_PORT = {"MCPFLEET_PORT": "0", "MCPFLEET_DRAIN_DELAY": "0"}
TAKES_TASKS: Json = {"elicitation": {"form": {}}, "extensions": dict(EXTENSION)}
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
        async with OfficialClient(
            serving.await_greeting().url, mode=mode
        ) as client:  # the official one; `auto` is modern
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
    async with OfficialClient(command, mode=mode) as client:
        result = await client.call_tool("greet", {"name": "Ada", "mood": "cool"})
    assert result.content[0].model_dump(include={"text"}) == {"text": "Ada."}


async def test_a_second_worker_finishes_the_task_of_one_that_is_killed(
    redis_server: SharedRedis, namespace: str, tmp_path: Path
) -> None:
    environ = {"MCPFLEET_REDIS_URL": redis_server.url, "MCPFLEET_NAMESPACE": namespace, "MCPFLEET_LEASE_SECONDS": "1"}
    serve = shown.command("mcpfleet serve examples.research:server --workers 2")
    work = shown.command("mcpfleet work examples.research:server")
    with (
        Serving([str(BIN / serve[0]), *serve[1:]], {**ANY_PORT, **environ}, tmp_path / "serving") as serving,
        Serving([str(BIN / work[0]), *work[1:]], environ, tmp_path / "first") as first,
    ):
        first.await_log("working as")
        async with connected(serving.await_greeting().url, LATEST.date, capabilities=TAKES_TASKS) as client:
            task_id = (await client.call("research", topic="owls", seconds_each=0.5)).result["taskId"]
            [key] = (await seen(client, task_id, "inputRequests"))["inputRequests"]
            answers = {key: {"action": "accept", "content": {"depth": 5}}}
            await client.request("tasks/update", {"taskId": task_id, "inputResponses": answers})
            await seen(client, task_id, "statusMessage", "reading source 2")
            with Serving([str(BIN / work[0]), *work[1:]], environ, tmp_path / "second") as second:
                second.await_log("working as")
                first.kill()
                [report] = (await seen(client, task_id, "result"))["result"]["content"]
                assert second.stop() == 0
        assert serving.stop() == 0
    assert report["text"] == "owls: " + " ".join(["A source says that there is much to say about owls."] * 5)


async def seen(client: Client, task_id: str, member: str, value: str | None = None) -> Json:
    """The task once it has this member, with this value if any is wanted."""
    async with asyncio.timeout(20):
        while True:
            task = (await client.request("tasks/get", {"taskId": task_id})).result
            if member in task and value in (None, task[member]):
                return task
            await asyncio.sleep(0.02)


def test_every_make_command_shown_is_a_target_of_the_makefile() -> None:
    targets = {line.partition(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if "##" in line}
    assert {line.split()[1] for line in shown.commands() if line.startswith("make ")} <= targets
