"""Cancels at every moment of a call's life, five hundred in each era: one response or none, none once the tool was
cancelled, and nobody else is harmed ("Cancellation", "Timing Considerations")."""

import asyncio
import os
import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final, TypeVar

import pytest

from tests.answer import Answer
from tests.fleets import Fleet, Shape
from tests.wire import LEGACY, MODERN, Client, connected

RACES: Final = 500
SEED: Final = int(os.environ.get("TEST_SEED", "23"))
LONGEST: Final = 0.5
"""For so many seconds a tool runs at most: about half of the responses become streams before they end."""
AT_ONCE: Final = 25
PROCESSES: Final = 3

T = TypeVar("T")

pytestmark = pytest.mark.parametrize("fleet", [Shape("redis", PROCESSES)], indirect=True, ids=str)


@dataclass(frozen=True)
class Race:
    """One call, and one that may cancel it, on processes of their own."""

    client: Client
    tag: str
    chance: Random

    def __str__(self) -> str:
        return f"seed {SEED}, {self.client.date}, race {self.tag}"

    async def call(self, seconds: float, tag: str = "") -> Answer:
        """Call a tool that takes so long and returns the tag, by default that of the race."""
        pin = self.chance.randrange(PROCESSES)
        return await self.client.call("slow", as_id=self.tag, pin=pin, seconds=seconds, tag=tag or self.tag)

    async def cancel(self, after: float = 0.0) -> None:
        """Cancel what has the id of this race, after so many seconds."""
        await asyncio.sleep(after)
        answer = await self.client.cancel(self.tag, pin=self.chance.randrange(PROCESSES))
        assert answer.status == 202, self

    def soon(self) -> float:
        return self.chance.uniform(0, LONGEST)


async def before(race: Race) -> list[Answer]:
    """A cancel that has been answered is not for a call that comes later."""
    await race.cancel()
    return [answered(race, await race.call(race.soon()))]


async def during(race: Race) -> list[Answer]:
    answer, _ = await asyncio.gather(race.call(race.soon()), race.cancel(race.soon()))
    return [answer]


async def as_it_ends(race: Race) -> list[Answer]:
    seconds = race.soon()
    answer, _ = await asyncio.gather(race.call(seconds), race.cancel(seconds + race.chance.uniform(0, 0.05)))
    return [answer]


async def after(race: Race) -> list[Answer]:
    """A cancel of a finished call is for nobody, nor for the next call with that id."""
    first = answered(race, await race.call(race.soon()))
    await race.cancel()
    return [first, answered(race, await race.call(race.soon()))]


async def of_a_reused_id(race: Race) -> list[Answer]:
    first, second, _ = await asyncio.gather(race.call(race.soon()), race.call(race.soon()), race.cancel(race.soon()))
    return [first, second]


MOMENTS: Final[list[Callable[[Race], Awaitable[list[Answer]]]]] = [before, during, as_it_ends, after, of_a_reused_id]


def answered(race: Race, answer: Answer) -> Answer:
    """The answer itself, which nothing may have cancelled."""
    assert answer.text == race.tag, race
    return answer


async def responses(client: Client, answer: Answer) -> int:
    """How many there were, with those that are told whoever takes the stream up again."""
    places = [event.id for event in answer.events if event.id] if answer.is_stream else []
    later = (await client.resume(places[-1])).replies if places else []
    return len(answer.replies) + len(later)


async def fates(fleet: Fleet, run: str) -> dict[str, list[str]]:
    """What became of each call of a run that has begun, once none of them runs any more."""
    async with asyncio.timeout(10), connected(fleet.url, MODERN) as client:
        while True:
            found = defaultdict[str, list[str]](list)
            for process in range(PROCESSES):
                for entry in (await client.call("journal", pin=process)).value:
                    what, _, tag = entry.partition(" ")
                    if tag.startswith(run):
                        found[tag].append(what)
            if all(found[tag].count("began") * 2 == len(found[tag]) for tag in found):
                return found


async def run_all(races: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """What each has returned; some run at once, so that each takes about as long as it means to."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(race: Callable[[], Awaitable[T]]) -> T:
        async with turn:
            return await race()

    async with asyncio.TaskGroup() as tasks:
        racing = [tasks.create_task(one(race)) for race in races]
    return [each.result() for each in racing]


@pytest.mark.parametrize("date", LEGACY)
async def test_a_cancel_at_any_moment_has_one_outcome_and_harms_nobody(fleet: Fleet, date: str) -> None:
    """Cancellation, "Timing Considerations"."""
    run, seeds = secrets.token_hex(4), Random(f"{SEED} {date}")
    moments = MOMENTS * (RACES // len(LEGACY) // len(MOMENTS))
    async with connected(fleet.url, date) as client, connected(fleet.url, date) as other:
        races = [Race(client, f"{run}-{number}", Random(seeds.random())) for number in range(len(moments))]
        others = [Race(other, race.tag, race.chance) for race in races[::10]]
        answers, unharmed = await asyncio.gather(
            run_all([partial(moment, race) for moment, race in zip(moments, races, strict=True)]),
            run_all([partial(race.call, race.soon(), "unharmed") for race in others]),
        )
        assert {answer.text for answer in unharmed} == {"unharmed"}
        assert (await client.call("echo", x="lives")).text == "lives"
        fate = await fates(fleet, run)
        for race, given in zip(races, answers, strict=True):
            for answer in given:
                assert answer.status == 200, race
                assert [reply["result"]["content"][0]["text"] for reply in answer.replies] in ([], [race.tag]), race
            told = sum([await responses(client, answer) for answer in given])
            assert told <= fate[race.tag].count("finished"), race
    assert {"finished", "cancelled"} <= {what for race in races[1::5] for what in fate[race.tag]}


async def test_closing_a_modern_response_at_any_moment_has_one_outcome_and_harms_nobody(fleet: Fleet) -> None:
    """Streamable HTTP 2026-07-28, "Cancellation"; another request may have the same id."""
    run, seeds = secrets.token_hex(4), Random(SEED)

    async def closed(race: Race) -> Answer | None:
        with suppress(TimeoutError):
            async with asyncio.timeout(race.soon()):
                return await race.call(race.soon())
        return None

    async with connected(fleet.url, MODERN) as client:
        races = [Race(client, f"{run}-{number}", Random(seeds.random())) for number in range(RACES)]
        answers, unharmed = await asyncio.gather(
            run_all([partial(closed, race) for race in races]),
            run_all([partial(race.call, race.soon(), "unharmed") for race in races[::10]]),
        )
    assert {answer.text for answer in unharmed} == {"unharmed"}
    fate = await fates(fleet, run)
    for race, answer in zip(races, answers, strict=True):
        assert answer is None or answer.text == race.tag, race
        ended = fate[race.tag][1:]
        assert ended == ["finished"] if answer else ended in ([], ["finished"], ["cancelled"]), race
    assert {"finished", "cancelled"} <= {what for race in races for what in fate[race.tag]}
