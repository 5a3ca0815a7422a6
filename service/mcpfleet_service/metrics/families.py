"""Reports of processes, and the census of their fleet, as families of metrics.

Every series of a process is labelled with it, so that whichever process behind a port is asked, the answer is the same.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, Literal

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from mcpfleet.server.census import Census
from mcpfleet.server.vitals import Report, Tally

Kind = Literal["counter", "gauge", "histogram"]
Series = Iterator[tuple[tuple[str, ...], float | Tally]]
PROCESS: Final = "process"


@dataclass(frozen=True, slots=True)
class Instrument:
    """One family of metrics: its name without what its kind adds, and how each report tells of it."""

    name: str
    kind: Kind
    about: str
    labels: tuple[str, ...]
    series: Callable[[Report], Series]

    @property
    def shown(self) -> str:
        """Its name as it is shown: a counter's ends in `_total`."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


def _one(value: Callable[[Report], float | Tally]) -> Callable[[Report], Series]:
    return lambda report: iter([((), value(report))])


def _each(values: Callable[[Report], Mapping[str, int]]) -> Callable[[Report], Series]:
    return lambda report: (((name,), count) for name, count in values(report).items())


OF_PROCESSES: Final = (
    Instrument(
        "mcpfleet_process_info",
        "gauge",
        "1 for each process: its version, and whether it is of the worker tier",
        ("version", "tier"),
        lambda report: iter([((report.version, "worker" if report.worker else "server"), 1)]),
    ),
    Instrument(
        "mcpfleet_process_start_time_seconds",
        "gauge",
        "when the process began, in Unix seconds",
        (),
        _one(lambda report: report.since),
    ),
    Instrument(
        "mcpfleet_process_leaving", "gauge", "1 once the process drains", (), _one(lambda report: int(report.leaving))
    ),
    Instrument(
        "mcpfleet_requests_active",
        "gauge",
        "requests being served, streams included",
        (),
        _one(lambda report: report.active),
    ),
    Instrument(
        "mcpfleet_streams",
        "gauge",
        "open streams that last until somebody leaves: `get`, `sse` or `listen`",
        ("kind",),
        _each(lambda report: report.streams),
    ),
    Instrument(
        "mcpfleet_questions",
        "gauge",
        "questions to legacy clients that somebody waits for",
        (),
        _one(lambda report: report.questions),
    ),
    Instrument(
        "mcpfleet_tasks",
        "gauge",
        "tasks in the hands of the process: `working` or `input_required`",
        ("status",),
        _each(lambda report: report.tasks),
    ),
    Instrument(
        "mcpfleet_tasks_ended",
        "counter",
        "tasks that the process has ended",
        ("status",),
        _each(lambda report: report.tasks_ended),
    ),
    Instrument(
        "mcpfleet_refusals",
        "counter",
        "requests refused or answered with an error, by reason",
        ("reason",),
        _each(lambda report: report.refusals),
    ),
    Instrument(
        "mcpfleet_redis_errors",
        "counter",
        "commands to Redis that came to nothing: `unavailable`, `in_doubt` or `refused`",
        ("kind",),
        _each(lambda report: report.store_failures),
    ),
    Instrument(
        "mcp_server_operation_duration_seconds",
        "histogram",
        "how long messages took; streams without end are not among them before they end",
        ("method", "target", "error"),
        lambda report: (
            ((each.operation.method, each.operation.target, each.operation.error), each.tally)
            for each in report.operations
        ),
    ),
    Instrument(
        "mcp_server_session_duration_seconds",
        "histogram",
        "how long sessions lasted that their clients have ended",
        (),
        _one(lambda report: report.sessions),
    ),
    Instrument(
        "mcpfleet_bell_lag_seconds",
        "histogram",
        "from the ringing of a bell to its being heard",
        (),
        _one(lambda report: report.bell_lag),
    ),
)
"""What each process tells of itself."""

OF_THE_FLEET: Final = {
    "mcpfleet_sessions": "open sessions of the whole fleet, where `MCPFLEET_MAX_SESSIONS` bounds them",
    "mcpfleet_tasks_live": "unfinished tasks of the whole fleet, where `MCPFLEET_MAX_TASKS` bounds them",
    "mcpfleet_queue_depth": "tasks of the whole fleet that wait to be run, by queue",
}
"""What the store tells of all: absent while it is away."""


_KINDS: Final[Mapping[Kind, Any]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
}


def families(reports: Sequence[Report], census: Census | None) -> Iterator[Metric]:
    """All of them."""
    for instrument in OF_PROCESSES:
        yield _family(instrument, reports)
    if census is not None:
        yield from _of_the_fleet(census)


def _family(instrument: Instrument, reports: Sequence[Report]) -> Metric:
    family: Any = _KINDS[instrument.kind](instrument.name, instrument.about, labels=(PROCESS, *instrument.labels))
    for report in reports:
        for values, value in instrument.series(report):
            labels = (report.process, *values)
            if isinstance(value, Tally):
                family.add_metric(labels, _buckets(value), value.total)
            else:
                family.add_metric(labels, float(value))
    found: Metric = family
    return found


def _of_the_fleet(census: Census) -> Iterator[Metric]:
    yield GaugeMetricFamily("mcpfleet_sessions", OF_THE_FLEET["mcpfleet_sessions"], value=census.sessions)
    yield GaugeMetricFamily("mcpfleet_tasks_live", OF_THE_FLEET["mcpfleet_tasks_live"], value=census.tasks)
    depth = GaugeMetricFamily("mcpfleet_queue_depth", OF_THE_FLEET["mcpfleet_queue_depth"], labels=("queue",))
    for queue, waiting in census.queued.items():
        depth.add_metric((queue,), waiting)
    yield depth


def _buckets(tally: Tally) -> list[tuple[str, float]]:
    bounds = [*map(str, tally.bounds), "+Inf"]
    return [*zip(bounds, map(float, accumulate(tally.counts)), strict=True)]
