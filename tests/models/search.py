"""Going through every state that a small world can get into, the nearest first."""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from tests.models.choice import Choice
from tests.models.world import World

Judge = Callable[[], None]
"""Raises `AssertionError` if the world is not as it should be."""

MOST: Final = 100_000


class Judges(NamedTuple):
    """What holds at every moment, and what holds in the end, when all have calmed down."""

    always: Judge
    finally_: Judge


Scenario = Callable[[World], Judges]
"""Starts what there is in a new world."""


class Broken(AssertionError):
    """What does not hold, and the shortest way there."""


def search(scenario: Scenario, *, most: int = MOST, ticks: int = 0, **faults: int) -> int:
    """Judge every state that can be reached, and return how many there are; `Broken` if one is not as it should be.

    `ticks` and `faults` are a `World`'s. A state is not copied but reached again, by the same choices.
    """
    seen: set[Hashable] = set()
    ahead: deque[tuple[int, ...]] = deque([()])
    while ahead:
        path = ahead.popleft()
        with _reached(scenario, World(ticks=ticks, **faults), path) as (world, judges, choices):
            key = world.key()
            if key in seen:
                continue
            seen.add(key)
            assert len(seen) <= most, f"there are more than {most} states"
            ahead.extend((*path, number) for number in range(len(choices)))
            if not any(choice.due for choice in choices):
                assert world.calm_down(), "some never end"
                judges.finally_()
    return len(seen)


@contextmanager
def _reached(scenario: Scenario, world: World, path: tuple[int, ...]) -> Iterator[tuple[World, Judges, list[Choice]]]:
    """The world after these choices, and what can happen next; where there is but one choice it is taken."""
    try:
        with world.going():
            judges = scenario(world)
            choices = _forced(world, judges)
            for number in path:
                world.take(choices[number])
                judges.always()
                choices = _forced(world, judges)
            yield world, judges, choices
    except AssertionError as broken:
        raise Broken("\n".join([str(broken), *world.trace])) from broken


def _forced(world: World, judges: Judges) -> list[Choice]:
    world.settle()
    while len(choices := world.choices()) == 1 and choices[0].due:
        world.take(choices[0])
        judges.always()
    return choices
