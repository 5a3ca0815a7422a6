"""Following a log: replay, then live, written once for all backends and all uses."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Final

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import READ_BYTES, Backplane, Entry, Position
from mcpfleet.errors import Unavailable

PAGE: Final = 100


async def _unheeded(_after: Position) -> bool:
    return False


async def follow(
    backplane: Backplane,
    log: str,
    after: Position,
    *,
    ttl: float,
    poll: float = 5.0,
    on_outage: Callable[[], None] = lambda: None,
    on_return: Callable[[], None] = lambda: None,
    on_silence: Callable[[Position], Awaitable[bool]] = _unheeded,
) -> AsyncGenerator[Entry, None]:
    """Yield every entry after the position, in order, once: what is there already, then what comes.

    It never ends by itself and waits out every outage; its caller owns the deadline. It raises `LogGap` when it cannot
    go on without skipping something, and also when the log has expired or was deleted: to a reader that is the same.
    `on_outage` is called with each command that fails, and `on_return` when the store answers again after that.
    `on_silence` is called with the last position when a bell, or `poll`, brought nothing; if it returns True, the log
    is looked at again at once.

    While it is being consumed it keeps the log alive for `ttl` seconds, and looks at it every `poll` seconds even if no
    bell rings. Close it (`contextlib.aclosing`) when leaving early. To follow two logs at once, consume two of these in
    two tasks: cancelling either between two entries loses nothing, since its next position is the last entry's.
    """
    backoff, away, waited = Backoff(), False, False
    async with backplane.watch(log, poll=poll) as bell:  # before the first read, so that nothing falls between
        while True:
            try:
                entries = await backplane.read(log, after=after, limit=PAGE, ttl=ttl)
                if waited and not entries and await on_silence(after):
                    continue
            except Unavailable:
                away = True
                on_outage()
                await asyncio.sleep(backoff.pause())
                continue
            backoff.reset()
            if away:
                away = False
                on_return()
            for entry in entries:
                after = entry.position
                yield entry
            waited = _reached_the_end(entries)
            if waited:
                await bell.rung()


def _reached_the_end(entries: Sequence[Entry]) -> bool:
    return len(entries) < PAGE and sum(len(entry.data) for entry in entries) < READ_BYTES
