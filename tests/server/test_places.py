"""A bounded number of places and a bounded line."""

import asyncio
import threading

import pytest

from mcpfleet import Server
from mcpfleet.errors import Overloaded, RegistrationError
from mcpfleet.server.places import TAKEN, Places
from tests.server.methods.desk import asking


async def test_no_more_than_the_limit_are_in_at_once_and_all_get_their_turn() -> None:
    places, inside, most, done = Places(2), 0, 0, list[int]()

    async def visit(number: int) -> None:
        nonlocal inside, most
        async with places.taken():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1
            done.append(number)

    await asyncio.wait_for(asyncio.gather(*map(visit, range(9))), 10)
    assert most == 2
    assert sorted(done) == list(range(9))


async def test_beyond_the_line_nobody_waits() -> None:
    places = Places(1, waiting=1)
    async with places.taken():
        waiting = asyncio.ensure_future(places.take())
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await places.take()
    await asyncio.wait_for(waiting, 10)


async def test_patience_ends() -> None:
    places = Places(1, patience=0.01)
    async with places.taken():
        with pytest.raises(Overloaded):
            await places.take()
    async with places.taken():
        pass


async def test_who_leaves_the_line_takes_no_place() -> None:
    places = Places(1)
    async with places.taken():
        waiting = asyncio.ensure_future(places.take())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    async with asyncio.timeout(10), places.taken():
        pass


async def test_a_place_is_given_up_however_the_block_ends() -> None:
    places = Places(1)
    for error in (ValueError, asyncio.CancelledError):
        with pytest.raises(error):
            async with places.taken():
                raise error
    async with asyncio.timeout(10), places.taken():
        pass


async def test_each_task_is_in_the_place_that_it_took_and_in_none_after_it() -> None:
    outer, inner = Places(1), Places(1)
    assert TAKEN.get() is None
    async with outer.taken():
        place = TAKEN.get()
        async with inner.taken():
            assert TAKEN.get() not in (None, place)
        assert TAKEN.get() is place
    assert TAKEN.get() is None


async def test_a_tool_runs_so_many_times_at_once_and_others_are_not_held_up() -> None:
    server, running, most, both_run, may_end = Server("s"), 0, 0, asyncio.Event(), asyncio.Event()

    @server.tool(limit=2)
    async def narrow() -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            both_run.set()
        await may_end.wait()
        running -= 1
        return most

    server.tool(name="wide")(lambda: "at once")
    async with asking(server) as desk, asyncio.timeout(20):
        calls = [asyncio.ensure_future(desk.result("tools/call", {"name": "narrow"})) for _ in range(5)]
        await both_run.wait()
        assert (await desk.result("tools/call", {"name": "wide"}))["content"][0]["text"] == "at once"
        may_end.set()
        await asyncio.gather(*calls)
    assert most == 2


@pytest.mark.parametrize("how", ["its time is up", "it is cancelled"])
async def test_a_thread_that_nobody_waits_for_any_more_keeps_its_place_until_it_ends(how: str) -> None:
    server, running, most, began, may_end = Server("s"), 0, 0, threading.Semaphore(0), threading.Event()

    @server.tool(limit=1, timeout=0.05 if how == "its time is up" else None)
    def slow() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        began.release()
        may_end.wait(20)
        running -= 1

    async with asking(server) as desk, asyncio.timeout(20):
        first, second = (asyncio.ensure_future(desk.outcome("tools/call", {"name": "slow"})) for _ in range(2))
        await asyncio.to_thread(began.acquire)
        if how == "it is cancelled":
            first.cancel()
        await asyncio.wait([first])
        assert not await asyncio.to_thread(began.acquire, timeout=0.1), "the second one waits for its turn"
        may_end.set()
        await second
        assert await asyncio.to_thread(began.acquire)
    assert most == 1


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "2"])
def test_a_limit_that_is_none_is_refused(limit: int) -> None:
    with pytest.raises(RegistrationError, match="limit must be a whole number from 1"):
        Server("s").tool(name="a", limit=limit)(lambda: None)
