"""Dead letters: tasks that were given up since every run of theirs broke off, for an operator to look at."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import ABSENT, Backplane, CellExpectation
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import InDoubt, Unavailable

LETTERS: Final = "tasks/dead"
KEPT: Final = 200
KEPT_SECONDS: Final = 7 * 86_400.0
TRIES: Final = 16


class DeadLetter(msgspec.Struct, frozen=True):
    """A task that was given up; times are Unix seconds."""

    task_id: str
    tool: str
    reason: str
    attempts: int
    created: float
    at: float


class _Letters(msgspec.Struct, frozen=True):
    letters: tuple[DeadLetter, ...]


class DeadLetters:
    """The list of them, oldest first: the last `KEPT`, until for `KEPT_SECONDS` none was added."""

    def __init__(self, backplane: Backplane) -> None:
        self._backplane = backplane

    async def all(self) -> tuple[DeadLetter, ...]:
        """Every one that is kept; raises `Unavailable`."""
        data = await self._backplane.get(LETTERS)
        return () if data is None else unpack(_Letters, data).letters

    async def add(self, letter: DeadLetter) -> None:
        """Add one at the end, unless its task is there; `Unavailable` under contention or if the store is away."""

        def added(letters: tuple[DeadLetter, ...]) -> tuple[DeadLetter, ...]:
            known = any(each.task_id == letter.task_id for each in letters)
            return letters if known else (*letters, letter)[-KEPT:]

        await self._change(added)

    async def withdraw(self, task_id: str) -> None:
        """Remove that of a task which was not given up after all; raises as `add` does."""
        await self._change(lambda letters: tuple(each for each in letters if each.task_id != task_id))

    async def _change(self, make: Callable[[tuple[DeadLetter, ...]], tuple[DeadLetter, ...]]) -> None:
        backoff = Backoff(first=0.002, most=0.2)
        for _ in range(TRIES):
            data = await self._backplane.get(LETTERS)
            letters = () if data is None else unpack(_Letters, data).letters
            made = make(letters)
            if made == letters:
                return
            expect: CellExpectation = ABSENT if data is None else data
            with suppress(InDoubt):  # what is found next tells
                if await self._backplane.put(LETTERS, pack(_Letters(made)), ttl=KEPT_SECONDS, expect=expect):
                    return
            await asyncio.sleep(backoff.pause())
        raise Unavailable(f"the dead letters changed {TRIES} times meanwhile")
