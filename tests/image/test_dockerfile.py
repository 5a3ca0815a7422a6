"""The image: its steps done in an empty directory, and its command line started there."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from mcpfleet_service.tether import tethered
from tests.image.dockerfile import Image, Instruction, read
from tests.processes import ROOT
from tests.redis_server import free_port

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 20.0

INSTRUCTIONS: Final = read((ROOT / "Dockerfile").read_text())


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """What the Dockerfile makes."""
    return Image.built(ROOT / "Dockerfile", tmp_path_factory.mktemp("image"))


@contextmanager
def started(image: Image, tmp_path: Path, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """The image's own command line, running until the block ends."""
    line = image.line(*image.lines["ENTRYPOINT"], *image.lines["CMD"])
    with (tmp_path / "log").open("w+") as log:
        process = subprocess.Popen(
            tethered(line),
            cwd=image.directory,
            env=image.environment(**environ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def healthy(image: Image, **environ: str) -> bool:
    """What the image's own health check says."""
    line = image.line(*image.lines["HEALTHCHECK"])
    done = subprocess.run(line, env=image.environment(**environ), capture_output=True, timeout=10, check=False)
    return done.returncode == 0


def test_its_command_line_serves_is_healthy_and_ends_when_it_is_told_to(image: Image, tmp_path: Path) -> None:
    environ = {
        "MCPFLEET_APP": "examples.weather:server",
        "MCPFLEET_PORT": str(free_port()),
        "MCPFLEET_HOST": "127.0.0.1",
        "MCPFLEET_DRAIN_DELAY": "0",
    }
    assert not healthy(image, **environ)
    with started(image, tmp_path, **environ) as process:
        deadline = time.monotonic() + START_SECONDS
        while not healthy(image, **environ):
            assert process.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < deadline, f"not healthy within {START_SECONDS:g} s"
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_SECONDS) == 0


def test_nothing_of_this_checkout_is_needed(image: Image) -> None:
    where = "import mcpfleet, mcpfleet_service, mcpfleet_workers as w; print(mcpfleet.__file__, w.__file__)"
    line = image.line("python3", "-c", where)
    said = subprocess.run(line, env=image.environment(), cwd="/", capture_output=True, text=True, check=True)
    assert all(place.startswith(str(image.root)) for place in said.stdout.split())


def test_no_build_tools_are_in_what_is_shipped() -> None:
    stages = [each for each in INSTRUCTIONS if each.name == "FROM"]
    assert len(stages) == 2
    shipped = INSTRUCTIONS[INSTRUCTIONS.index(stages[-1]) :]
    assert stages[-1].value.endswith("-slim")
    assert not [each for each in shipped if each.name == "RUN"]


def test_its_processes_are_nobody_in_particular(image: Image) -> None:
    assert image.user == "10001:10001"


def test_what_it_copies_is_not_ignored() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {word for each in INSTRUCTIONS if each.name == "COPY" and not each.flags for word in each.words[:-1]}
    assert copied == kept
    assert all(os.path.lexists(ROOT / each) for each in copied)


def test_an_instruction_has_flags_and_words() -> None:
    text = '# a comment\nCOPY --from=build --link /a \\\n  /b\nCMD ["serve", "x y"]\n'
    copy, command = read(text)
    assert copy == Instruction("COPY", ("--from=build", "--link"), "/a    /b")
    assert (copy.words, command.words) == (["/a", "/b"], ["serve", "x y"])
