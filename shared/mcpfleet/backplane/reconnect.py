"""One connection at a time, served by two tasks and replaced whenever it is lost."""

import asyncio
import logging
import math
from collections.abc import Coroutine
from typing import Final, NoReturn, Protocol

from redis.exceptions import RedisError

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.dial import Connection, Dial
from mcpfleet.errors import Unavailable

LASTING: Final = 1.0
"""A connection that lived this many seconds was a good one: it is replaced at once, without a pause."""

_log = logging.getLogger(__name__)


class Lost(Unavailable):
    """The connection is given up, for the reason given."""


class Serving:
    """Runs the tasks that own a connection until one of them, or anybody else, gives it up."""

    def __init__(self) -> None:
        self._given_up: asyncio.Future[NoReturn] | None = None

    def give_up(self, reason: str) -> None:
        """End the present run, if there is one; callable from anywhere, any number of times."""
        if self._given_up is not None and not self._given_up.done():
            self._given_up.set_exception(Lost(reason))

    async def run(self, *halves: Coroutine[None, None, NoReturn]) -> NoReturn:
        """Run all until the first exception, which is raised in a group."""
        self._given_up = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as tasks:
            for half in halves:
                tasks.create_task(half)
            await self._given_up
        raise AssertionError("a task group does not swallow what is raised in it")


class Session(Protocol):
    """What is done with a connection, and when there is none."""

    async def greet(self, connection: Connection) -> None:
        """Say what must be said first; raise if the connection will not do."""
        ...

    async def serve(self, connection: Connection) -> NoReturn:
        """Use a connection until it is lost, which is always an exception."""
        ...

    def lost(self, reason: str, *, away: bool) -> None:
        """There is no connection now: a new one is tried at once, or (`away`) after a pause."""
        ...


async def stay_connected(dial: Dial, session: Session, *, timeout: float) -> NoReturn:
    """Connect, greet (both within `timeout` seconds), serve; when that ends, for whatever reason, do it again.

    This is a boundary: no exception but cancellation passes it. Whatever went wrong, a new connection is the cure.
    """
    loop = asyncio.get_running_loop()
    backoff = Backoff()
    while True:
        connection = dial()
        served_from = math.inf
        try:
            async with asyncio.timeout(timeout):
                await connection.connect()
                await session.greet(connection)
            served_from = loop.time()
            await session.serve(connection)
        except Exception as error:  # noqa: BLE001 - the boundary named above
            reason = _told(error)
        finally:
            await connection.disconnect(nowait=True)
        if loop.time() - served_from >= LASTING:
            backoff.reset()
            session.lost(reason, away=False)
        else:
            session.lost(reason, away=True)
            await asyncio.sleep(backoff.pause())


def _told(error: Exception) -> str:
    """The reason in a few words, logged: a foreseen loss as a warning, anything else with its traceback."""
    cause: BaseException = error
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    if isinstance(cause, (RedisError, Unavailable, OSError)):  # TimeoutError is an OSError
        reason = str(cause) or "no answer in time"
        _log.warning("no connection to Redis: %s", reason)
    else:
        reason = "an unforeseen error on the connection"
        _log.error("lost the connection to Redis by an unforeseen error", exc_info=error)
    return reason
