"""The list of the tasks that were given up."""

import asyncio

import pytest

from mcpfleet.backplane.faults import Doubtful, Fate
from mcpfleet.errors import Unavailable
from mcpfleet.server.tasks import letters
from mcpfleet.server.tasks.letters import KEPT, DeadLetter, DeadLetters
from tests.backplane.conftest import Pair


def letter(task_id: str) -> DeadLetter:
    return DeadLetter(task_id, "dig", "outcome_unknown", 1, 1000.0, 2000.0)


async def test_every_process_sees_the_letters_oldest_first(pair: Pair) -> None:
    here, there = DeadLetters(pair.here), DeadLetters(pair.there)
    assert await there.all() == ()
    await here.add(letter("a"))
    await there.add(letter("b"))
    assert await here.all() == (letter("a"), letter("b"))


async def test_a_task_has_one_letter_which_can_be_withdrawn(pair: Pair) -> None:
    here, there = DeadLetters(pair.here), DeadLetters(pair.there)
    for task_id in ("a", "b", "a"):
        await here.add(letter(task_id))
    await there.withdraw("a")
    await there.withdraw("never there")
    assert await here.all() == (letter("b"),)


async def test_letters_that_are_added_at_once_are_all_there(pair: Pair) -> None:
    here, there = DeadLetters(pair.here), DeadLetters(pair.there)
    await asyncio.gather(*((here, there)[number % 2].add(letter(str(number))) for number in range(6)))
    assert {each.task_id for each in await here.all()} == {str(number) for number in range(6)}


@pytest.mark.parametrize("fate", [Fate.UNANSWERED, Fate.LOST])
async def test_a_letter_that_is_in_doubt_is_there_once(pair: Pair, fate: Fate) -> None:
    await DeadLetters(Doubtful([Fate.DONE, fate]).view(pair.here)).add(letter("a"))
    assert await DeadLetters(pair.there).all() == (letter("a"),)


async def test_only_the_newest_are_kept(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    assert KEPT == 200
    monkeypatch.setattr(letters, "KEPT", 3)
    own = DeadLetters(pair.here)
    for number in range(5):
        await own.add(letter(str(number)))
    assert [each.task_id for each in await own.all()] == ["2", "3", "4"]


async def test_a_list_that_never_stays_the_same_is_given_up(pair: Pair) -> None:
    with pytest.raises(Unavailable, match="changed"):
        await DeadLetters(Doubtful([Fate.DONE, Fate.LOST] * letters.TRIES).view(pair.here)).add(letter("a"))
