"""Three faults to be planted in the server of a chaos run, each of which its ledger must show."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final
from unittest.mock import patch

import msgspec

from mcpfleet.backplane import redis
from mcpfleet.backplane.base import Backplane, Bell
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.pulse import FLEET
from mcpfleet.backplane.replies import ANSWER_TTL, Reply, Verdict
from mcpfleet.backplane.stored import pack
from mcpfleet.errors import LogGone
from mcpfleet.server import events, questions

PLANT: Final = "CHAOS_PLANT"
"""The variable that names the fault."""


def a_bell_never_rung() -> None:
    """No reader is told that there is more, but for the pulse, which would have the process replaced."""
    watch = redis.RedisBackplane.watch

    @asynccontextmanager
    async def unheard(backplane: redis.RedisBackplane, log: str, *, poll: float = 5.0) -> AsyncIterator[Bell]:
        async with watch(backplane, log, poll=poll) as bell:
            yield bell if log == FLEET else _Dumb()

    patch.object(redis.RedisBackplane, "watch", unheard).start()


class _Dumb:
    """A bell that does not ring."""

    async def rung(self) -> None:
        await asyncio.Event().wait()


def an_answer_claimed_twice() -> None:
    """Every answer to a question is accepted, also when there is one already."""

    async def accept(backplane: Backplane, _keeper: Keeper, question: str, _asker: str, data: bytes) -> Verdict:
        try:
            await backplane.append(question, pack(Reply(data)), ttl=ANSWER_TTL, keep=10)
        except LogGone:
            return Verdict.REFUSED
        return Verdict.ACCEPTED

    patch.object(questions, "answer", accept).start()


def a_filter_without_its_principal() -> None:
    """What is for one principal alone is told to everybody who watches it."""
    read = events.read

    def anybodys(data: bytes) -> events.Change | None:
        change = read(data)
        return None if change is None else msgspec.structs.replace(change, owner=None)

    patch.object(events, "read", anybodys).start()


PLANTS: Final[dict[str, Callable[[], None]]] = {
    "bell": a_bell_never_rung,
    "answer": an_answer_claimed_twice,
    "filter": a_filter_without_its_principal,
}


def plant(name: str) -> None:
    """Plant the fault of this name in this process; none if the name is empty."""
    if name:
        PLANTS[name]()
