"""The end of a call in every order, with whatever may break: the fleet's own `CallStream`, `read_call` and `Keeper`.

The last tests plant what was found wrong with simpler ways, and the search must find it again.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Final
from unittest import mock

import pytest

from mcpfleet.backplane.base import Backplane, Position, mint
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import LogGap, LogMoved
from mcpfleet.server import streams
from mcpfleet.server.exchange import Exchange, Piece, Record, Retention
from mcpfleet.server.streams import CallStream, read_call
from tests.models.search import Broken, Judges, search
from tests.models.world import World

EXCHANGE: Final = Exchange("s", "1")
RETENTION: Final = Retention(ttl=600.0, keep=100)
RESULT: Final = b"result"
ERROR: Final = b"error for 7"


def call(world: World, readers: int = 1, keepers: type[Keeper] = Keeper) -> Judges:
    """One process runs a call, and others deliver its stream."""
    running = world.process("runner")
    view = world.backplane(running)
    keeper = Keeper(view, clock=world.loop.time)
    opened: list[Position] = []

    async def runs() -> None:
        async with asyncio.TaskGroup() as tasks:
            stream = await CallStream.open(tasks, view, keeper, EXCHANGE, Record(7, "tools/call"), retention=RETENTION)
            opened.append(stream.start)
            await stream.end(RESULT)

    world.start(running, keeper.run, enough=_always)
    runner = world.start(running, runs)
    reading = []
    for number in range(readers):
        process = world.process(f"reader {number + 1}", sound=True)
        there = world.backplane(process)
        its = keepers(there, clock=world.loop.time)
        world.start(process, its.run, enough=_always)
        reading.append(world.start(process, _reader(there, its, opened), after=lambda: bool(opened), surely=True))

    def always() -> None:
        pieces = _pieces(world)
        ends = [piece.body for piece in pieces if piece.last]
        assert len(ends) <= 1, "the call has two ends"
        assert not ends or pieces[-1].last, "something follows the end"
        assert set(ends) <= {RESULT, ERROR}, "the call ends without a word for its caller"
        if not world.somebody_stopped and not world.history_was_lost:
            assert ERROR not in ends, "a living runner was taken for dead"
        heard = {each.outcome for each in reading if isinstance(each.outcome, tuple)}
        assert world.history_was_lost or len(heard) <= 1, "two connections saw different ends"
        assert all(bodies[-1] in (RESULT, ERROR) for bodies in heard), "a connection saw no end"
        if runner.task.done() and running.alive and not world.history_was_lost:
            assert (runner.outcome is None) == (RESULT in ends), "the runner does not know how its call ended"

    def finally_() -> None:
        always()
        for each in reading:
            assert each.outcome is None or isinstance(each.outcome, tuple | LogGap), "a connection failed"

    return Judges(always, finally_)


def _reader(view: Backplane, keeper: Keeper, opened: list[Position]) -> Callable[[], Any]:
    async def reads() -> tuple[bytes | None, ...]:
        stream = read_call(view, keeper, EXCHANGE, opened[0], retention=RETENTION, failure=lambda _: ERROR)
        async with aclosing(stream) as deliveries:
            return tuple([each.body async for each in deliveries])

    return reads


def _pieces(world: World) -> list[Piece]:
    return [unpack(Piece, entry.data) for entry in world.store.entries(EXCHANGE.log) or ()]


def _always() -> bool:
    return True


@pytest.mark.parametrize(
    ("harm", "ticks", "readers"),
    [
        ("", 1, 2),
        ("kill", 5, 2),
        ("freeze", 4, 1),
        ("outage", 5, 1),
        ("doubt", 1, 1),
        ("wipe", 1, 1),
        ("failover", 1, 1),
    ],
)
def test_a_call_ends_once_for_everybody(harm: str, ticks: int, readers: int) -> None:
    assert search(partial(call, readers=readers), ticks=ticks, **_once(harm)) > 30


def _once(harm: str) -> dict[str, int]:
    return {harm: 1} if harm else {}


class _Hasty(Keeper):
    """Takes for dead whoever has no lease, also right after an outage."""

    async def dead(self, key: str) -> bool:
        return await self.backplane.get(key) is None


class _Blind(Keeper):
    """Judges by a lease of the whole process, which outlives what a failover has lost."""

    async def dead(self, key: str) -> bool:
        return False


async def _end_anyway(
    backplane: Backplane, exchange: Exchange, at: Position, retention: Retention, failure: Callable[[Any], bytes]
) -> None:
    """End a dead runner's call without expecting anything."""
    error = pack(Piece(ERROR, last=True))
    await backplane.append(exchange.log, error, ttl=retention.ttl, keep=retention.keep)


async def _end_at_the_tip(
    backplane: Backplane, exchange: Exchange, at: Position, retention: Retention, failure: Callable[[Any], bytes]
) -> None:
    """Expect what the end is now, and not what was read."""
    error, tip = pack(Piece(ERROR, last=True)), await backplane.open(exchange.log, ttl=retention.ttl, create=False)
    with suppress(LogMoved):
        await backplane.append(exchange.log, error, ttl=retention.ttl, keep=retention.keep, expect=tip)


async def _find_by_the_lease(backplane: Backplane, exchange: Exchange) -> Record | None:
    """Keep the request's id where the lease is, which is gone with its holder."""
    return Record(7, "tools/call") if await backplane.get(exchange.alive) is not None else None


async def _append_with_a_new_mark(
    backplane: Backplane, exchange: Exchange, data: bytes, at: Position, retention: Retention, mark: str
) -> Position:
    """Let the same append again be another one."""
    return await backplane.append(exchange.log, data, ttl=retention.ttl, keep=retention.keep, expect=at, mark=mint())


@pytest.mark.parametrize(
    ("planted", "harm", "complaint"),
    [
        ({"_end": _end_anyway}, "freeze", "two ends"),
        ({"_end": _end_at_the_tip}, "freeze", "two ends"),
        ({"find": _find_by_the_lease}, "kill", "without a word"),
        ({"_append": _append_with_a_new_mark}, "doubt", "does not know how its call ended"),
    ],
    ids=["ended-anyway", "ended-at-the-tip", "record-in-the-lease", "marked-at-random"],
)
def test_the_search_finds_what_is_wrong_with_simpler_ways(planted: dict[str, Any], harm: str, complaint: str) -> None:
    with mock.patch.multiple(streams, **planted), pytest.raises(Broken, match=complaint):
        search(call, ticks=5, **_once(harm))


@pytest.mark.parametrize(
    ("keeper", "harm", "complaint"),
    [(_Hasty, "outage", "a living runner was taken for dead"), (_Blind, "failover", "some never end")],
    ids=["hasty", "blind"],
)
def test_the_search_finds_what_is_wrong_with_simpler_judges(keeper: type[Keeper], harm: str, complaint: str) -> None:
    with pytest.raises(Broken, match=complaint):
        search(partial(call, keepers=keeper), ticks=5, **_once(harm))
