"""One connection at a time, served by two tasks and replaced whenever it is lost."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
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


async def stay_connected(dial: Dial, session: Session, backoff: Backoff, *, timeout: float, purpose: str) -> NoReturn:
    """Connect, greet (both within `timeout` seconds), serve; when that ends, for whatever reason, do it again.

    This is a boundary: no exception but cancellation passes it. Whatever went wrong, a new connection is the cure.
    `purpose` is what the log calls the connection.
    """
    loop, task, outage = asyncio.get_running_loop(), asyncio.current_task(), _Outage(purpose)
    while True:
        since = math.inf
        try:
            async with _connected(dial, session, timeout) as connection:
                since = loop.time()
                outage.over()
                await session.serve(connection)
        except Exception as error:
            if task is not None and task.cancelling():  # before Python 3.13 a failing task group hides a cancellation
                raise asyncio.CancelledError from error
            reason = outage.told(error)
        if loop.time() - since >= LASTING:
            backoff.reset()
            session.lost(reason, away=False)
        else:
            session.lost(reason, away=True)
            await asyncio.sleep(backoff.pause())


@asynccontextmanager
async def _connected(dial: Dial, session: Session, timeout: float) -> AsyncIterator[Connection]:
    async with AsyncExitStack() as open_until_here:
        async with asyncio.timeout(timeout):
            connection = await open_until_here.enter_async_context(dial())
            await session.greet(connection)
        yield connection


class _Outage:
    """Tells the log of a lost connection and of its return, once each, however many attempts lie between."""

    def __init__(self, purpose: str) -> None:
        self._purpose = purpose
        self._away = False

    def told(self, error: Exception) -> str:
        """The reason in a few words; what was not foreseen is always logged, with its traceback."""
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if not isinstance(cause, (RedisError, Unavailable, OSError)):  # TimeoutError is an OSError
            _log.error("lost the connection to Redis for %s by an unforeseen error", self._purpose, exc_info=error)
            return "an unforeseen error on the connection"
        reason = str(cause) or "no answer in time"
        _log.log(logging.DEBUG if self._away else logging.WARNING, _LOST, self._purpose, reason)
        self._away = True
        return reason

    def over(self) -> None:
        """The connection stands, as far as anybody knows."""
        if self._away:
            _log.warning("connected to Redis for %s again", self._purpose)
        self._away = False


_LOST: Final = "no connection to Redis for %s: %s"
