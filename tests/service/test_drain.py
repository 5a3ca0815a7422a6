"""Signals to stop: unready first, then the streams, then the web server, and who asks twice does not wait."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType

import pytest

from mcpfleet_service.drain import Drain

DEADLINE = 10.0


class WebServer:
    """Has installed its signal handler, as a web server does before it starts its application."""

    def __init__(self) -> None:
        self.told: list[int] = []
        self.stopped = asyncio.Event()
        self.begun: list[bool] = []

    def handle(self, number: int, _frame: FrameType | None) -> None:
        self.told.append(number)
        self.stopped.set()

    async def stops(self) -> None:
        async with asyncio.timeout(DEADLINE):
            await self.stopped.wait()


@asynccontextmanager
async def draining(delay: float) -> AsyncIterator[tuple[Drain, WebServer]]:
    """A drain before a web server's handlers, which are put back at the end."""
    server = WebServer()
    drain = Drain(lambda: server.begun.append(True), delay=delay)
    before = {number: signal.signal(number, server.handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with drain.on_signals():
            yield drain, server
        assert signal.getsignal(signal.SIGTERM) == server.handle
        assert signal.getsignal(signal.SIGINT) == server.handle
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def test_a_signal_is_passed_on_after_the_delay_and_streams_end_with_it() -> None:
    async with draining(0.05) as (drain, server):
        assert not drain.begun
        signal.raise_signal(signal.SIGTERM)
        assert drain.begun
        assert (server.begun, server.told) == ([], []), "everything is still served"
        await server.stops()
        assert (server.begun, server.told) == ([True], [signal.SIGTERM])


async def test_a_second_signal_does_not_wait() -> None:
    async with draining(3600.0) as (_, server):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        await server.stops()


async def test_an_interrupt_from_a_terminal_does_not_wait() -> None:
    async with draining(3600.0) as (drain, server):
        signal.raise_signal(signal.SIGINT)
        await server.stops()
        assert drain.begun
        assert server.told == [signal.SIGINT]


async def test_a_process_that_can_serve_no_more_stops_its_server_at_once() -> None:
    async with draining(3600.0) as (drain, server):
        drain.give_up()
        assert drain.begun
        assert (server.begun, server.told) == ([True], [signal.SIGTERM])


async def test_before_the_server_has_started_there_is_nothing_to_stop() -> None:
    drain = Drain(lambda: pytest.fail("nothing has begun"), delay=0.0)
    drain.give_up()
    assert drain.begun


async def test_a_server_in_another_thread_keeps_its_signals() -> None:
    before = signal.getsignal(signal.SIGTERM)
    outcome: list[bool] = []

    async def life() -> None:
        drain = Drain(lambda: pytest.fail("nobody was told"), delay=0.0)
        with drain.on_signals():
            outcome.append(signal.getsignal(signal.SIGTERM) == before)
        drain.give_up()
        outcome.append(drain.begun)

    thread = threading.Thread(target=lambda: asyncio.run(life()))
    thread.start()
    await asyncio.to_thread(thread.join, DEADLINE)
    assert outcome == [True, True]


async def test_several_applications_of_a_process_wait_at_the_same_time() -> None:
    """Mounted in one: the server stops once, when the first of them that was started has waited."""
    async with draining(0.1) as (drain, server):
        begun = asyncio.Event()
        other = Drain(begun.set, delay=0.05)
        with other.on_signals():
            signal.raise_signal(signal.SIGTERM)
            assert drain.begun
            assert other.begun
            await server.stops()
            assert server.told == [signal.SIGTERM]
            assert begun.is_set()
