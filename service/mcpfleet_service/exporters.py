"""What OpenTelemetry's SDK exports with; needs the extra `otel`."""

import os
from dataclasses import dataclass

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


@dataclass(frozen=True, slots=True)
class Exporters:
    """The providers of this process, which export as OpenTelemetry's own variables say."""

    tracers: TracerProvider
    meters: MeterProvider

    @classmethod
    def set_up(cls, service: str) -> "Exporters":
        """Make them, and make them those of the process; OTEL_SERVICE_NAME goes before `service`."""
        resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or service})
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource=resource)
        trace.set_tracer_provider(tracers)
        metrics.set_meter_provider(meters)
        return cls(tracers, meters)

    def shut_down(self) -> None:
        """Export what is left; nothing is kept afterwards."""
        self.tracers.shutdown()
        self.meters.shutdown()
