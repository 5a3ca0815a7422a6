"""A receiver of OpenTelemetry's protocol on loopback: what processes under test export is kept here."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True, slots=True)
class Span:
    """One span, as it came; ids are hexadecimal, the parent of a root is empty."""

    name: str
    trace: str
    id: str
    parent: str
    service: str
    links: tuple[str, ...]
    attributes: dict[str, str]
    failed: bool


class Receiver:
    """Keeps all spans, and the names of all metrics with how often each was measured."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.measured: dict[str, int] = {}
        self._news = threading.Condition()
        self.url = ""

    def await_spans(self, count: int, name: str, within: float = 20.0) -> list[Span]:
        """All spans of this name, once there are so many."""

        def found() -> list[Span]:
            return [span for span in self.spans if span.name == name]

        with self._news:
            assert self._news.wait_for(lambda: len(found()) >= count, within), [span.name for span in self.spans]
            return found()

    def await_metric(self, name: str, within: float = 20.0) -> int:
        """How often it was measured, once it was."""
        with self._news:
            assert self._news.wait_for(lambda: name in self.measured, within), list(self.measured)
            return self.measured[name]

    def take(self, path: str, body: bytes) -> None:
        """Keep what one export brings."""
        with self._news:
            if path == "/v1/traces":
                self.spans += _spans(ExportTraceServiceRequest.FromString(body))
            elif path == "/v1/metrics":
                self._measure(ExportMetricsServiceRequest.FromString(body))
            self._news.notify_all()

    def _measure(self, request: Any) -> None:
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    counts = [point.count for point in metric.histogram.data_points]
                    counts += [1 for _ in (*metric.gauge.data_points, *metric.sum.data_points)]
                    self.measured[metric.name] = max(self.measured.get(metric.name, 0), sum(counts))


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver for the time of the block."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            serving.join()


def _spans(request: Any) -> Iterator[Span]:
    for resource in request.resource_spans:
        told = {each.key: each.value.string_value for each in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Span(
                    name=span.name,
                    trace=span.trace_id.hex(),
                    id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    service=told["service.name"],
                    links=tuple(link.span_id.hex() for link in span.links),
                    attributes={each.key: each.value.string_value for each in span.attributes},
                    failed=span.status.code == 2,
                )
