"""Tasks that run for the time of a block."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import NoReturn


@asynccontextmanager
async def background(*endless: Coroutine[None, None, NoReturn]) -> AsyncIterator[Sequence[asyncio.Task[NoReturn]]]:
    """Run coroutines that never return, until the block ends, and yield their tasks.

    If one raises, the block is cancelled and the exception is raised in a group; the block's own exception leaves as it
    is.
    """
    failure: Exception | None = None
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in endless]
        try:
            yield tasks
        except Exception as error:  # noqa: BLE001 - kept whole for below; the group would wrap it
            failure = error
        finally:
            for task in tasks:
                task.cancel()
    if failure is not None:
        raise failure
