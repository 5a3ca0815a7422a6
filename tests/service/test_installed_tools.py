"""`mcpfleet serve` without a target: what the installed distributions register is served."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

from tests.calls import call
from tests.processes import Serving, python

SERVE: Final = python("-m", "mcpfleet_service.cli", "serve", "--port", "0")

PROJECT: Final = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "acme-weather"
version = "3.1"
[project.entry-points."mcpfleet.tools"]
weather = "acme_weather:{entry}"
[tool.hatch.build.targets.wheel]
packages = ["acme_weather"]
"""

PACKAGE: Final = '''
from mcpfleet import Server

def forecast(city: str, days: int = 3) -> list[str]:
    """Forecast the weather of a city."""
    return [f"rain in {city}"] * days

def register(server: Server) -> None:
    server.tool(forecast)
'''


def installed(directory: Path, entry: str) -> dict[str, str]:
    """Build the distribution, unpack its wheel as an installer would, and return the environment that has it."""
    project, site = directory / "project", directory / "site"
    (project / "acme_weather").mkdir(parents=True)
    (project / "pyproject.toml").write_text(PROJECT.format(entry=entry))
    (project / "acme_weather" / "__init__.py").write_text(PACKAGE)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    subprocess.run(build, check=True, capture_output=True, timeout=60, cwd=project)
    (wheel,) = directory.glob("acme_weather-3.1-*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    path = os.pathsep.join([str(site), *(each for each in sys.path if each)])
    return {"PYTHONPATH": path, "MCPFLEET_DRAIN_DELAY": "0"}


@pytest.mark.parametrize("entry", ["forecast", "register"])
def test_the_tools_of_an_installed_distribution_are_served(tmp_path: Path, entry: str) -> None:
    with Serving(SERVE, installed(tmp_path, entry), tmp_path / "log") as serving:
        url = serving.await_greeting().url
        assert call(url, "forecast", city="Oslo", days=2) == ["rain in Oslo"] * 2
        assert serving.stop() == 0


def test_a_broken_entry_point_stops_the_command_with_its_name(tmp_path: Path) -> None:
    with Serving(SERVE, installed(tmp_path, "misspelt"), tmp_path / "log") as serving:
        assert serving.await_exit() != 0
        told = serving.log_tail()
    assert "entry point 'weather' (acme_weather:misspelt) in mcpfleet.tools, of acme-weather 3.1" in told
    assert "Traceback" not in told
