"""Tasks whose time is up, wherever they are: one process of the fleet ends them."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.errors import BackplaneError, Unavailable
from mcpfleet.protocol.tasks import PARTITIONS
from mcpfleet.server.process import Process
from mcpfleet.server.registry import Registry
from mcpfleet.server.tasks.names import ends, names_of
from mcpfleet.server.tasks.record import Record
from mcpfleet.server.tasks.store import Step, Tasks, UnknownTask
from mcpfleet.server.tasks.verdict import EXPIRED

LEADER: Final = "tasks/reaper"
BATCH: Final = 100

log = logging.getLogger("mcpfleet.tasks")


class Reaper:
    """Ends what has expired; `run` it as a task of the process.

    That one process does it at a time saves work and decides nothing: two of them end each task once all the same.
    """

    def __init__(self, process: Process, tasks: Tasks, registry: Callable[[], Registry]) -> None:
        """`registry` tells what is offered now: where no tool makes tasks there are none to end."""
        self._process = process
        self._tasks = tasks
        self._registry = registry

    async def run(self) -> NoReturn:
        """Look every third of the lease time, whenever no other process does, until cancelled."""
        keeper, backoff = self._process.keeper, Backoff()
        while True:
            try:
                lease = await keeper.hold(LEADER) if self._registry().makes_tasks else None
                if lease is not None:
                    async with lease:
                        while not lease.lost.is_set():
                            await self.round()
                            backoff.reset()
                            await asyncio.sleep(keeper.period)
            except BackplaneError as error:
                log.warning("tasks whose time is up cannot be ended: %s", error)
                await asyncio.sleep(backoff.pause())
            await asyncio.sleep(keeper.period)

    async def round(self) -> None:
        """End everything that has expired by now."""
        for partition in range(PARTITIONS):
            while members := await self._due(partition):
                for task_id in members:
                    await self._end(task_id)

    async def _due(self, partition: int) -> Sequence[str]:
        taken = await self._tasks.due(ends(partition), hold=self._process.policy.lease, limit=BATCH)
        return taken.members

    async def _end(self, task_id: str) -> None:
        names = names_of(task_id)
        if names is None:
            return

        def step(record: Record) -> Step | None:
            now = self._tasks.clock()
            return None if record.terminal else self._tasks.ended(names, record.failed(EXPIRED, now))

        try:
            await self._tasks.change(names, step)
        except UnknownTask:
            await self._tasks.forget(names, ends(names.partition), None)
        except Unavailable:
            raise
        except BackplaneError as error:  # a record that this process cannot read must not keep the others alive
            log.warning("task %s cannot be ended: %s", task_id, error)
