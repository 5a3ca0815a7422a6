"""Cancellation: it reaches the tool wherever it runs, and nothing follows it ("Cancellation")."""

import asyncio
import secrets
from typing import Final

import pytest

from tests.fleets import Fleet
from tests.wire import LATEST_HANDSHAKE, LEGACY, MODERN, Stream, connected

every_legacy = pytest.mark.parametrize("date", LEGACY)
both_kinds = pytest.mark.parametrize("tool", ["slow", "block"])
STOP_SECONDS: Final = 2.0
"""How soon after a cancel its tool must know."""


@every_legacy
@both_kinds
async def test_a_cancel_on_any_process_stops_the_tool_and_no_response_comes(fleet: Fleet, date: str, tool: str) -> None:
    """Cancellation, "Behavior Requirements": the receiver stops and does not respond; a function that blocks a thread
    is told so."""
    tag = secrets.token_hex(4)
    async with (
        connected(fleet.url, date) as client,
        client.calling(tool, as_id="c", pin=0, seconds=30, tag=tag) as stream,
    ):
        await journalled(fleet, f"began {tag}")
        await registered(stream, date)
        assert (await client.cancel("c", pin=len(fleet.processes) - 1)).status == 202
        answer = await stream.answer(within=STOP_SECONDS)
        assert answer.messages == []
        await journalled(fleet, f"cancelled {tag}")
        assert (await client.call("echo", x="lives")).text == "lives"


@every_legacy
async def test_an_id_of_the_other_kind_is_another_request(fleet: Fleet, date: str) -> None:
    """Cancellation, "Cancellation Flow": the id of the request, where 1 is not "1"."""
    async with (
        connected(fleet.url, date) as client,
        client.calling("slow", as_id="1", seconds=30) as text,
        client.calling("slow", as_id=1, seconds=30) as number,  # the newest, which a careless cancel would hit
    ):
        await registered(text, date)
        await registered(number, date)
        assert (await client.cancel("1")).status == 202
        assert (await text.answer(within=STOP_SECONDS)).messages == []
        assert (await client.cancel(1)).status == 202
        assert (await number.answer(within=STOP_SECONDS)).messages == []


@every_legacy
async def test_a_cancel_that_comes_too_late_or_names_nothing_changes_nothing(fleet: Fleet, date: str) -> None:
    """Cancellation, "Error Handling": unknown, finished or malformed cancels are ignored."""
    async with connected(fleet.url, date) as client:
        assert (await client.call("echo", as_id=9, x="done")).text == "done"
        for params in ({"requestId": 9}, {"requestId": "unknown"}, {"requestId": None}, {"requestId": [1]}, {}):
            assert (await client.notify("notifications/cancelled", params)).status == 202
        assert (await client.call("count", as_id=9, n=2, token=9)).text == "2"


@every_legacy
async def test_a_cancel_for_the_future_does_not_hit_a_later_request_of_that_id(fleet: Fleet, date: str) -> None:
    """Cancellation, "Behavior Requirements": it refers to a request that was issued before."""
    async with connected(fleet.url, date) as client:
        assert (await client.cancel("soon")).status == 202
        assert (await client.call("slow", as_id="soon", seconds=0.4, tag="served")).text == "served"


@every_legacy
async def test_the_end_of_a_session_cancels_its_calls(fleet: Fleet, date: str) -> None:
    """Transports, "Session Management": who ends a session wants none of its answers."""
    tag = secrets.token_hex(4)
    async with (
        connected(fleet.url, date) as client,
        client.calling("slow", pin=0, seconds=30, tag=tag) as stream,
    ):
        await registered(stream, date)
        assert (await client.end(pin=len(fleet.processes) - 1)).status == 204
        assert (await stream.answer(within=STOP_SECONDS)).replies == []
    await journalled(fleet, f"cancelled {tag}")


@every_legacy
async def test_a_lost_connection_is_no_cancel(fleet: Fleet, date: str) -> None:
    """Transports, "Sending Messages to the Server": disconnection SHOULD NOT be interpreted as cancelling."""
    tag = secrets.token_hex(4)
    async with connected(fleet.url, date) as client:
        async with client.calling("slow", pin=0, seconds=0.6, tag=tag):
            await journalled(fleet, f"began {tag}")
        await journalled(fleet, f"finished {tag}")


@both_kinds
async def test_closing_a_modern_response_cancels_its_request(fleet: Fleet, tool: str) -> None:
    """Streamable HTTP 2026-07-28, "Cancellation": whether or not anything was sent before."""
    tag = secrets.token_hex(4)
    async with connected(fleet.url, MODERN) as client:
        call = asyncio.create_task(client.call(tool, pin=0, seconds=30, tag=tag))
        await journalled(fleet, f"began {tag}")
        call.cancel()
        await journalled(fleet, f"cancelled {tag}", within=STOP_SECONDS)
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_closing_a_modern_stream_cancels_its_request(fleet: Fleet) -> None:
    """Streamable HTTP 2026-07-28, "Cancellation"."""
    tag = secrets.token_hex(4)
    async with connected(fleet.url, MODERN) as client:
        async with client.calling("report", pin=0, token="t", tag=tag) as stream:
            assert await stream.message() is not None
        await journalled(fleet, f"cancelled {tag}", within=STOP_SECONDS)


async def registered(stream: Stream, date: str) -> None:
    """Return once the response is a stream; from then on its call can be told from others of the same id."""
    if date == LATEST_HANDSHAKE:
        assert await stream.event() is not None
    assert stream.headers["Content-Type"] == "text/event-stream"


async def journalled(fleet: Fleet, entry: str, *, within: float = 10.0, pin: int = 0) -> None:
    """Return once the tools of a process have written the entry; ask until then."""
    async with asyncio.timeout(within), connected(fleet.url, MODERN) as client:
        while entry not in (await client.call("journal", pin=pin)).value:
            pass
