"""What clients can make a fleet hold is bounded, and gone when they are; meanwhile everybody else is served."""

import asyncio
import time
from contextlib import AsyncExitStack
from itertools import islice
from statistics import median
from typing import Final

import pytest

from mcpfleet.server.places import WAITING
from mcpfleet.server.threads import LIMIT
from tests.fleet.churn import come_and_go, connection
from tests.fleet.holdings import MIB, await_holdings, holdings, memory, peak_memory, threads
from tests.fleets import Launch
from tests.wire import DEADLINE, LATEST_HANDSHAKE, MODERN, Client, Stream, connected

SESSIONS: Final = 10_000
WARM_UP: Final = 1_000
GROWTH: Final = 8 * MIB
"""How much more memory a process may have afterwards: less than a kilobyte a session."""
PROBES: Final = 100
LIVE_SECONDS: Final = 0.1
"""Within this time, usually, `/livez` answers."""
REFUSE_SECONDS: Final = 2.0
"""How soon a body is refused that would take long to read."""
TOOLS: Final = {"notifications": {"toolsListChanged": True}}
ERAS: Final = pytest.mark.parametrize("date", [LATEST_HANDSHAKE, MODERN])


async def test_ten_thousand_sessions_that_come_and_go_leave_nothing_behind(launch_fleet: Launch) -> None:
    """Transports, "Session Management": begun on one process and ended on the other, some while they listen."""
    fleet = launch_fleet(2)
    first, second = (process.url for process in fleet.processes)
    await come_and_go(first, second, WARM_UP)
    keys, held = fleet.stored_keys(), [await holdings(fleet, process) for process in range(2)]
    before = [memory(fleet, process) for process in range(2)]
    await come_and_go(first, second, SESSIONS)
    await await_holdings(fleet, held)
    assert fleet.stored_keys() == keys
    grown = max(memory(fleet, process) - before[process] for process in range(2))
    assert grown <= GROWTH, f"grown by {grown / MIB:.1f} MiB, of {GROWTH / MIB:g} allowed"


async def test_fifty_blocking_tools_do_not_keep_a_process_from_saying_that_it_lives(launch_fleet: Launch) -> None:
    """A function that is not `async` blocks a thread and nothing else; the median of many probes meanwhile."""
    fleet = launch_fleet(1)
    took = []
    async with connected(fleet.url, MODERN) as client, connection(fleet.processes[0].url) as prober:
        calls = asyncio.gather(*(client.call("block", seconds=5, tag=f"{turn}") for turn in range(50)))
        async with asyncio.timeout(DEADLINE):
            while threads(fleet, 0) <= LIMIT:
                assert (await prober.ask("GET", path="/livez"))[0] == 200
        for _ in range(PROBES):
            began = time.monotonic()
            assert (await prober.ask("GET", path="/livez"))[0] == 200
            took.append(time.monotonic() - began)
        assert not calls.done()
        assert [answer.text for answer in await calls] == [f"{turn}" for turn in range(50)]
    usual = median(took)
    assert usual <= LIVE_SECONDS, f"{usual * 1000:.0f} ms of {LIVE_SECONDS * 1000:.0f}, {max(took) * 1000:.0f} at most"


async def test_blocking_tools_beyond_those_that_may_wait_are_refused_in_words(launch_fleet: Launch) -> None:
    """As an error of the tool, which the model can read; who leaves makes room."""
    fleet = launch_fleet(1)
    excess = 10
    async with connected(fleet.url, MODERN) as client:
        calls = [asyncio.ensure_future(client.call("block", seconds=60)) for _ in range(LIMIT + WAITING + excess)]
        refused = [(await answer).result for answer in islice(asyncio.as_completed(calls), excess)]
        assert [each["isError"] for each in refused] == [True] * excess
        assert {each["content"][0]["text"] for each in refused} == {"The server is overloaded; try again later."}
        assert sum(call.done() for call in calls) == excess
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert (await client.call("echo", x="by a thread")).text == "by a thread"


async def test_a_flood_of_handshakes_fills_the_fleet_and_harms_no_running_session(launch_fleet: Launch) -> None:
    """RFC 9110, section 15.6.4: whoever finds no place is told when to try again; no place is given twice."""
    cap = 50
    fleet = launch_fleet(3, MAX_SESSIONS=f"{cap}")
    async with connected(fleet.url, LATEST_HANDSHAKE) as running, AsyncExitStack() as held:
        new = [await held.enter_async_context(Client(fleet.url, LATEST_HANDSHAKE)) for _ in range(4 * cap)]
        flood = asyncio.gather(*(client.initialize() for client in new))
        for _ in iter(flood.done, True):
            assert (await running.call("echo", x="served")).text == "served"
        refused = [answer for answer in await flood if answer.status != 200]
        assert len(new) - len(refused) == cap - 1
        for answer in refused:
            assert (answer.status, answer.error["data"]) == (503, {"reason": "too_many_sessions"})
            assert int(answer.headers["Retry-After"]) >= 1
            assert "Mcp-Session-Id" not in answer.headers
        assert len({key for key in fleet.stored_keys() if key.endswith(b":session")}) == cap
        assert (await running.end()).status == 204
        outside = next(client for client in new if client.session_id is None)
        assert (await outside.initialize()).status == 200


