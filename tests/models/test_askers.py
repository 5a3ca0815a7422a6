"""A call that asks, and whose process may die while it is answered: with the fleet's own code on every side.

One that sleeps beyond its lease and wakes has too many orders for this; `tests/server/test_askers.py` stops it at each
step. The last tests plant what was found wrong with simpler ways, and the search must find it again.
"""

import asyncio
from contextlib import aclosing
from functools import partial
from typing import Final
from unittest import mock

import pytest

from mcpfleet.backplane import replies
from mcpfleet.backplane.base import EMPTY, Backplane, Position
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.replies import ANSWER_TTL, Reply, Verdict
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import LogGap, LogGone, LogMoved
from mcpfleet.server.exchange import Exchange, Piece, Record, Retention
from mcpfleet.server.streams import CallStream, read_call
from tests.models.process import Process
from tests.models.search import Broken, Judges, search
from tests.models.world import TICK, World

EXCHANGE: Final = Exchange("s", "1")
QUESTION: Final = EXCHANGE.question("1")
RETENTION: Final = Retention(ttl=600.0, keep=100)
ERROR: Final = b"error for 7"
ANSWER: Final = b"yes"
NONE: Final = b"nobody answered"
LONG: Final = 10 * TICK


def asker(world: World, keepers: type[Keeper] = Keeper) -> Judges:
    """One process runs a call, in which it asks; one takes the answer, and one takes the call up if the asker stops."""
    asking = world.process("asker")
    keeper = _keeper(world, asking, Keeper)
    opened: list[Position] = []
    asked: list[Position] = []
    got: list[bytes] = []
    world.start(asking, partial(_call, keeper, opened, asked, got))

    delivering = world.process("deliverer", sound=True)
    its = _keeper(world, delivering, keepers)

    async def delivers() -> bytes | None:
        stream = read_call(its.backplane, its, EXCHANGE, opened[0], retention=RETENTION, failure=lambda _: ERROR)
        async with aclosing(stream) as deliveries:
            return [each.body async for each in deliveries][-1]

    answering = world.process("answerer", sound=True)
    contact = _keeper(world, answering, keepers)

    async def answers() -> Verdict:
        return await replies.answer(contact.backplane, contact, QUESTION, EXCHANGE.alive, ANSWER)

    delivery = world.start(delivering, delivers, after=lambda: bool(opened) and world.somebody_stopped, surely=True)
    answer = world.start(answering, answers, after=lambda: bool(asked))

    def always() -> None:
        said = _replies(world)
        if answer.outcome is Verdict.REFUSED:
            assert ANSWER not in said, "a refused answer is there"
            assert not got, "the asker has what was refused"
            assert said or world.somebody_stopped, "a living asker was taken for dead"
        assert _end(world) in (None, ERROR, NONE, *got), "the call ends with what nobody answered"

    def finally_() -> None:
        always()
        end = _end(world)
        assert not opened or end is not None or delivery.arrival, "the call has no end"
        if answer.outcome is Verdict.ACCEPTED:
            assert got or end == ERROR, "an accepted answer is lost, and nobody is told"
        if delivery.task.done():
            assert delivery.outcome == end, "the call's end is not delivered"

    return Judges(always, finally_)


async def _call(keeper: Keeper, opened: list[Position], asked: list[Position], got: list[bytes]) -> None:
    """Ask, and end with the answer."""
    view = keeper.backplane
    async with asyncio.TaskGroup() as tasks:
        stream = await CallStream.open(tasks, view, keeper, EXCHANGE, Record(7, "tools/call"), retention=RETENTION)
        opened.append(stream.start)
        asked.append(await replies.ask(view, QUESTION, ttl=600))
        try:
            got.append(await replies.await_answer(view, QUESTION, asked[0], deadline=LONG))
        except (TimeoutError, LogGap):
            await stream.end(NONE)
        else:
            await stream.end(got[0])


def _keeper(world: World, process: Process, kind: type[Keeper]) -> Keeper:
    """The keeper of a process, which makes its rounds."""
    keeper = kind(world.backplane(process), clock=world.loop.time)
    world.start(process, keeper.run, enough=_always)
    return keeper


def _replies(world: World) -> list[bytes | None]:
    return [unpack(Reply, entry.data).answer for entry in world.store.entries(QUESTION) or ()]


def _end(world: World) -> bytes | None:
    """What the call has ended with, if it has."""
    pieces = [unpack(Piece, entry.data) for entry in world.store.entries(EXCHANGE.log) or ()]
    return pieces[-1].body if pieces and pieces[-1].last else None


def _always() -> bool:
    return True


@pytest.mark.parametrize(("harm", "ticks"), [("", 1), ("kill", 4), ("outage", 2), ("doubt", 0)])
def test_an_accepted_answer_reaches_its_asker_or_its_call_ends(harm: str, ticks: int) -> None:
    assert search(asker, ticks=ticks, **_once(harm)) > 20


def _once(harm: str) -> dict[str, int]:
    return {harm: 1} if harm else {}


class _Trusting(Keeper):
    """Takes nobody for dead."""

    async def dead(self, key: str) -> bool:
        return False


class _Hasty(Keeper):
    """Takes for dead whoever has no lease, also right after an outage."""

    async def dead(self, key: str) -> bool:
        return await self.backplane.get(key) is None


async def _looked_for_late(backplane: Backplane, keeper: Keeper, name: str, asker: str, data: bytes) -> Verdict:
    """Tell who answers that nobody is there, but only once the answer is."""
    try:
        await backplane.append(name, pack(Reply(data)), ttl=ANSWER_TTL, keep=1, expect=EMPTY)
    except (LogGone, LogMoved):
        return Verdict.REFUSED
    return Verdict.REFUSED if await keeper.dead(asker) else Verdict.ACCEPTED


@pytest.mark.parametrize(
    ("keepers", "harm", "complaint"),
    [
        (_Trusting, "kill", "some never end"),
        (_Hasty, "outage", "a living asker was taken for dead"),
    ],
    ids=["trusting", "hasty"],
)
def test_the_search_finds_what_is_wrong_with_simpler_judges(keepers: type[Keeper], harm: str, complaint: str) -> None:
    with pytest.raises(Broken, match=complaint):
        search(partial(asker, keepers=keepers), ticks=4, **_once(harm))


def test_the_search_finds_what_is_wrong_with_an_answer_that_is_there_before_its_asker_is_looked_for() -> None:
    with (
        mock.patch.object(replies, "answer", _looked_for_late),
        pytest.raises(Broken, match="a refused answer is there"),
    ):
        search(asker, ticks=4, kill=1)
