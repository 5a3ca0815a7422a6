"""`mcpfleet keys`: operators see and rotate the keys of a running fleet."""

import subprocess
from pathlib import Path

from tests.fleets import Launch
from tests.processes import environment, python
from tests.wire import MODERN, connected


def keys(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        python("-m", "mcpfleet_service.cli", "keys", *arguments),
        env=environment(environ), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


async def test_a_rotation_is_listed_and_what_was_sealed_before_it_still_opens(launch_fleet: Launch) -> None:
    """Key rotation and a rolling replacement of every process, between two rounds of one request."""
    key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    fleet = launch_fleet(2, server="tests.servers.inquisitive:server", KEY_ENCRYPTION_KEY=key)
    environ = {
        "MCPFLEET_REDIS_URL": fleet.redis_url,
        "MCPFLEET_NAMESPACE": fleet.namespace,
        "MCPFLEET_KEY_ENCRYPTION_KEY": key,
    }
    assert keys("list", **environ).stdout == ""
    async with connected(fleet.url, MODERN, capabilities={"elicitation": {}}) as client:
        asked = (await client.call("greet")).result
        [first] = keys("list", **environ).stdout.splitlines()
        rotated = keys("rotate", **environ)
        assert rotated.returncode == 0, rotated.stderr
        assert keys("list", **environ).stdout.splitlines() == [first, f"{rotated.stdout.strip()}  kept"]
        for process in range(2):
            fleet.restart(process)
        [question] = asked["inputRequests"]
        params = {
            "name": "greet",
            "arguments": {},
            "inputResponses": {question: {"action": "decline"}},
            "requestState": asked["requestState"],
        }
        assert (await client.request("tools/call", params)).text == "declined"


def test_without_a_redis_there_is_nothing_to_see() -> None:
    ended = keys("list")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "MCPFLEET_REDIS_URL" in ended.stderr


def test_a_redis_that_is_away_is_told_without_a_traceback(tmp_path: Path) -> None:
    ended = keys("list", MCPFLEET_REDIS_URL=f"unix://{tmp_path}/nowhere", MCPFLEET_NAMESPACE="n")
    assert ended.returncode == 2
    assert "mcpfleet: " in ended.stderr
    assert "Traceback" not in ended.stderr
