"""The wall clock of a process, set forward and back while it runs."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

SOURCE: Final = Path(__file__).with_suffix(".c")


class WallClock:
    """What a process must be started with (`environ`) so that `set` changes what it takes the time to be."""

    def __init__(self, directory: Path, compiler: str) -> None:
        library, self._offset = directory / "wall_clock.so", directory / "offset"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE], check=True, timeout=60)
        self.set(0)
        self.environ = {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(self._offset)}

    def set(self, seconds: int) -> None:
        """Let it be wrong by so many seconds from now on."""
        handle = os.open(self._offset, os.O_WRONLY | os.O_CREAT)
        try:
            os.write(handle, seconds.to_bytes(8, "little", signed=True))  # in place: the process has it mapped
        finally:
            os.close(handle)


@pytest.fixture
def wall_clock(tmp_path: Path) -> WallClock:
    """A clock that is right so far; without a C compiler the test skips, or fails with `CI=true`."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("no C compiler: install gcc")
    return WallClock(tmp_path, compiler)
