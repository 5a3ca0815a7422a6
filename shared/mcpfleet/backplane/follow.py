"""Following a log: replay, then live, written once for all backends and all uses."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import READ_BYTES, Backplane, Entry, Position
from mcpfleet.errors import Unavailable

PAGE: Final = 100


async def follow(
    backplane: Backplane,
    log: str,
    after: Position,
    *,
    ttl: float,
    poll: float = 5.0,
    on_return: Callable[[], None] = lambda: None,
) -> AsyncGenerator[Entry, None]:
    """Yield every entry after the position, in order, once: what is there already, then what comes.

    It never ends by itself and waits out every outage; its caller owns the deadline. It raises `LogGap` when it cannot
    go on without skipping something, and also when the log has expired or was deleted: to a reader that is the same.
    `on_return` is called when the store answers again after an outage that was noticed.

    While it is being consumed it keeps the log alive for `ttl` seconds, and looks at it every `poll` seconds even if no
    bell rings. Close it (`contextlib.aclosing`) when leaving early. To follow two logs at once, consume two of these in
    two tasks: cancelling either between two entries loses nothing, since its next position is the last entry's.
    """
    backoff, away = Backoff(), False
    async with backplane.watch(log, poll=poll) as bell:  # before the first read, so that nothing falls between
        while True:
            try:
                entries = await backplane.read(log, after=after, limit=PAGE, ttl=ttl)
            except Unavailable:
                away = True
                await asyncio.sleep(backoff.pause())
                continue
            backoff.reset()
            if away:
                away = False
                on_return()
            for entry in entries:
                after = entry.position
                yield entry
            if _reached_the_end(entries):
                await bell.rung()


def _reached_the_end(entries: Sequence[Entry]) -> bool:
    return len(entries) < PAGE and sum(len(entry.data) for entry in entries) < READ_BYTES