async def test_a_flood_of_listen_streams_is_refused_beyond_its_bound_and_leaves_nothing(launch_fleet: Launch) -> None:
    """Subscriptions: what is open is a task and a connection of one process, and in Redis nothing."""
    cap = 50
    fleet = launch_fleet(1, MAX_LISTEN_STREAMS=f"{cap}")
    keys, held = fleet.stored_keys(), [await holdings(fleet, 0)]
    async with connected(fleet.url, MODERN) as client:
        found, enough = list[int](), asyncio.Event()

        async def listen(number: int) -> None:
            async with client.asking("subscriptions/listen", TOOLS, as_id=number) as stream:
                found.append(stream.status)
                if len(found) == 4 * cap:
                    enough.set()
                if stream.status == 200:
                    await enough.wait()

        async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as flood:
            for number in range(4 * cap):
                flood.create_task(listen(number))
            await enough.wait()
            assert (await client.call("echo", x="served")).text == "served"
    assert sorted(found) == [200] * cap + [503] * 3 * cap
    await await_holdings(fleet, held)
    assert fleet.stored_keys() == keys


async def test_a_body_that_would_take_long_to_read_is_refused_soon(launch_fleet: Launch) -> None:
    """JSON-RPC 2.0, "Error object": four megabytes of tiny values would keep a process busy for seconds."""
    fleet = launch_fleet(1)
    hello = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"a":[%s]}}'
    async with connected(fleet.url, MODERN) as client, Client(fleet.url, LATEST_HANDSHAKE) as hostile:
        for inner in (b"[]", b'{"a":{}}', b"0", b'""', b"[" * 60 + b"]" * 60):
            bomb = hello % b",".join([inner] * ((4 * MIB - len(hello)) // (len(inner) + 1)))
            began = time.monotonic()
            answer = await hostile.send("POST", bomb)
            took = time.monotonic() - began
            assert (answer.status, answer.error["message"]) == (400, "more than 100000 values")
            assert took <= REFUSE_SECONDS, f"{took:.2f} s of {REFUSE_SECONDS:g} for many {inner!r}"
            assert (await client.call("echo", x="served")).text == "served"


@ERAS
async def test_clients_that_do_not_read_cost_little_memory_and_leave_nothing(launch_fleet: Launch, date: str) -> None:
    """Transports: what a tool says waits for its reader, or in Redis; the process keeps little of it."""
    readers, messages, size, allowed = 4, 500, 2**16, 50 * MIB
    fleet = launch_fleet(1)
    held, before = [await holdings(fleet, 0)], memory(fleet, 0)
    flood = {
        "name": "flood",
        "arguments": {"n": messages, "size": size},
        "_meta": {"io.modelcontextprotocol/logLevel": "info"},
    }
    async with connected(fleet.processes[0].url, date) as client, AsyncExitStack() as unread:
        if not client.modern:
            await client.request("logging/setLevel", {"level": "info"})
        for number in range(readers):
            stream: Stream = await unread.enter_async_context(client.asking("tools/call", flood, as_id=number))
            assert await stream.message() is not None
        for turn in range(100):
            assert (await client.call("echo", x=f"{turn}")).text == f"{turn}"
    await await_holdings(fleet, held)
    grown = peak_memory(fleet, 0) - before
    assert grown <= allowed, f"{grown / MIB:.0f} MiB of {allowed / MIB:.0f}, for {readers * messages * size / MIB:.0f}"


@ERAS
async def test_large_results_that_nobody_reads_go_with_their_clients(launch_fleet: Launch, date: str) -> None:
    """Four of 20 MiB: each is kept once while its client might read it."""
    size, allowed = 20 * MIB, 16 * MIB
    fleet = launch_fleet(1)
    held, before = [await holdings(fleet, 0)], memory(fleet, 0)
    async with connected(fleet.processes[0].url, date) as client, AsyncExitStack() as unread:
        for number in range(4):
            stream = await unread.enter_async_context(client.calling("fill", as_id=number, size=size))
            assert stream.status == 200
        assert (await client.call("echo", x="served")).text == "served"
    await await_holdings(fleet, held)
    grown = memory(fleet, 0) - before
    assert grown <= allowed, f"{grown / MIB:.0f} MiB of {allowed / MIB:.0f}"
