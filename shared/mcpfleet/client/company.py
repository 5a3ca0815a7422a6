"""Tasks that accompany a thing for as long as it is in use."""

import asyncio
import logging
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

log = logging.getLogger("mcpfleet.client")


class Company:
    """Tasks that are cancelled when its context is left; what one raises is logged, and ends nothing but itself."""

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something go on until it returns or the context is left."""
        task = self._group.create_task(_guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in [*self._tasks]:
            task.cancel()
        await self._group.__aexit__(None, None, None)  # the exception of the block leaves as it is


async def _guarded(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception:
        log.exception("what accompanies a client has failed")
