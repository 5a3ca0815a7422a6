"""One process of the worker tier: an engine that serves nobody and runs tasks."""

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final, NoReturn

from mcpfleet.backplane.base import Backplane
from mcpfleet.server.engine import Engine
from mcpfleet.server.hooks import Hook
from mcpfleet.server.policy import Policy
from mcpfleet.server.server import Server
from mcpfleet.server.vitals import Vitals

LOOK_EVERY: Final = 1.0

log = logging.getLogger("mcpfleet.worker")


class Deaf(RuntimeError):
    """This process no longer hears the others although the store answers; another one must take its place."""


async def work(
    server: Server,
    opening: AbstractAsyncContextManager[Backplane],
    policy: Policy,
    *,
    observers: tuple[Hook, ...] = (),
    vitals: Vitals | None = None,
    beside: Callable[[Engine], AbstractAsyncContextManager[None]] = lambda _: nullcontext(),
) -> None:
    """Run the server's tasks until SIGTERM or SIGINT, and then for the time to drain those that it has begun.

    `beside` is entered with the engine, for as long as it runs.

    Raises whatever ends the engine, so that a supervisor replaces the process. For the main thread only.
    """
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    async with opening as backplane:
        engine = Engine(server, backplane, policy, observers=observers, vitals=vitals)
        async with beside(engine), engine.running(), asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(_hearing(engine))
            log.info("working as %s on %s", engine.id, ", ".join(policy.tasks.queues or ["every queue"]))
            await told.wait()
            listening.cancel()


async def _hearing(engine: Engine) -> NoReturn:
    while engine.hears:  # noqa: ASYNC110 - nobody is told when it goes deaf
        await asyncio.sleep(LOOK_EVERY)
    raise Deaf
