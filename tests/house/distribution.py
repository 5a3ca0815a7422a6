"""The distribution as users get it: the built wheel, and environments that hold it and only what an extra declares."""

import os
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.source import ROOT

SECONDS: Final = 60


def project() -> dict[str, Any]:
    """The `[project]` table of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def requirements(extra: str = "") -> list[Requirement]:
    """What the project itself requires, or what one of its extras does."""
    table = project()
    return [Requirement(each) for each in (table["optional-dependencies"][extra] if extra else table["dependencies"])]


def closure(*extras: str) -> dict[str, Distribution]:
    """Every installed distribution that the project with these extras needs here, by its canonical name."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [requirement for extra in ("", *extras) for requirement in requirements(extra)]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras}:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            if name == "mcpfleet":
                waiting += requirements(extra)
                continue
            found[name] = distribution(requirement.name)
            waiting += _required(found[name], extra)
    return found


def build_wheel(directory: Path) -> Path:
    """Build the wheel, offline, into the directory."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    subprocess.run(command, cwd=ROOT, capture_output=True, timeout=SECONDS, check=True)
    [wheel] = directory.glob("*.whl")
    return wheel


class Environment:
    """A directory that holds the unpacked wheel and, linked, what the extras need; nothing else can be imported."""

    def __init__(self, directory: Path, wheel: Path, *extras: str) -> None:
        self.path = directory
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(directory)
        for each in closure(*extras).values():
            for name in _top_levels(each):
                (directory / name).symlink_to(str(each.locate_file(name)))

    def run(self, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run code in a new interpreter that sees the standard library and this directory."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MCPFLEET_"))}
        return subprocess.run(
            [sys.executable, "-S", "-c", code, *arguments],
            cwd=self.path.parent,
            env={**environ, "PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )


def _required(found: Distribution, extra: str) -> Iterator[Requirement]:
    for text in found.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None:
            if not extra:
                yield requirement
        elif requirement.marker.evaluate({"extra": extra}):
            yield requirement


def _top_levels(found: Distribution) -> set[str]:
    """The names right below site-packages; scripts elsewhere are left out."""
    return {path.parts[0] for path in found.files or () if path.parts[0] not in ("..", "__pycache__")}
