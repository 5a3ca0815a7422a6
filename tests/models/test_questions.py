"""Questions and answers in every order, with whatever may break: the fleet's own `ask`, `await_answer` and `answer`.

The last tests plant what was found wrong with simpler ways, and the search must find it again.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Final
from unittest import mock

import pytest

from mcpfleet.backplane import replies
from mcpfleet.backplane.base import EMPTY, Backplane, Position, mint
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.follow import follow
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.replies import ANSWER_TTL, Reply, Verdict
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import LogGap, LogGone, LogMoved, Unavailable
from tests.models.search import Broken, Judges, search
from tests.models.world import TICK, World

QUESTION: Final = "s/x/1/q/1"
ASKER: Final = "s/x/1/alive"
OFFERED: Final = (b"yes", b"no")
ENDS: Final = TimeoutError | LogGap | Unavailable | asyncio.CancelledError
ACCEPTED: Final = (Verdict.ACCEPTED, Verdict.REPEATED)


def question(world: World, offered: Sequence[bytes] = OFFERED) -> Judges:
    """One process asks, and others receive an answer each."""
    asking = world.process("asker")
    view = world.backplane(asking)
    asked: list[Position] = []

    async def asks() -> bytes:
        start = await replies.ask(view, QUESTION, ttl=600)
        asked.append(start)
        return await replies.await_answer(view, QUESTION, start, deadline=TICK)

    asker = world.start(asking, asks)
    answers = {}
    for data in offered:
        process = world.process(f"who heard {data.decode()}")
        there = world.backplane(process)
        keeper = Keeper(there, clock=world.loop.time)
        answer = partial(replies.answer, there, keeper, QUESTION, ASKER, data)
        answers[data] = world.start(process, answer, after=lambda: bool(asked))

    def always() -> None:
        said = asker.outcome
        accepted = [data for data, each in answers.items() if each.outcome in ACCEPTED]
        refused = [data for data, each in answers.items() if each.outcome is Verdict.REFUSED]
        if isinstance(said, bytes):
            assert said in OFFERED, "the asker has what nobody answered"
            assert said not in refused, "the asker has what was refused"
        if not world.history_was_lost:
            assert len(accepted) <= 1, "two answers were accepted"
            assert not (accepted and isinstance(said, bytes)) or accepted == [said], "the asker has another answer"
            assert not (accepted and isinstance(said, TimeoutError)), "an answer was accepted after the asker gave up"
            assert not refused or _decided(world) not in (None, *refused), "an answer was refused without a reason"

    def finally_() -> None:
        always()
        said = asker.outcome
        assert not asking.alive or isinstance(said, bytes | ENDS), "the asker has no end"

    return Judges(always, finally_)


def _decided(world: World) -> Any:
    """What the question's first entry says; None if there is no entry yet."""
    entries = world.store.entries(QUESTION)
    if entries is None:
        return "nobody asks"
    return unpack(Reply, entries[0].data).answer or "given up" if entries else None


@pytest.mark.parametrize("harm", ["", "doubt", "kill", "cancel", "deafen", "wipe", "failover"])
def test_of_two_answers_one_is_accepted_and_reaches_its_asker(harm: str) -> None:
    assert search(question, ticks=1, **_once(harm)) > 30


@pytest.mark.parametrize("harm", ["freeze", "outage"])
def test_an_answer_is_accepted_and_reaches_its_asker_or_neither(harm: str) -> None:
    assert search(partial(question, offered=OFFERED[:1]), ticks=2, **_once(harm)) > 30


def _once(harm: str) -> dict[str, int]:
    return {harm: 1} if harm else {}


async def _claimed(backplane: Backplane, keeper: Keeper, name: str, asker: str, data: bytes) -> Verdict:
    """Take the question first, then append the answer."""
    if not await backplane.delete(f"{name}/claim"):
        return Verdict.REFUSED
    await backplane.append(name, pack(Reply(data)), ttl=ANSWER_TTL, keep=1)
    return Verdict.ACCEPTED


async def _ask_to_be_claimed(backplane: Backplane, name: str, *, ttl: float) -> Position:
    start = await backplane.open(name, ttl=ttl)
    await backplane.put(f"{name}/claim", b"", ttl=ttl)
    return start


async def _read_first(backplane: Backplane, keeper: Keeper, name: str, asker: str, data: bytes) -> Verdict:
    """Look whether there is an answer, and append if there is none."""
    if (await backplane.open(name, ttl=ANSWER_TTL, create=False)).offset:
        return Verdict.REFUSED
    await backplane.append(name, pack(Reply(data)), ttl=ANSWER_TTL, keep=1)
    return Verdict.ACCEPTED


async def _with_any_mark(backplane: Backplane, keeper: Keeper, name: str, asker: str, data: bytes) -> Verdict:
    """Append with a new mark each time, so that the same answer again is another answer."""
    try:
        packed = pack(Reply(data))
        await settled(lambda: backplane.append(name, packed, ttl=ANSWER_TTL, keep=1, expect=EMPTY, mark=mint()))
    except (LogGone, LogMoved):
        return Verdict.REFUSED
    return Verdict.ACCEPTED


async def _silent_end(backplane: Backplane, name: str, start: Position, *, deadline: float) -> bytes:
    """Let the deadline pass without telling whoever answers."""
    async with asyncio.timeout(deadline), aclosing(follow(backplane, name, start, ttl=600)) as entries:
        return unpack(Reply, (await anext(entries)).data).answer or b""


@pytest.mark.parametrize(
    ("planted", "harm", "complaint"),
    [
        ({"ask": _ask_to_be_claimed, "answer": _claimed}, "cancel", "refused without a reason|after the asker gave up"),
        ({"ask": _ask_to_be_claimed, "answer": _claimed}, "kill", "refused without a reason|after the asker gave up"),
        ({"answer": _read_first}, "", "two answers were accepted|after the asker gave up"),
        ({"answer": _with_any_mark}, "doubt", "the asker has what was refused|refused without a reason"),
        ({"await_answer": _silent_end}, "", "accepted after the asker gave up"),
    ],
    ids=["claimed-and-cancelled", "claimed-and-killed", "read-then-written", "marked-at-random", "given-up-silently"],
)
def test_the_search_finds_what_is_wrong_with_simpler_ways(planted: dict[str, Any], harm: str, complaint: str) -> None:
    with mock.patch.multiple(replies, **planted), pytest.raises(Broken, match=complaint):
        search(question, ticks=1, **_once(harm))
