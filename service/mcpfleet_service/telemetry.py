"""OpenTelemetry: a span and a duration for each message, by the semantic conventions for MCP.

A trace goes on from `_meta.traceparent` ("Overview", section "_meta"), over processes and into the worker tier. Where
no exporter is set up there is no observer, and nothing of this costs anything.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from mcpfleet.errors import ProtocolError, SettingsError
from mcpfleet.protocol import tracecontext
from mcpfleet.server import tracing
from mcpfleet.server.context import Context
from mcpfleet.server.hooks import CallNext, Hook, compile_hook
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.server import Server
from mcpfleet_service.subjects import Subjects, failure_in, failure_of

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Tracer

SCOPE: Final = "mcpfleet"
MAX_TEXT: Final = 512
"""How long a word of a client's may be in an attribute, or in a trace context that is read."""
BUCKETS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""Seconds, as the conventions advise."""
ENDPOINTS: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
"""The variables of OpenTelemetry's own that say where to export to: without one of them nothing is set up."""
SHUTDOWN_SECONDS: Final = 5.0

_TAKEN: Final = (tracecontext.TRACEPARENT, tracecontext.TRACESTATE)
_NAMED: Final = {"tools/call": "gen_ai.tool.name", "prompts/get": "gen_ai.prompt.name"}
_AT_URI: Final = frozenset({"resources/read", "resources/subscribe", "resources/unsubscribe"})


@asynccontextmanager
async def exporting(service: str, environ: Mapping[str, str] = os.environ) -> AsyncIterator[None]:
    """Export over OTLP for the time of the block, if OpenTelemetry's own variables say where to.

    For the main module of a process: what tools trace by themselves is exported too. `SettingsError` if the packages
    for it are not installed.
    """
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or not any(environ.get(each) for each in ENDPOINTS):
        yield
        return
    if find_spec("opentelemetry.exporter") is None or find_spec("opentelemetry.sdk") is None:
        raise SettingsError("OTEL_EXPORTER_OTLP_ENDPOINT is set; get what exports with: pip install 'mcpfleet[otel]'")
    from mcpfleet_service.exporters import Exporters  # noqa: PLC0415 - an extra

    exporters = Exporters.set_up(service)
    try:
        yield
    finally:
        await asyncio.wait_for(asyncio.to_thread(exporters.shut_down), SHUTDOWN_SECONDS)


def observers(server: Server) -> tuple[Hook, ...]:
    """What observes the messages of a server, if this process has a tracer that keeps anything."""
    if find_spec("opentelemetry") is None:
        return ()
    from opentelemetry import metrics, trace  # noqa: PLC0415 - an extra of the bare library

    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return ()
    durations = metrics.get_meter(SCOPE).create_histogram(
        "mcp.server.operation.duration", unit="s", explicit_bucket_boundaries_advisory=[*BUCKETS]
    )
    observer = Observer(server, trace.get_tracer(SCOPE), durations)
    return (compile_hook(observer.around, context_type=Context),)


class Observer:
    """Observes every message of one server."""

    def __init__(self, server: Server, tracer: "Tracer", durations: "Histogram") -> None:
        self._subjects = Subjects(server)
        self._tracer = tracer
        self._durations = durations

    async def around(self, message: Incoming, call_next: CallNext) -> Any:
        """Serve a message within a span of its own."""
        from opentelemetry import propagate, trace  # noqa: PLC0415 - an extra of the bare library

        method, target = self._subjects.method(message), self._subjects.target(message)
        attributes = self._attributes(message, method, target)
        told, carrying = _carrier(message.meta), _carrier({name: message.headers.get(name) for name in _TAKEN})
        request = trace.get_current_span(propagate.extract(carrying)).get_span_context()
        span = self._tracer.start_span(
            method if target is None else f"{method} {target}",
            context=propagate.extract(told or carrying),
            kind=trace.SpanKind.SERVER,
            attributes=attributes,
            links=[trace.Link(request)] if told and request.is_valid else [],
        )
        began, error = time.perf_counter(), None
        carried: dict[str, str] = {}
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            propagate.inject(carried)
            token = tracing.CURRENT.set(carried)
            try:
                result = await call_next(message)
                error = failure_in(result)
                return result
            except Exception as raised:
                error = failure_of(raised)
                if isinstance(raised, ProtocolError):
                    span.set_attribute("rpc.response.status_code", str(raised.code))
                raise
            finally:
                tracing.CURRENT.reset(token)
                if error is not None:
                    span.set_attribute("error.type", error)
                    span.set_status(trace.StatusCode.ERROR)
                    attributes["error.type"] = error
                kept = {name: value for name, value in attributes.items() if name in _OF_DURATIONS}
                self._durations.record(time.perf_counter() - began, kept)

    def _attributes(self, message: Incoming, method: str, target: str | None) -> dict[str, str]:
        attributes = {
            "mcp.method.name": method,
            "mcp.protocol.version": message.protocol_version,
            "network.transport": "tcp" if message.headers else "pipe",
        }
        if message.request_id is not None:
            attributes["jsonrpc.request.id"] = str(message.request_id)[:MAX_TEXT]
        if message.session_id is not None:
            attributes["mcp.session.id"] = message.session_id
        if message.caller.task_id is not None:
            attributes["mcp.task.id"] = message.caller.task_id
        if target is not None:
            attributes[_NAMED[message.method]] = target
        if message.method == "tools/call":
            attributes["gen_ai.operation.name"] = "execute_tool"
        if message.method in _AT_URI and message.target is not None:
            attributes["mcp.resource.uri"] = message.target[:MAX_TEXT]
        return attributes


_OF_DURATIONS: Final = frozenset(
    {"error.type", "gen_ai.prompt.name", "gen_ai.tool.name", "mcp.method.name", "mcp.protocol.version"}
)
"""The attributes of few values: each combination of them is a series of its own."""


def _carrier(meta: Mapping[str, Any]) -> dict[str, str]:
    """The trace context of a message, but for its baggage, which a stranger could put anything into."""
    found = tracecontext.carrier(meta)
    return {name: found[name] for name in _TAKEN if len(found.get(name, "")) in range(1, MAX_TEXT)}
