"""What a run came to, as data, plots and a page."""

import base64
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl

mpl.use("Agg")
from matplotlib.figure import Figure

from loadtest.load.gauges import Sample
from loadtest.load.tally import Tally


@dataclass(frozen=True, slots=True)
class Step:
    """One scenario under one load."""

    scenario: str
    users: int
    seconds: float
    done: int
    errors: int
    first_error: str
    rate: float
    """Of what users do, a second."""
    p50_ms: float
    p95_ms: float
    p99_ms: float
    memory_mib: float
    """The median of all processes together."""
    cpu: float
    """CPU seconds a second, of all processes."""
    redis_commands: float
    """A second."""

    @classmethod
    def of(cls, scenario: str, users: int, seconds: float, tally: Tally, samples: Sequence[Sample]) -> "Step":
        """What one step came to."""
        first, last = samples[0], samples[-1]
        lasted = max(last.at - first.at, 1e-9)
        return cls(
            scenario=scenario,
            users=users,
            seconds=round(seconds, 2),
            done=len(tally.latencies),
            errors=len(tally.errors),
            first_error=tally.errors[0] if tally.errors else "",
            rate=round(len(tally.latencies) / seconds, 2),
            p50_ms=round(1000 * tally.quantile(0.5), 3),
            p95_ms=round(1000 * tally.quantile(0.95), 3),
            p99_ms=round(1000 * tally.quantile(0.99), 3),
            memory_mib=round(statistics.median(each.memory for each in samples) / 2**20, 1),
            cpu=round((last.cpu - first.cpu) / lasted, 3),
            redis_commands=round((last.commands - first.commands) / lasted, 1),
        )


PLOTS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "throughput": ("done a second", ("rate",)),
    "latency": ("milliseconds", ("p50_ms", "p95_ms", "p99_ms")),
    "memory": ("MiB, all processes", ("memory_mib",)),
    "cpu": ("CPU seconds a second, all processes", ("cpu",)),
    "redis": ("Redis commands a second", ("redis_commands",)),
}
"""Each plot: what its axis is, and what is drawn for each scenario against its load."""


def write(folder: Path, steps: Sequence[Step], about: Mapping[str, Any]) -> Path:
    """Write data, plots and page into a folder, and return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {"about": dict(about), "steps": [asdict(step) for step in steps]}
    (folder / "report.json").write_text(json.dumps(found, indent=1))
    for name, (label, fields) in PLOTS.items():
        _plot(folder / f"{name}.png", steps, label, fields)
    page = folder / "report.html"
    page.write_text(_page(folder, steps, about))
    return page


def verdict(steps: Sequence[Step]) -> str:
    """The last line of a run."""
    scenarios = sorted({step.scenario for step in steps})
    shortest = min(sum(step.seconds for step in steps if step.scenario == name) for name in scenarios)
    errors = sum(step.errors for step in steps)
    done = sum(step.done for step in steps)
    return f"scenarios {len(scenarios)}, each of {shortest:.0f} s or more; done {done}; errors {errors}"


def _plot(path: Path, steps: Sequence[Step], label: str, fields: Sequence[str]) -> None:
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for scenario in dict.fromkeys(step.scenario for step in steps):
        mine = [step for step in steps if step.scenario == scenario]
        for field, style in zip(fields, ("-o", "--s", ":^"), strict=False):
            name = scenario if len(fields) == 1 else f"{scenario} {field.removesuffix('_ms')}"
            axes.plot([step.users for step in mine], [getattr(step, field) for step in mine], style, label=name)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("users at once")
    axes.set_ylabel(label)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=100)


def _page(folder: Path, steps: Sequence[Step], about: Mapping[str, Any]) -> str:
    names = [*asdict(steps[0])]
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in asdict(step).values()) + "</tr>"
        for step in steps
    )
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    images = "".join(
        f'<h2>{name}</h2><img alt="{name}" src="data:image/png;base64,'
        f'{base64.b64encode((folder / f"{name}.png").read_bytes()).decode()}">'
        for name in PLOTS
    )
    told = "".join(f"<li>{escape(name)}: {escape(str(value))}</li>" for name, value in about.items())
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>mcpfleet under load</title>'
        "<style>body{font:14px sans-serif;margin:2em}td,th{padding:.2em .6em;text-align:right}</style>"
        f"<h1>mcpfleet under load</h1><p>{escape(verdict(steps))}</p><ul>{told}</ul>"
        f'<table id="steps"><tr>{head}</tr>{rows}</table>{images}</html>'
    )
