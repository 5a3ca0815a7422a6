"""A Dockerfile read, and its steps done in an empty directory: where no image can be built, this is what can be shown.

All stages share one directory that stands for `/`, so what one copies from another is there already. `FROM` and `USER`
change nothing: the Python is this one's.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.processes import ROOT

STEP_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, without its flags."""

    name: str
    flags: tuple[str, ...]
    value: str

    @property
    def words(self) -> list[str]:
        """Its words; of the form with brackets, what they hold."""
        return json.loads(self.value) if self.value.startswith("[") else shlex.split(self.value)


def read(text: str) -> list[Instruction]:
    """The instructions of a Dockerfile, in order."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            flags = []
            while (flag := re.match(r"--\S+\s+", rest)) is not None:
                flags.append(flag[0].strip())
                rest = rest[flag.end() :]
            found.append(Instruction(name, tuple(flags), rest.strip()))
    return found


@dataclass(slots=True)
class Image:
    """What the steps have come to, below a directory that stands for `/`."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)
    """What is started, and with which words, by the instruction that says so."""
    user: str = "root"
    _directory: str = "/"

    @classmethod
    def built(cls, dockerfile: Path, root: Path) -> "Image":
        """Do the steps of a Dockerfile of this repository."""
        image = cls(root)
        for instruction in read(dockerfile.read_text()):
            image._do(instruction)
        return image

    @property
    def directory(self) -> Path:
        """Where its processes start."""
        return self._here(self._directory)

    def environment(self, **more: str) -> dict[str, str]:
        """What its processes find in their environment, and more."""
        return {name: self._placed(value) for name, value in {**self.environ, **more}.items()}

    def line(self, *words: str) -> list[str]:
        """A command line within the image."""
        program = shutil.which(words[0], path=self.environment()["PATH"])
        assert program is not None, f"{words[0]} is not in the image"
        return [program, *words[1:]]

    def _do(self, instruction: Instruction) -> None:
        match instruction.name:
            case "FROM":
                self._directory, self.environ, self.user = "/", {}, "root"
            case "WORKDIR":
                self._directory = instruction.value
                self.directory.mkdir(parents=True, exist_ok=True)
            case "ENV":
                name, _, value = instruction.value.partition("=")
                self.environ[name] = value
            case "COPY":
                self._copy(instruction)
            case "RUN":
                self._run(instruction.value)
            case "USER":
                self.user = instruction.value
            case "ENTRYPOINT" | "CMD" | "HEALTHCHECK":
                self.lines[instruction.name] = json.loads(instruction.value.removeprefix("CMD "))
            case "EXPOSE" | "STOPSIGNAL":
                pass
            case _:
                raise ValueError(f"nothing is known of {instruction.name}")

    def _copy(self, instruction: Instruction) -> None:
        *sources, target = instruction.words
        place = self._here(target)
        if any(flag.startswith("--from=") for flag in instruction.flags):
            assert [self._here(source) for source in sources] == [place], "only copies to the same place are known"
            assert place.exists()
            return
        for source in sources:
            found = ROOT / source
            if found.is_dir():
                shutil.copytree(found, place, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
            else:
                shutil.copy(found, place / found.name if place.is_dir() else place)

    def _run(self, command: str) -> None:
        environ = {**os.environ, **self.environment()}
        environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["/bin/sh", "-c", self._placed(command)],
            cwd=self.directory,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=STEP_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    def _here(self, path: str) -> Path:
        return self.root / (Path(self._directory) / path).relative_to("/")

    def _placed(self, text: str) -> str:
        """A text with the paths of what the image brings itself, as they are here."""
        return re.sub(r"(?<![\w.])/(venv|src|app)\b", rf"{self.root}/\1", text)
