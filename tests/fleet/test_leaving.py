"""SIGTERM: a process leaves without cutting anything off."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from http.client import HTTPConnection
from typing import Final
from urllib.parse import urlsplit

from tests.fleet.changes import announcing
from tests.fleet.rolling import replaced, until_unready
from tests.fleets import Launch
from tests.wire import EVERY, LATEST_HANDSHAKE, LEGACY, MODERN, connected

DRAIN: Final = {"DRAIN_DELAY": "1", "DRAIN_SECONDS": "8"}
GRACE_SECONDS: Final = 1.0 + 8.0


async def test_what_is_open_is_finished_in_order_and_the_exit_is_clean(launch_fleet: Launch) -> None:
    """Unready first, while everything is still served; then calls complete, standalone streams end with a time to come
    back (HTML, "Server-sent events", "retry"), and idle connections keep nobody."""
    fleet = launch_fleet(2, **DRAIN)
    leaving = fleet.processes[0]
    async with (
        used_once(leaving.url) as idle,
        connected(fleet.url, LATEST_HANDSHAKE, pin=0) as legacy,
        connected(fleet.url, MODERN) as modern,
        legacy.listening(pin=0) as standalone,
        legacy.calling("slow", as_id="legacy", pin=0, seconds=2, tag="legacy") as call,
        asyncio.TaskGroup() as tasks,
    ):
        assert await call.event() is not None
        modern_call = tasks.create_task(modern.call("slow", as_id="modern", pin=0, seconds=2, tag="modern"))
        standalone_end = tasks.create_task(standalone.answer())
        leaving.terminate()
        told = time.monotonic()

        await until_unready(leaving.url)
        assert not standalone_end.done(), "unready comes first"
        assert not modern_call.done()
        for date in EVERY:  # the balancer may not have noticed yet
            async with connected(fleet.url, date, pin=0) as late:
                assert (await late.call("echo", pin=0, x="late")).text == "late"

        ended = await standalone_end
        assert ended.messages == []
        assert ended.events[-1].retry_ms is not None
        assert (await call.answer()).text == "legacy"
        assert (await modern_call).text == "modern"
        code = await asyncio.to_thread(leaving.await_exit)
        took = time.monotonic() - told
        assert code == 0
        assert took < GRACE_SECONDS, f"{took:.1f} s of {GRACE_SECONDS:g} s"
        assert (await legacy.call("echo", x="elsewhere")).text == "elsewhere"
        assert idle.recv(1) == b"", "the idle connection was closed"


async def test_a_standalone_stream_that_was_sent_away_is_taken_up_elsewhere(launch_fleet: Launch) -> None:
    """Transports, "Listening for Messages from the Server"."""
    fleet = launch_fleet(2, DRAIN_DELAY="0")
    async with connected(fleet.url, LATEST_HANDSHAKE) as client, announcing(fleet) as announcer:
        async with client.listening(pin=0) as stream:
            assert await stream.event() is not None
            fleet.processes[0].terminate()
            assert (await stream.answer()).events[-1].retry_ms is not None
        async with client.listening(stream.last_event_id, pin=1) as again:
            await announcer.tools_changed()
            assert await again.message() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


async def test_a_call_that_does_not_finish_in_time_ends_with_an_error(launch_fleet: Launch) -> None:
    """JSON-RPC 2.0, "Response object": at once when the time is over, and not only after the lease; exit 0 all the
    same."""
    fleet = launch_fleet(2, DRAIN_DELAY="0", DRAIN_SECONDS="1", LEASE_SECONDS="60")
    places = {}
    for date in LEGACY:
        async with (
            connected(fleet.url, date) as client,
            client.calling("count", as_id=date, pin=0, token="t", n=10_000, delay=0.05) as stream,
        ):
            assert await stream.message() is not None
            places[date] = (client.session_id, stream.last_event_id)
    async with (
        connected(fleet.url, MODERN) as modern,
        modern.calling("report", as_id="modern", pin=0, token="t") as hanging,
    ):
        assert await hanging.message() is not None
        fleet.processes[0].terminate()
        for date, (session_id, place) in places.items():
            async with connected(fleet.url, date) as client:
                client.session_id = session_id
                answer = await client.resume(place, pin=1)
                assert answer.messages[-1] == answer.reply
                assert answer.reply["id"] == date
                assert answer.error["data"] == {"reason": "server_stopped"}
        assert "error" in (await hanging.answer()).reply
    assert await asyncio.to_thread(fleet.processes[0].await_exit) == 0


async def test_a_rolling_replacement_of_every_process_fails_no_call(launch_fleet: Launch) -> None:
    """A client of each revision calls all the time, while each process is told to leave and replaced."""
    fleet = launch_fleet(3, DRAIN_DELAY="0.3")
    over = asyncio.Event()

    async def call_on(date: str) -> int:
        async with connected(fleet.url, date) as client:
            calls = 0
            while not over.is_set():
                calls += 1
                assert (await client.call("slow", as_id=calls, seconds=0.05, tag=f"{calls}")).text == f"{calls}"
            return calls

    async with asyncio.TaskGroup() as tasks:
        callers = [tasks.create_task(call_on(date)) for date in EVERY]
        for process in range(3):
            await replaced(fleet, process)
        over.set()
    assert all(caller.result() > 3 for caller in callers)


@asynccontextmanager
async def used_once(url: str) -> AsyncIterator[socket.socket]:
    """A connection that has served one request and waits for the next."""
    address = urlsplit(url)
    with closing(HTTPConnection(address.hostname or "", address.port, timeout=10)) as connection:
        connection.request("GET", "/livez")
        assert connection.getresponse().read()
        assert connection.sock is not None
        yield connection.sock
