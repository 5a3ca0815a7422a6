"""A client under chaos whose calls become tasks."""

from typing import Final

from tests.chaos.stage import Stage
from tests.chaos.tasks.customer import Customer
from tests.chaos.tasks.errand import wishes

TASK_CALLERS: Final = 6
MANY: Final = 10_000
"""More than any run has time for."""


class TaskCaller:
    """Has one thing done after the other until the run is over."""

    def __init__(self, stage: Stage, number: int) -> None:
        self._stage = stage
        self._wishes = wishes(stage.seed, MANY)[number::TASK_CALLERS]

    async def run(self) -> None:
        """Call until the run is over."""
        for wish in self._wishes:
            if self._stage.over.is_set():
                break
            await Customer(self._stage, wish).run()
