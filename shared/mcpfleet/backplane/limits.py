"""Limits that the whole fleet keeps: places that are held, and events that are counted, by the store's clock.

While the store is away each process keeps to its share of a quota by its own clock.
"""

import hashlib
import math
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from mcpfleet.backplane.base import Backplane, mint
from mcpfleet.backplane.doubt import settled
from mcpfleet.errors import Unavailable

MAX_CALLERS: Final = 10_000
"""Whom a process remembers at once while the store is away; beyond that it refuses."""


class Seats:
    """A number of places that members hold until they leave or their time runs out."""

    def __init__(self, backplane: Backplane, pool: str, *, cap: int) -> None:
        self._backplane = backplane
        self._pool = pool
        self._cap = cap

    async def take(self, member: str, *, ttl: float) -> float:
        """Take a place, or keep it, for `ttl` seconds: 0.0, or the seconds after which one may be free."""
        return await settled(lambda: self._backplane.admit(self._pool, member, ttl=ttl, cap=self._cap))

    async def leave(self, member: str) -> None:
        """Give the place back."""
        await settled(lambda: self._backplane.admit(self._pool, member, ttl=0, cap=self._cap))


class Quota:
    """At most `limit` events of each caller in any `window` seconds, over the whole fleet.

    `processes` says how many share the limit while the store is away: each then allows a `processes`-th of it, counted
    anew, so that a window which an outage begins or ends in may hold twice the limit. If it names fewer processes than
    there are, all together may allow more; if more, less.
    """

    def __init__(
        self,
        backplane: Backplane,
        name: str,
        *,
        limit: int,
        window: float,
        processes: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backplane = backplane
        self._name = name
        self._limit = limit
        self._window = window
        self._processes = processes
        self._alone = _Share(clock)

    async def spend(self, caller: str) -> float:
        """Count one event of the caller: 0.0 if it is allowed, else the seconds after which to try again."""
        who = hashlib.blake2b(caller.encode(), digest_size=16).hexdigest()
        event = mint()
        try:
            return await settled(
                lambda: self._backplane.admit(f"{who}/quota/{self._name}", event, ttl=self._window, cap=self._limit)
            )
        except Unavailable:
            return self._alone.spend(who, self._limit / max(1, self._processes()), self._window)


class _Share:
    """What one process allows by itself; a share below one event a window is one event in a longer window."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ends: dict[str, deque[float]] = {}

    def spend(self, who: str, share: float, window: float) -> float:
        """Count one event, if fewer than `share` of them have happened within the window."""
        if not share:
            return window
        now, cap = self._clock(), max(1, math.floor(share))
        ends = self._ends.get(who) or self._remember(who, now)
        if ends is None:
            return window
        while ends and ends[0] <= now:
            ends.popleft()
        if len(ends) >= cap:
            return ends[len(ends) - cap] - now
        ends.append(now + window * max(1.0, 1 / share))
        return 0.0

    def _remember(self, who: str, now: float) -> deque[float] | None:
        if len(self._ends) >= MAX_CALLERS:
            self._ends = {other: ends for other, ends in self._ends.items() if ends and ends[-1] > now}
        if len(self._ends) >= MAX_CALLERS:
            return None
        return self._ends.setdefault(who, deque())
