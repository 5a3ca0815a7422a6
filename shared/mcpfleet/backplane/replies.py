"""Questions and their answers, on any two processes: a question is an open, empty log, and its first entry decides it.

The asker opens the log before anybody can see the question. An answer, and giving up, are appends to the empty log, so
exactly one of them is first and nothing is ever claimed without being delivered. An answer's mark is its digest, so the
same answer again is the same append. Exchange, stream and question share a scope: in a failover no question outlives
its log unnoticed.
"""

import asyncio
import hashlib
from collections.abc import Coroutine
from contextlib import aclosing, suppress
from enum import Enum
from typing import Any, Final, TypeVar

import msgspec

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import EMPTY, Backplane, Position, mint
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.follow import follow
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import LogGap, LogGone, LogMoved, Unavailable

ANSWER_TTL: Final = 300.0
"""For how long an answer is kept, so that the same one again is known."""

GRACE_SECONDS: Final = 60.0
"""For how long giving up is tried while the store is away."""

_Result = TypeVar("_Result")


class Verdict(Enum):
    """What became of an answer; all but the last are success."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"
    REFUSED = "refused"


class Reply(msgspec.Struct, frozen=True):
    """The one entry of a decided question: the answer, or None if the asker gave up first."""

    answer: bytes | None


async def ask(backplane: Backplane, question: str, *, ttl: float) -> Position:
    """Open the question; only then may it be put where somebody can see it. Returns where its answer will follow."""
    return await settled(lambda: backplane.open(question, ttl=ttl))


async def answer(backplane: Backplane, keeper: Keeper, question: str, asker: str, data: bytes) -> Verdict:
    """Give the answer to whoever waits for it on any process; `asker` is the lease of the exchange that asked.

    Refused: nobody asked, the asker gave up, is dead, or has another answer. Cancelled or unavailable midway it may be
    given again.
    """
    packed = pack(Reply(data))
    mark = hashlib.sha256(packed).hexdigest()[:16]
    try:
        end = await backplane.open(question, ttl=ANSWER_TTL, create=False)
        if end.offset:
            return Verdict.REPEATED if end.mark == mark else Verdict.REFUSED
        if await keeper.dead(asker):
            return Verdict.REFUSED
        await settled(lambda: backplane.append(question, packed, ttl=ANSWER_TTL, keep=1, expect=EMPTY, mark=mark))
    except (LogGone, LogMoved):
        return Verdict.REFUSED
    return Verdict.ACCEPTED


async def await_answer(backplane: Backplane, question: str, start: Position, *, deadline: float) -> bytes:
    """Wait at most `deadline` seconds for the answer.

    `TimeoutError`: there was none, and from now on every answer is refused; the same holds when the waiter is
    cancelled. `LogGap`: the question was lost. `Unavailable`: the store was away at the deadline and stayed away.
    """
    mark = mint()
    try:
        try:
            async with asyncio.timeout(deadline):
                reply = await _first(backplane, question, start, deadline + ANSWER_TTL)
        except TimeoutError:
            if await _gave_up_first(backplane, question, mark):
                raise
            reply = await _within_grace(_first(backplane, question, start, ANSWER_TTL))
    except asyncio.CancelledError:
        with suppress(Unavailable, LogGone, LogMoved):
            await settled(lambda: _give_up(backplane, question, mark))
        raise
    if reply.answer is None:
        raise TimeoutError("the question was given up before")
    return reply.answer


async def _first(backplane: Backplane, question: str, start: Position, ttl: float) -> Reply:
    async with aclosing(follow(backplane, question, start, ttl=ttl)) as entries:
        async for entry in entries:
            return unpack(Reply, entry.data)
    raise LogGap("the question's log ended without an entry")


async def _gave_up_first(backplane: Backplane, question: str, mark: str) -> bool:
    """Give up, however long the store is away (within grace); False if an answer was first."""

    async def persistently() -> bool:
        backoff = Backoff()
        while True:
            try:
                await _give_up(backplane, question, mark)
            except Unavailable:
                await asyncio.sleep(backoff.pause())
            except LogMoved:
                return False
            except LogGone as error:
                raise LogGap("the question was lost") from error
            else:
                return True

    return await _within_grace(persistently())


async def _give_up(backplane: Backplane, question: str, mark: str) -> None:
    await backplane.append(question, pack(Reply(None)), ttl=ANSWER_TTL, keep=1, expect=EMPTY, mark=mark)


async def _within_grace(work: Coroutine[Any, Any, _Result]) -> _Result:
    try:
        async with asyncio.timeout(GRACE_SECONDS):
            return await work
    except TimeoutError:
        raise Unavailable("the store was away when the question had to be decided") from None
