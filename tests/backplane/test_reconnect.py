import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import NoReturn

import pytest

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.dial import Connection, Reply
from mcpfleet.backplane.reconnect import Serving, stay_connected


class Wire:
    """A connection to nothing."""

    connected = 0

    @asynccontextmanager
    async def dial(self) -> AsyncIterator[Connection]:
        self.connected += 1
        try:
            yield self
        finally:
            self.connected -= 1

    async def send_packed_command(self, command: Iterable[bytes], check_health: bool = True) -> None:
        raise NotImplementedError

    async def read_response(
        self, disable_decoding: bool = False, timeout: float | None = None, *, disconnect_on_error: bool = True
    ) -> Reply:
        raise NotImplementedError


class Session:
    """Serves until it is told to fail, with the given exception."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure
        self.fail = asyncio.Event()
        self.serving = asyncio.Event()
        self.losses: list[tuple[str, bool]] = []

    async def greet(self, connection: Connection) -> None:
        """Say nothing."""

    async def serve(self, connection: Connection) -> NoReturn:
        self.serving.set()
        await Serving().run(self._half())

    async def _half(self) -> NoReturn:
        await self.fail.wait()
        self.fail.clear()
        raise self.failure

    def lost(self, reason: str, *, away: bool) -> None:
        self.losses.append((reason, away))


def keep(wire: Wire, session: Session) -> "asyncio.Task[NoReturn]":
    """Keep the session connected, in a task."""
    return asyncio.ensure_future(stay_connected(wire.dial, session, Backoff(first=0), timeout=5, purpose="nothing"))


@pytest.mark.parametrize("turns", range(6))
async def test_a_keeper_that_is_cancelled_as_its_connection_fails_ends(turns: int) -> None:
    wire, session = Wire(), Session(OSError("cut"))
    task = keep(wire, session)
    await session.serving.wait()
    session.fail.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    ended, _ = await asyncio.wait([task], timeout=5)
    task.cancel()
    assert ended
    assert task.cancelled()
    assert wire.connected == 0


@pytest.mark.parametrize("failure", [OSError("cut"), ValueError("a bug")])
async def test_whatever_ends_a_connection_a_new_one_is_made(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    wire, session = Wire(), Session(failure)
    task = keep(wire, session)
    async with asyncio.timeout(5):
        for _ in range(3):
            await session.serving.wait()
            assert wire.connected == 1
            session.serving.clear()
            session.fail.set()
        await session.serving.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [away for _, away in session.losses] == [True] * 3
    assert ("a bug" in caplog.text) == isinstance(failure, ValueError)


class Refused(Wire):
    """A connection that is refused so many times before it stands."""

    def __init__(self, times: int) -> None:
        self.refusals = times

    @asynccontextmanager
    async def dial(self) -> AsyncIterator[Connection]:
        if self.refusals:
            self.refusals -= 1
            raise OSError("refused")
        async with super().dial() as connection:
            yield connection


async def test_an_outage_is_told_once_when_it_begins_and_once_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    wire, session = Refused(times=20), Session(OSError("cut"))
    task = keep(wire, session)
    async with asyncio.timeout(5):
        await session.serving.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(session.losses) == 20
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert told == ["no connection to Redis for nothing: refused", "connected to Redis for nothing again"]
