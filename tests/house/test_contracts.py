"""The import contracts hold, and each of them would notice what it forbids."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import ROOT, SOURCE_ROOTS

SECONDS = 60
LINT = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
PLANTS = {
    "Imports only point down": ("shared/mcpfleet/backplane/bells.py", "from mcpfleet.protocol import sse"),
    "The protocol does no I/O": ("shared/mcpfleet/protocol/sse.py", "import asyncio"),
    "Only one module knows Redis": ("shared/mcpfleet/server/policy.py", "import redis"),
    "Only the service knows the web framework": ("workers/mcpfleet_workers/__init__.py", "import starlette"),
}


def verdicts(directory: Path) -> dict[str, str]:
    """What import-linter says of each contract for the tree in the directory."""
    paths = [str(directory / root) for root in SOURCE_ROOTS]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}; {LINT}", "--no-cache", "--no-logo"],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    found = dict(re.findall(r"^(.+) (KEPT|BROKEN)$", done.stdout, re.MULTILINE))
    assert found, done.stdout + done.stderr
    assert (done.returncode == 0) == (set(found.values()) == {"KEPT"})
    return found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the source roots and their contracts, to be spoilt."""
    for root in SOURCE_ROOTS:
        shutil.copytree(ROOT / root, tmp_path / root, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_import_contract_is_kept() -> None:
    assert verdicts(ROOT) == dict.fromkeys(PLANTS, "KEPT")


@pytest.mark.parametrize("contract", PLANTS)
def test_a_contract_notices_what_it_forbids_and_no_other_does(contract: str, copy: Path) -> None:
    path, line = PLANTS[contract]
    with (copy / path).open("a") as module:
        module.write(f"\n{line}\n")
    assert verdicts(copy) == {**dict.fromkeys(PLANTS, "KEPT"), contract: "BROKEN"}
