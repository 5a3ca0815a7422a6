"""The same metrics as `/metrics` has, for OpenTelemetry; how long messages take is measured with their spans."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from mcpfleet.server.engine import Engine
from mcpfleet.server.vitals import Tally
from mcpfleet_service.metrics.families import OF_PROCESSES, Instrument
from mcpfleet_service.telemetry import SCOPE

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Observation

TALLIES: Final = {"mcp_server_session_duration_seconds": "sessions", "mcpfleet_bell_lag_seconds": "bell_lag"}
"""The histograms that are not measured with spans, and the tallies that they are of."""


def meter(engine: Engine) -> None:
    """Let what this process counts be exported, if it has somewhere to export to."""
    if find_spec("opentelemetry") is None:
        return
    from opentelemetry import metrics, trace  # noqa: PLC0415 - an extra of the bare library

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return
    found = metrics.get_meter(SCOPE)
    for each in OF_PROCESSES:
        observed: list[Callable[[CallbackOptions], Iterator[Observation]]] = [partial(_observed, engine, each)]
        match each.kind:
            case "counter":
                found.create_observable_counter(name_of(each), observed, description=each.about)
            case "gauge":
                found.create_observable_gauge(name_of(each), observed, description=each.about)
            case "histogram" if each.name in TALLIES:
                histogram = found.create_histogram(name_of(each), unit="s", description=each.about)
                engine.vitals.also[TALLIES[each.name]] = histogram.record


def name_of(instrument: Instrument) -> str:
    """Its name as OpenTelemetry has it."""
    return instrument.name.removesuffix("_seconds").replace("_", ".")


def _observed(engine: Engine, instrument: Instrument, _options: "CallbackOptions") -> "Iterator[Observation]":
    """What there is now; asked by a thread of the exporter."""
    from opentelemetry.metrics import Observation  # noqa: PLC0415 - an extra of the bare library

    for values, value in instrument.series(engine.report()):
        if not isinstance(value, Tally):
            yield Observation(value, dict(zip(instrument.labels, values, strict=True)))
