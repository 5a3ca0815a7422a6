"""OpenTelemetry: what is exported of each message, as a collector reads it; and one trace through the whole fleet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpfleet.errors import SettingsError
from mcpfleet_service import telemetry
from mcpfleet_service.metering import name_of
from mcpfleet_service.metrics.families import OF_PROCESSES
from mcpfleet_service.telemetry import exporting
from tests.fleets import Fleet, Launch
from tests.otlp import Receiver, Span, receiving
from tests.processes import Serving, python
from tests.wire import LATEST_HANDSHAKE, MODERN, Client, connected

TRACE, PARENT, OTHER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
TAKES: dict[str, Any] = {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.fixture(scope="module")
def collector() -> Iterator[Receiver]:
    """What all processes of this module export to."""
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def traced(collector: Receiver, launch_for_module: Launch) -> Iterator[Fleet]:
    """Two processes that export at once what they have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        patch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        patch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "200")
        yield launch_for_module(2, server="tests.servers.traced:server", TASK_QUEUES="near")


@pytest.fixture
async def client(traced: Fleet) -> Any:
    async with connected(traced.url, MODERN, capabilities=TAKES) as modern:
        yield modern


async def one(collector: Receiver, client: Client, method: str, params: dict[str, Any], name: str) -> Span:
    """The span of a request."""
    before = len([span for span in collector.spans if span.name == name])
    await client.request(method, params)
    return collector.await_spans(before + 1, name)[before]


async def test_a_message_has_a_span_that_goes_on_with_the_trace_of_its_client(
    collector: Receiver, client: Client
) -> None:
    params = {"name": "well", "arguments": {}, "_meta": {"traceparent": TRACEPARENT}}
    span = await one(collector, client, "tools/call", params, "tools/call well")
    assert (span.trace, span.parent, span.service, span.failed) == (TRACE, PARENT, "traced", False)
    assert span.attributes == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": MODERN,
        "jsonrpc.request.id": "1",
        "gen_ai.tool.name": "well",
        "gen_ai.operation.name": "execute_tool",
        "network.transport": "tcp",
    }


async def test_the_trace_of_the_http_request_is_linked_or_gone_on_with_if_there_is_no_other(
    collector: Receiver, client: Client
) -> None:
    header = {"traceparent": f"00-{TRACE}-{OTHER}-01"}
    collector.spans.clear()
    told = {"name": "well", "arguments": {}, "_meta": {"traceparent": TRACEPARENT}}
    await client.request("tools/call", told, headers=header)
    await client.request("tools/call", {"name": "well", "arguments": {}}, headers=header)
    spans = collector.await_spans(2, "tools/call well")
    assert sorted((span.parent, span.links) for span in spans) == [(OTHER, ()), (PARENT, (OTHER,))]


@pytest.mark.parametrize(
    ("how", "error", "status"), [("told", "tool_error", None), ("refused", "-32050", "-32050"), ("", "KeyError", None)]
)
async def test_what_went_wrong_is_told_by_its_kind_and_not_by_its_words(
    collector: Receiver, client: Client, how: str, error: str, status: str | None
) -> None:
    params = {"name": "badly", "arguments": {"how": how}}
    span = await one(collector, client, "tools/call", params, "tools/call badly")
    assert span.failed
    assert (span.attributes["error.type"], span.attributes.get("rpc.response.status_code")) == (error, status)
    assert "secret" not in str(span)


async def test_names_that_clients_make_up_make_no_names_of_spans(collector: Receiver, client: Client) -> None:
    span = await one(collector, client, "acme/made-up", {}, "_OTHER")
    assert span.attributes["mcp.method.name"] == "_OTHER"
    span = await one(collector, client, "tools/call", {"name": "made-up"}, "tools/call")
    assert "gen_ai.tool.name" not in span.attributes


async def test_a_resource_is_an_attribute_and_a_prompt_a_name(collector: Receiver, client: Client) -> None:
    span = await one(collector, client, "resources/read", {"uri": "notes://a"}, "resources/read")
    assert span.attributes["mcp.resource.uri"] == "notes://a"
    span = await one(collector, client, "prompts/get", {"name": "ask"}, "prompts/get ask")
    assert span.attributes["gen_ai.prompt.name"] == "ask"


@pytest.mark.parametrize("garbage", [5, "", "00-zz", "x" * 10_000, {"a": 1}])
async def test_a_trace_that_is_none_begins_another_and_breaks_nothing(
    collector: Receiver, client: Client, garbage: Any
) -> None:
    params = {"name": "well", "arguments": {}, "_meta": {"traceparent": garbage, "baggage": "k=v"}}
    span = await one(collector, client, "tools/call", params, "tools/call well")
    assert span.parent == ""


async def test_sessions_have_spans_too(collector: Receiver, traced: Fleet) -> None:
    async with connected(traced.url, LATEST_HANDSHAKE) as legacy:
        span = await one(collector, legacy, "tools/call", {"name": "well", "arguments": {}}, "tools/call well")
    assert span.attributes["mcp.session.id"] == legacy.session_id
    assert span.attributes["mcp.protocol.version"] == LATEST_HANDSHAKE
    assert collector.await_spans(1, "initialize")


async def test_how_long_messages_take_is_measured(collector: Receiver, client: Client) -> None:
    await client.call("well")
    assert collector.await_metric("mcp.server.operation.duration")
    for each in OF_PROCESSES:
        if each.kind == "gauge" and not each.labels:
            assert collector.await_metric(name_of(each)), each
    assert collector.await_metric("mcpfleet.bell.lag")


async def test_one_trace_goes_over_two_processes_and_a_worker(
    collector: Receiver, traced: Fleet, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    environ = {
        "MCPFLEET_APP": "tests.servers.traced:server",
        "MCPFLEET_REDIS_URL": traced.redis_url,
        "MCPFLEET_NAMESPACE": traced.namespace,
        "MCPFLEET_TASK_QUEUES": "far",
        "OTEL_SERVICE_NAME": "the worker",
    }
    collector.spans.clear()
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    meta = {"traceparent": f"00-{trace}-{PARENT}-01"}
    with Serving([*python("-m", "mcpfleet_service.cli", "work")], environ, tmp_path / "worker.log") as worker:
        made = await client.request("tools/call", {"name": "elsewhere", "arguments": {}, "_meta": meta}, pin=0)
        task = made.result["taskId"]
        asked = {"taskId": task, "_meta": meta}
        while (found := await client.request("tasks/get", asked, pin=1)).result["status"] == "working":
            pass
        assert found.result["status"] == "completed"
        assert worker.stop() == 0
    calls = collector.await_spans(2, "tools/call elsewhere")
    (gets, *_) = collector.await_spans(1, "tasks/get")
    (call,) = (span for span in calls if "mcp.task.id" not in span.attributes)
    (run,) = (span for span in calls if "mcp.task.id" in span.attributes)
    assert {call.trace, run.trace, gets.trace} == {trace}
    assert (call.parent, run.parent) == (PARENT, call.id)
    assert run.attributes["mcp.task.id"] == task
    assert (call.service, run.service) == ("traced", "the worker")


async def test_without_an_endpoint_nothing_is_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "find_spec", lambda _: None)
    async with exporting("s", {}):
        pass
    async with exporting("s", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}):
        pass


async def test_an_endpoint_without_what_exports_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"mcpfleet\[otel\]"):
        async with exporting("s", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}):
            pass
