"""The context of a trace passes through untouched (Overview, "_meta": its keys are reserved for W3C Trace Context)."""

import pytest

from tests.answer import Json
from tests.fleets import Fleet
from tests.wire import EVERY, connected

TRACE: Json = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "tracestate": "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
    "baggage": "userId=alice,region=%C3%BC",
}


@pytest.mark.parametrize("date", EVERY)
async def test_a_tool_reads_the_trace_as_the_client_sent_it(featured: Fleet, date: str) -> None:
    async with connected(featured.url, date) as client:
        said = {**TRACE, "com.example/x": 1}
        told = (await client.request("tools/call", {"name": "trace", "arguments": {}, "_meta": said})).value
        assert told["carrier"] == TRACE
        assert {key: value for key, value in told["meta"].items() if "modelcontextprotocol" not in key} == said


@pytest.mark.parametrize("date", EVERY)
async def test_a_request_without_a_trace_has_none(featured: Fleet, date: str) -> None:
    async with connected(featured.url, date) as client:
        assert (await client.call("trace")).value["carrier"] == {}
