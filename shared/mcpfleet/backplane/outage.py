"""Waiting out an outage of the store."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.errors import Unavailable

Result = TypeVar("Result")


async def outlast(command: Callable[[], Awaitable[Result]]) -> Result:
    """The result of a command that may be sent many times, once the store answers; the caller owns the deadline."""
    backoff = Backoff()
    while True:
        try:
            return await command()
        except Unavailable:
            await asyncio.sleep(backoff.pause())
