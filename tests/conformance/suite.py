"""The official conformance suite: runs its scenarios against a server, and tells what each found."""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from tests.node import NODE, environment, installed

LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
WIRES: Final = (LEGACY, MODERN)
"""The revisions that the suite has a set of requirements for; a scenario runs in the words of one of them."""
TASKS: Final = "tasks-"
"""How the scenarios of the tasks extension begin, which extends the modern revision only."""
UNFINISHED: Final = "tasks-status-notifications"
"""A scenario that the suite always skips, for its own half is unfinished.

`tests/interaction/test_tasks.py` shows in its place that whoever listens is told how a task goes."""
NOT_IN_LEGACY: Final = frozenset({"sep-2640-skills-list-cache-attributes", "sep-2640-skills-get-cache-attributes"})
"""What the suite skips in the legacy revision, which has no word for it."""
SET_SECONDS: Final = 600.0
SCENARIO_MILLISECONDS: Final = "60000"

_HERE: Final = Path(__file__).parent
_DIRECTORY: Final = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
_LISTED: Final = re.compile(r" *- (?P<name>\S+) \[(?P<since>.*)\]")


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """A scenario in one revision."""

    wire: str
    scenario: str

    def __str__(self) -> str:
        return f"{self.wire} {self.scenario}"


@dataclass(frozen=True, slots=True)
class Report:
    """What one scenario found: how many checks ended in which way, and what the server did wrong."""

    run: Run
    counts: Mapping[str, int]
    complaints: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether everything was checked, and found right."""
        return bool(self.counts.get("SUCCESS")) and not self.complaints

    def __str__(self) -> str:
        counts = ", ".join(f"{number} {status.lower()}" for status, number in sorted(self.counts.items()))
        return f"{'ok    ' if self.passed else 'FAILED'} {self.run}: {counts or 'nothing was checked'}"

    @classmethod
    def of(cls, run: Run, checks: Iterable[Mapping[str, Any]]) -> Self:
        """The report of these checks, in the suite's own words; checks about which it says the same stand together."""
        counts: dict[str, int] = {}
        wrong: dict[tuple[str, str], list[str]] = {}
        for check in checks:
            status = check["status"]
            counts[status] = counts.get(status, 0) + 1
            if status not in {"SUCCESS", "INFO"} and not _has_no_word(run, check):
                said = check.get("errorMessage") or check.get("description") or ""
                wrong.setdefault((status, said), []).append(check["id"])
        return cls(run, counts, tuple(f"{status} {', '.join(ids)}: {said}" for (status, said), ids in wrong.items()))


class Suite:
    """The suite at work on the server at a URL; what it writes goes to a directory."""

    def __init__(self, url: str, directory: Path) -> None:
        """Raises `NotInstalled` where the suite cannot be had."""
        package = installed(_HERE) / "node_modules" / "@modelcontextprotocol" / "conformance"
        self._program = (str(NODE), str(package / "dist" / "index.js"))
        self._url = url
        self._directory = directory

    def every(self) -> Iterator[Report]:
        """Every scenario for servers, in each revision that has it."""
        left = self.known()
        for wire in WIRES:
            for report in self.required(wire):
                left.discard(report.run)
                yield report
        for run in sorted(left):
            yield self.one(run)

    def known(self) -> set[Run]:
        """Every scenario for servers that the suite has, and has finished; one of an extension in both revisions, but
        those of tasks."""
        listed = [_LISTED.fullmatch(line) for line in self._said("list", "--server").splitlines()]
        runs = {
            Run(wire, one["name"])
            for one in listed
            if one
            for wire in WIRES
            if wire in one["since"] or one["since"] == "extension"
        }
        return {run for run in runs if _is_meant(run)}

    def required(self, wire: str) -> list[Report]:
        """What the suite's requirements for a revision name, also what they do not score."""
        directory = self._directory / f"required-{wire}"
        self._run(directory, "--requirements", wire)
        return [report for report in _reports(wire, directory) if _is_meant(report.run)]

    def one(self, run: Run) -> Report:
        """One scenario in one revision."""
        directory = self._directory / f"{run.wire}-{run.scenario}"
        self._run(directory, "--scenario", run.scenario, "--spec-version", run.wire, "--force")
        found = list(_reports(run.wire, directory))
        return found[0] if found else Report(run, {}, ("it left no result",))

    def _run(self, directory: Path, *what: str) -> None:
        written = ("-o", str(directory), "--timeout", SCENARIO_MILLISECONDS)
        self._said("server", "--url", self._url, *what, *written)

    def _said(self, *arguments: str) -> str:
        """Run the suite's program; whether it is content is told by what it leaves, not by its exit code."""
        done = subprocess.run(
            [*self._program, *arguments],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SET_SECONDS,
            check=False,
        )
        return done.stdout


def _is_meant(run: Run) -> bool:
    return run.scenario != UNFINISHED and (run.wire == MODERN or not run.scenario.startswith(TASKS))


def _has_no_word(run: Run, check: Mapping[str, Any]) -> bool:
    return run.wire == LEGACY and check["status"] == "SKIPPED" and check["id"] in NOT_IN_LEGACY


def _reports(wire: str, directory: Path) -> Iterator[Report]:
    for checks in sorted(directory.glob("*/checks.json")):
        named = _DIRECTORY.fullmatch(checks.parent.name)
        assert named, checks
        yield Report.of(Run(wire, named[1]), json.loads(checks.read_text()))
