import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator

import pytest

from mcpfleet.errors import Overloaded
from mcpfleet.server.threads import Threads
from tests.server import fresh

DEADLINE = 10.0


class Gate:
    """A function that says when it runs, and ends when told to."""

    def __init__(self) -> None:
        self.running = threading.Semaphore(0)
        self.open = threading.Event()
        self.ended = threading.Semaphore(0)

    def __call__(self, value: str = "") -> str:
        self.running.release()
        assert self.open.wait(DEADLINE)
        self.ended.release()
        return value

    async def wait_running(self) -> None:
        assert await asyncio.to_thread(self.running.acquire, timeout=DEADLINE)

    async def wait_ended(self) -> None:
        assert await asyncio.to_thread(self.ended.acquire, timeout=DEADLINE)


@pytest.fixture
async def gate() -> AsyncIterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


@pytest.fixture(autouse=True)
async def deadline() -> AsyncIterator[None]:
    async with asyncio.timeout(DEADLINE):
        yield


async def settled(count: int = 20) -> None:
    """Let every task go as far as it can."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_it_returns_what_the_function_returns() -> None:
    threads = Threads()
    assert await threads.run(divmod, 7, 2) == (3, 1)
    assert await threads.run(dict, self=1, function=2) == {"self": 1, "function": 2}
    assert await threads.run(threading.current_thread) is not threading.current_thread()


async def test_the_event_loop_runs_on_beside_a_blocking_function(gate: Gate) -> None:
    task = asyncio.create_task(Threads().run(gate, "done"))
    await gate.wait_running()
    assert not task.done()
    gate.open.set()
    assert await task == "done"


async def test_context_variables_are_seen_but_not_changed() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")

    def swap() -> str:
        seen = variable.get()
        variable.set("inside")
        return seen

    variable.set("outside")
    assert await Threads().run(swap) == "outside"
    assert variable.get() == "outside"


async def test_no_more_threads_run_than_allowed(gate: Gate) -> None:
    threads = Threads(limit=2, waiting=10)
    tasks = [asyncio.create_task(threads.run(gate, str(number))) for number in range(6)]
    await gate.wait_running()
    await gate.wait_running()
    await settled()
    assert not gate.running.acquire(blocking=False)
    gate.open.set()
    assert await asyncio.gather(*tasks) == ["0", "1", "2", "3", "4", "5"]


async def test_threads_are_used_again() -> None:
    threads = Threads(limit=8)
    names = {(await threads.run(threading.current_thread)).name for _ in range(20)}
    assert names == {"mcpfleet-1"}


async def test_overload_is_refused_at_once(gate: Gate) -> None:
    threads = Threads(limit=1, waiting=1)
    running = asyncio.create_task(threads.run(gate))
    await gate.wait_running()
    waiting = asyncio.create_task(threads.run(gate))
    await settled()
    with pytest.raises(Overloaded, match="overloaded"):
        await threads.run(gate)
    gate.open.set()
    await asyncio.gather(running, waiting)
    assert await threads.run(int, "1") == 1


async def test_nobody_waits_when_no_line_is_allowed(gate: Gate) -> None:
    threads = Threads(limit=1, waiting=0)
    running = asyncio.create_task(threads.run(gate))
    await gate.wait_running()
    with pytest.raises(Overloaded):
        await threads.run(int)
    gate.open.set()
    await running
    assert await threads.run(int, "1") == 1


async def test_a_call_does_not_wait_longer_than_its_patience(gate: Gate) -> None:
    threads = Threads(limit=1, waiting=1, patience=0.01)
    running = asyncio.create_task(threads.run(gate))
    await gate.wait_running()
    with pytest.raises(Overloaded):
        await threads.run(int)
    gate.open.set()
    await running


async def test_a_cancelled_caller_returns_at_once_and_its_thread_keeps_its_place(gate: Gate) -> None:
    threads = Threads(limit=1, waiting=0)
    task = asyncio.create_task(threads.run(gate))
    await gate.wait_running()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(Overloaded):
        await threads.run(int)
    gate.open.set()
    await gate.wait_ended()
    assert await retried(threads) == 7


async def retried(threads: Threads) -> int:
    """The thread says that it has ended a moment before its place is free."""
    while True:
        try:
            return await threads.run(int, "7")
        except Overloaded:
            await asyncio.sleep(0)


async def test_a_call_cancelled_in_line_leaves_the_line_and_never_runs(gate: Gate) -> None:
    threads = Threads(limit=1, waiting=1)
    running = asyncio.create_task(threads.run(gate))
    await gate.wait_running()
    ran: list[int] = []
    for _ in range(50):
        waiting = asyncio.create_task(threads.run(ran.append, 1))
        await settled()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    next_in_line = asyncio.create_task(threads.run(ran.append, 2))
    gate.open.set()
    await asyncio.gather(running, next_in_line)
    assert ran == [2]


async def test_an_exception_reaches_the_caller_as_it_is() -> None:
    error = KeyError("lost")

    def fail() -> None:
        raise error

    with pytest.raises(KeyError) as raised:
        await Threads().run(fail)
    assert raised.value is error


@pytest.mark.parametrize("kind", [StopIteration, SystemExit, KeyboardInterrupt, asyncio.CancelledError])
async def test_what_would_end_the_loop_or_hang_the_caller_becomes_an_error(kind: type[BaseException]) -> None:
    def fail() -> None:
        raise kind

    threads = Threads(limit=1, waiting=0)
    with pytest.raises(RuntimeError, match=kind.__name__) as raised:
        await threads.run(fail)
    assert isinstance(raised.value.__cause__, kind)
    assert await threads.run(int, "1") == 1


async def test_a_system_without_threads_is_overload_and_costs_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    threads = Threads(limit=1, waiting=0)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        for _ in range(3):
            with pytest.raises(Overloaded):
                await threads.run(int)
    assert await threads.run(int, "1") == 1


async def test_closing_ends_the_threads() -> None:
    threads = Threads(limit=3)
    thread = await threads.run(threading.current_thread)
    threads.close()
    await asyncio.to_thread(thread.join, DEADLINE)
    assert not thread.is_alive()


async def test_a_function_that_never_returns_does_not_keep_the_process_alive() -> None:
    script = """
import asyncio, threading
from mcpfleet.server.threads import Threads

async def main():
    began = threading.Event()
    task = asyncio.create_task(Threads().run(lambda: (began.set(), threading.Event().wait())))
    await asyncio.to_thread(began.wait)
    task.cancel()

asyncio.run(main())
print("out")
"""
    assert await asyncio.to_thread(fresh.run, script) == "out\n"
