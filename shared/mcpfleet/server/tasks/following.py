"""Telling a client how its tasks go, from any process ("Task Status Notifications")."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

from mcpfleet.backplane.base import Backplane
from mcpfleet.errors import Unavailable
from mcpfleet.protocol.messages.tasks import TERMINAL, DetailedTask
from mcpfleet.server.tasks.names import Names, names_of
from mcpfleet.server.tasks.store import Owner, Tasks, UnknownTask
from mcpfleet.server.tasks.view import detailed

LOOK_EVERY: Final = 5.0
"""How often a task is looked at whose bell does not ring, in seconds."""

Tell = Callable[[DetailedTask], Awaitable[None]]


class Following:
    """Follows tasks. Their bells only say when to look, so whatever is missed, the last state is told."""

    def __init__(self, backplane: Backplane, tasks: Tasks, *, gather: float) -> None:
        """What changes within `gather` seconds is told as one."""
        self._backplane = backplane
        self._tasks = tasks
        self._gather = gather

    async def known(self, task_ids: Iterable[str], owner: Owner) -> tuple[Names, ...]:
        """Those of the tasks that there are and that this owner has, in order; raises `Unavailable`."""
        named = [names for each in dict.fromkeys(task_ids) if (names := names_of(each)) is not None]
        owned = await asyncio.gather(*(self._is_owned(names, owner) for names in named))
        return tuple(names for names, is_owned in zip(named, owned, strict=True) if is_owned)

    async def follow(self, names: Names, tell: Tell) -> None:
        """Tell how the task is now, and again when that has changed, until it has ended or is forgotten."""
        told: DetailedTask | None = None
        async with self._backplane.watch(names.record, poll=LOOK_EVERY) as bell:
            with suppress(UnknownTask):
                while True:
                    now = await self._state(names)
                    if now is not None and now != told:
                        await tell(now)
                        if now.status in TERMINAL:
                            return
                        told = now
                        await asyncio.sleep(self._gather)
                    await bell.rung()

    async def _state(self, names: Names) -> DetailedTask | None:
        """How it is; None while the store is away, whose return rings the bell."""
        try:
            return detailed(await self._tasks.find(names.id), poll=self._tasks.policy.poll)
        except Unavailable:
            return None

    async def _is_owned(self, names: Names, owner: Owner) -> bool:
        try:
            return (await self._tasks.find(names.id)).record.work.owner == owner
        except UnknownTask:
            return False
