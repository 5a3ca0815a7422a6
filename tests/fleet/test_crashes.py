"""`kill -9`: sessions go on elsewhere at once, and what ran in the process ends with an error within the lease time."""

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Final

import httpx2
import pytest

from tests.answer import Answer
from tests.fleet.changes import announcing
from tests.fleets import Launch
from tests.wire import LATEST_HANDSHAKE, LEGACY, MODERN, Client, Stream, connected

PROMISE_SECONDS: Final = 10.0
"""Within this time, by default, a call whose process died has ended (lease 7.5 s, looked at every 2.5 s)."""
CALLS: Final = 20
QUICK: Final = {"LEASE_SECONDS": "1"}


async def test_a_call_whose_process_died_ends_with_an_error_within_the_promised_time(launch_fleet: Launch) -> None:
    """JSON-RPC 2.0, "Response object": with default settings; and whoever asks again is told the same."""
    fleet = launch_fleet(3)
    async with connected(fleet.url, LATEST_HANDSHAKE) as client:
        async with client.calling("count", as_id="lost", pin=0, token="t", n=1000, delay=0.05) as stream:
            assert await stream.message() is not None
            fleet.processes[0].kill()
            died = time.monotonic()
        answer = await client.resume(stream.last_event_id, pin=1)
        took = time.monotonic() - died
        assert_unknown(answer, "lost")
        margin = f"{took:.1f} s, {PROMISE_SECONDS - took:+.1f} s to the promised {PROMISE_SECONDS:g} s"
        assert took <= PROMISE_SECONDS, margin
        assert (await client.resume(stream.last_event_id, pin=2)).messages == answer.messages
        assert (await client.call("echo", x="lives")).text == "lives"


async def test_the_lease_decides_how_soon_that_is(launch_fleet: Launch) -> None:
    """The same with a lease of one second, without a priming event and with one: what it had said comes before."""
    fleet = launch_fleet(2, **QUICK)
    for date in (LEGACY[0], LATEST_HANDSHAKE):
        async with connected(fleet.url, date) as client:
            await client.request("logging/setLevel", {"level": "info"})
            async with client.calling("count", as_id=date, pin=0, n=1000, delay=0.05) as stream:
                for _ in range(3):
                    assert await stream.message() is not None
                place = stream.last_event_id
                assert await stream.message() is not None
                fleet.processes[0].kill()
                with pytest.raises(httpx2.RemoteProtocolError):  # cut off, and not ended as if all had been said
                    await stream.answer()
            died = time.monotonic()
            answer = await client.resume(place)
            took = time.monotonic() - died
            logged = [message["params"]["data"]["count"] for message in answer.notifications]
            assert logged == [*range(4, 4 + len(logged))]
            assert logged
            assert_unknown(answer, date)
            assert took < PROMISE_SECONDS / 2, f"{took:.1f} s with a lease of 1 s"
            assert (await client.resume(place)).body == answer.body, "it has one end, however often it is asked for"
        fleet.restart(0)


async def test_who_already_follows_the_call_elsewhere_is_told_too(launch_fleet: Launch) -> None:
    """Transports, "Resumability and Redelivery": the follower need not come back."""
    fleet = launch_fleet(2, **QUICK)
    async with connected(fleet.url, LATEST_HANDSHAKE) as client:
        async with client.calling("slow", as_id=1, pin=0, seconds=60) as stream:
            assert await stream.event() is not None
        async with client.listening(stream.last_event_id, pin=1) as follower:
            fleet.processes[0].kill()
            assert_unknown(await follower.answer(within=PROMISE_SECONDS), 1)


async def test_a_process_that_was_frozen_beyond_its_lease_cannot_give_a_second_answer(launch_fleet: Launch) -> None:
    """JSON-RPC 2.0: one response; what the process says on waking is refused."""
    fleet = launch_fleet(2, **QUICK)
    async with connected(fleet.url, LATEST_HANDSHAKE) as client:
        async with client.calling("slow", as_id=1, pin=0, seconds=0.6, tag="too late") as stream:
            assert await stream.event() is not None
            fleet.processes[0].freeze()
            answer = await client.resume(stream.last_event_id, pin=1, within=PROMISE_SECONDS)
            assert_unknown(answer, 1)
            fleet.processes[0].thaw()
            assert_unknown(await stream.answer(), 1)
        again = await client.resume(stream.last_event_id, pin=0)
        assert again.messages == answer.messages


async def test_a_modern_call_whose_process_died_is_cut_off_and_may_be_asked_again(launch_fleet: Launch) -> None:
    """Streamable HTTP 2026-07-28: nothing is kept of it, so nothing is waited for."""
    fleet = launch_fleet(2)
    async with connected(fleet.url, MODERN) as client:
        async with client.calling("report", pin=0, token="t") as stream:
            assert await stream.message() is not None
            fleet.processes[0].kill()
            with pytest.raises(httpx2.RemoteProtocolError):
                await stream.answer()
        assert (await client.call("echo", x="again")).text == "again"


async def test_fifty_sessions_go_on_at_once_when_one_of_three_processes_dies(launch_fleet: Launch) -> None:
    """Transports, "Session Management": no session lives in a process, so none dies with one, and nobody waits."""
    fleet = launch_fleet(3)
    async with AsyncExitStack() as held:
        new = [Client(fleet.url, LEGACY[turn % len(LEGACY)]) for turn in range(50)]
        clients = [await held.enter_async_context(client) for client in new]
        opened = await asyncio.gather(*(client.initialize(pin=0) for client in clients))
        assert {answer.process for answer in opened} == {0}
        fleet.processes[0].kill()
        calls = [
            client.call("slow", as_id=turn, seconds=0, tag=f"{turn}") for client in clients for turn in range(CALLS)
        ]
        answers = await asyncio.gather(*calls)
    assert [answer.text for answer in answers] == [f"{turn}" for turn in range(CALLS)] * 50
    assert {answer.process for answer in answers} == {1, 2}


async def test_a_standalone_stream_goes_on_elsewhere_and_misses_nothing(launch_fleet: Launch) -> None:
    """Transports, "Listening for Messages from the Server": each change once, also those of the time between."""
    fleet = launch_fleet(3)
    async with connected(fleet.url, LATEST_HANDSHAKE) as client, announcing(fleet) as announcer:
        async with client.listening(pin=0) as stream:
            await announcer.tools_changed()
            assert await changed(stream)
            fleet.processes[0].kill()
            await announcer.tools_changed()
            await announcer.tools_changed()
        async with client.listening(stream.last_event_id, pin=1) as again:
            assert await changed(again)
            assert await changed(again)
            await announcer.tools_changed()
            assert await changed(again)
            assert (await client.end()).status == 204
            rest = await again.answer()
        assert len(rest.messages) == 3, "and no change twice"


def assert_unknown(answer: Answer, request_id: str | int) -> None:
    """The stream ended with an error for this request: nobody knows what became of it."""
    assert answer.status == 200
    assert answer.messages[-1] == answer.reply
    assert answer.reply["id"] == request_id
    assert (answer.error["code"], answer.error["data"]) == (-32603, {"reason": "outcome_unknown"})


async def changed(stream: Stream) -> bool:
    """Whether the next message says that the list of tools has changed."""
    message = await stream.message()
    return message is not None and message["method"] == "notifications/tools/list_changed"
