"""Faults to be planted in the server of a run of tasks, each of which its ledger must show."""

from collections.abc import Callable
from typing import Any, Final
from unittest.mock import patch

from mcpfleet.backplane.base import Put
from mcpfleet.backplane.stored import pack
from mcpfleet.server.methods import tasks as methods
from mcpfleet.server.tasks import runner
from mcpfleet.server.tasks.attempt import Attempt
from mcpfleet.server.tasks.outlet import TaskOutlet
from mcpfleet.server.tasks.record import Record
from mcpfleet.server.tasks.store import Step, Tasks
from mcpfleet.server.tasks.verdict import verdict


def an_end_written_over_whatever_is_there() -> None:
    """A run that broke off believes that its task is its own, and writes how it ends without comparing the record."""

    async def end(attempt: Attempt, make: Callable[[Record], Step]) -> None:
        await _written(attempt._tasks, attempt.names.record, make(attempt.record))

    patch.object(Attempt, "end", end).start()
    patch.object(Attempt, "_demand", lambda *_: None).start()


async def _written(tasks: Tasks, record: str, step: Step) -> None:
    put = Put(record, pack(step.record), 600.0)
    await tasks._backplane.commit(put, *step.writes, expect={}, ring=(record,))


def a_tool_that_may_run_twice_whatever_it_says() -> None:
    """Every tool is begun again whose run broke off."""

    def repeatable(record: Record, now: float, *, attempts: int, **_: bool) -> Any:
        return verdict(record, now, repeatable=True, attempts=attempts)

    patch.object(runner, "verdict", repeatable).start()


def a_step_that_is_not_stored() -> None:
    """What a step came to is known to its own run alone."""

    async def step(_outlet: TaskOutlet, _name: str, work: Callable[[], Any]) -> Any:
        return await work()

    patch.object(TaskOutlet, "step", step).start()


def a_task_that_is_anybodys() -> None:
    """Whoever knows the id of a task may ask for it."""
    patch.object(methods, "_check_owner", lambda *_: None).start()


PLANTS: Final[dict[str, Callable[[], None]]] = {
    "end": an_end_written_over_whatever_is_there,
    "verdict": a_tool_that_may_run_twice_whatever_it_says,
    "step": a_step_that_is_not_stored,
    "owner": a_task_that_is_anybodys,
}


def plant(name: str) -> None:
    """Plant the fault of this name in this process; none if the name is empty."""
    if name:
        PLANTS[name]()
