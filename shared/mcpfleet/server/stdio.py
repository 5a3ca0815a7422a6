"""A server for the one process that has started it, over standard input and output (transports/stdio)."""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from types import FrameType
from typing import Final

from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.protocol.inbound import invalid_request
from mcpfleet.protocol.lines import Lines, LineTooLong
from mcpfleet.server import descendants
from mcpfleet.server.conversation import Conversation
from mcpfleet.server.engine import Engine
from mcpfleet.server.pipes import Input, Output, Pipes
from mcpfleet.server.policy import Policy
from mcpfleet.server.server import Server

GRACE_SECONDS: Final = 1.0
"""How long calls may go on once the client has gone, and how long it then takes them to be cancelled."""
EXIT_SECONDS: Final = 4.0
"""How long the process may live on after that, whatever its tools do."""
POLICY: Final = Policy(drain=GRACE_SECONDS, stream_after=0.02, max_sessions=None, spread=0.0)
"""One client, whose connection is its session and cannot be lost alone."""

log = logging.getLogger("mcpfleet.stdio")


def run(server: Server, pipes: Pipes, *, max_line: int | None, policy: Policy = POLICY) -> int:
    """Serve until the client closes its end or a signal comes; return the exit code, 1 if the client broke the rules.

    The process ends within a few seconds then, also if a tool blocks the event loop or a thread for ever, and with it
    what its tools have started. For the main thread only. `max_line` is in bytes; a `policy` of one's own is `POLICY`
    with other values where that makes sense.
    """
    try:
        with asyncio.Runner() as runner:
            return runner.run(_serve(server, pipes, max_line, policy))
    finally:
        descendants.end(grace=GRACE_SECONDS / 2)


async def _serve(server: Server, pipes: Pipes, max_line: int | None, policy: Policy) -> int:
    leaving = asyncio.Event()
    lines, output = Lines(max_bytes=max_line), Output(pipes.writing)
    engine = Engine(server, MemoryBackplane(), policy)
    with _leaving_on_signals(leaving.set):
        async with engine.running(), asyncio.TaskGroup() as tasks:
            conversation = Conversation(engine, output.write, tasks)
            writing = tasks.create_task(output.run())
            taking = tasks.create_task(_take(Input(pipes.reading, _exit_soon), lines, conversation))
            told = tasks.create_task(leaving.wait())
            await asyncio.wait({writing, taking, told}, return_when=asyncio.FIRST_COMPLETED)
            broken = taking.done() and not taking.result()
            if broken:
                words = f"a message exceeds {max_line} bytes"
                await conversation.refuse(invalid_request("line_too_long", words))
            _exit_soon()
            taking.cancel()
            told.cancel()
            engine.drain()
            await conversation.ended(within=GRACE_SECONDS * 1.5)
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await output.end()
                    await writing
            writing.cancel()
    return 1 if broken else 0


async def _take(given: Input, lines: Lines, conversation: Conversation) -> bool:
    """Take message after message until the client closes its end; False if it sent one that is too long."""
    async with aclosing(given.chunks()) as chunks:
        try:
            async for chunk in chunks:
                for line in lines.feed(chunk):
                    await conversation.take(line)
        except LineTooLong as error:
            log.error("%s", error)
            return False
    for line in lines.end():
        await conversation.take(line)
    return True


@contextmanager
def _leaving_on_signals(leave: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def told(_number: int, _frame: FrameType | None) -> None:
        _exit_soon()
        loop.call_soon_threadsafe(leave)

    before = {number: signal.signal(number, told) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit_soon() -> None:
    """End the process in a while, however it is occupied: an orderly end is over before."""
    timer = threading.Timer(EXIT_SECONDS, _exit)
    timer.daemon = True
    timer.start()


def _exit() -> None:
    descendants.end(grace=0.0)
    os._exit(0)
