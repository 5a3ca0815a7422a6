import asyncio
from typing import NoReturn

import pytest

from mcpfleet.backplane.background import background


async def endless() -> NoReturn:
    """Wait for what never comes."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def failing() -> NoReturn:
    """Fail at once."""
    raise LookupError("broken")


async def test_the_tasks_run_for_the_time_of_the_block() -> None:
    async with background(endless(), endless()) as tasks:
        await asyncio.sleep(0)
        assert [task.done() for task in tasks] == [False, False]
    assert [task.cancelled() for task in tasks] == [True, True]


async def test_the_blocks_own_exception_leaves_as_it_is() -> None:
    with pytest.raises(ValueError, match="mine"):
        async with background(endless()) as tasks:
            raise ValueError("mine")
    assert tasks[0].cancelled()


async def test_a_task_that_fails_ends_the_block_and_is_raised_in_a_group() -> None:
    with pytest.raises(ExceptionGroup) as group:
        async with background(failing()):
            await endless()
    assert group.group_contains(LookupError)


async def test_cancelling_the_block_cancels_the_tasks() -> None:
    started = asyncio.Event()

    async def block() -> None:
        async with background(endless()):
            started.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(block())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
