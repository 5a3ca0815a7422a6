"""Leases: who is at work on what, as far as anybody can know.

A lease saves work and decides nothing: a failover forgets it and a frozen holder outlives it. What must happen once is
decided by a conditional write. A holder is *dead* when its lease is gone and this process has been in unbroken contact
with the store for a whole lease time: an outage ends every lease, and the living need a moment to re-take theirs. The
same holds for a store that forgets, as when its clock is set forward: it has then forgotten this process's sign of life
too, which counts as an outage.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, NoReturn, Self

from mcpfleet.backplane.base import ABSENT, ANYTHING, Backplane, CellExpectation, mint
from mcpfleet.backplane.contact import Contact
from mcpfleet.backplane.doubt import settled
from mcpfleet.errors import BackplaneError, LogGone, Unavailable

LEASE_SECONDS: Final = 7.5
BURST: Final = 1000
"""How many renewals are under way at once."""

_log = logging.getLogger(__name__)


class Lease:
    """A lease as its holder knows it, renewed until it is released, dropped or lost; a block that ends it releases it.

    `on_lapse` is called when a renewal finds that the lease had run out, before it is re-taken: others may have acted
    in the holder's place. `lost` is set if another has taken it meanwhile.
    """

    def __init__(self, keeper: "Keeper", key: str, token: bytes) -> None:
        self.key = key
        self.token = token
        self.lost = asyncio.Event()
        self.on_lapse: Callable[[], None] = _ignore
        self._keeper = keeper

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.release()

    async def release(self) -> None:
        """Give it up at once; if the store is away it runs out by itself."""
        self.drop()
        with suppress(Unavailable):
            await settled(lambda: self._keeper.backplane.delete(self.key, expect=self.token))

    def drop(self) -> None:
        """Renew it no more, so that it runs out: what a dying process does."""
        self._keeper.forget(self)


def _ignore() -> None:
    pass


@dataclass(eq=False, slots=True)
class _Touch:
    renew: Callable[[], Awaitable[bool]]
    every: float
    on_gone: Callable[[], None]
    due: float


class Keeper:
    """Renews all leases and touches of one process, together, every third of the lease time or when a touch needs it.

    Its rounds are also what `contact` knows: each sends at least one write. `run` it as a task of the process; if it
    ends, the process must.
    """

    def __init__(
        self, backplane: Backplane, *, lease: float = LEASE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.backplane = backplane
        self.lease = lease
        self.period = lease / 3
        # A lease was renewed a period and one command ago at worst, so what it has left is more than half of it.
        self.contact = Contact(patience=lease / 2, clock=clock)
        self._clock = clock
        self._cell = f"keepers/{mint()}"
        self._signed = False
        self._held: dict[str, Lease] = {}
        self._touches: set[_Touch] = set()
        self._sooner = asyncio.Event()
        self._burst = asyncio.Semaphore(BURST)

    async def hold(self, key: str) -> Lease | None:
        """Take the lease, or return None if another holds it."""
        lease = Lease(self, key, mint().encode())
        try:
            taken = await settled(lambda: self._take(lease))
        except Unavailable:
            self.contact.lost()
            raise
        if not taken:
            return None
        self._held[key] = lease
        return lease

    @contextmanager
    def touching(
        self, renew: Callable[[], Awaitable[bool]], *, every: float, on_gone: Callable[[], None]
    ) -> Iterator[None]:
        """For the time of the block, call `renew` about every so many seconds.

        When it returns False or raises `LogGone`, `on_gone` is called, once, and `renew` no more. It may raise any
        other `BackplaneError`, and is then called again in the next round.
        """
        touch = _Touch(renew, every, on_gone, self._clock() + every)
        self._touches.add(touch)
        if every < self.period:
            self._sooner.set()
        try:
            yield
        finally:
            self._touches.discard(touch)

    def forget(self, lease: Lease) -> None:
        """Stop renewing the lease."""
        if self._holds(lease):
            del self._held[lease.key]

    async def dead(self, key: str) -> bool:
        """Whether whoever held this lease is dead: no lease, after a lease time of unbroken contact."""
        if key in self._held:
            return False
        try:
            if await self.backplane.get(key) is not None:
                return False
            if self._signed and await self.backplane.get(self._cell) is None:
                self.contact.lost()
            return self.contact.unbroken_for(self.lease)
        except Unavailable:
            self.contact.lost()
            return False

    async def run(self) -> NoReturn:
        """Keep everything until cancelled."""
        while True:
            began = self._clock()
            await self.round()
            await self._rest(began)

    async def _rest(self, since: float) -> None:
        """Wait for the next round: for a period, or for as long as the touch can wait that is due most often."""
        with suppress(TimeoutError):
            while True:
                self._sooner.clear()
                pause = min([self.period, *(touch.every for touch in self._touches)])
                async with asyncio.timeout(since + pause - self._clock()):
                    await self._sooner.wait()

    async def round(self) -> None:
        """Renew everything that is due, once, together."""
        asked = self._clock()
        due = [touch for touch in self._touches if touch.due <= asked]
        async with asyncio.TaskGroup() as tasks:
            renewals = [tasks.create_task(self._answered(self._sign()))]
            renewals += [tasks.create_task(self._answered(self._renew(lease))) for lease in [*self._held.values()]]
            renewals += [tasks.create_task(self._answered(self._touch(touch))) for touch in due]
        if all(renewal.result() for renewal in renewals):
            self.contact.answered(asked)
        else:
            self.contact.lost()

    async def _answered(self, renewal: Awaitable[None]) -> bool:
        try:
            async with self._burst:
                await renewal
        except Unavailable:
            return False
        except BackplaneError:  # one key that cannot be renewed must not stop the others
            _log.exception("a lease or touch cannot be renewed")
        return True

    async def _sign(self) -> None:
        # A write, because a replica and a cut-off master would go on answering reads.
        expect: CellExpectation = b"" if self._signed else ANYTHING
        if not await self.backplane.put(self._cell, b"", ttl=self.lease, expect=expect):
            self.contact.lost()  # what was signed is forgotten, so the leases of others may be
            await self.backplane.put(self._cell, b"", ttl=self.lease)
        self._signed = True

    async def _renew(self, lease: Lease) -> None:
        if await self.backplane.put(lease.key, lease.token, ttl=self.lease, expect=lease.token):
            return
        if not self._holds(lease):
            return
        lease.on_lapse()
        taken = await self._take(lease)
        if not self._holds(lease):  # released meanwhile
            await self.backplane.delete(lease.key, expect=lease.token)
        elif not taken:
            self.forget(lease)
            lease.lost.set()

    def _holds(self, lease: Lease) -> bool:
        return self._held.get(lease.key) is lease

    async def _take(self, lease: Lease) -> bool:
        if await self.backplane.put(lease.key, lease.token, ttl=self.lease, expect=ABSENT):
            return True
        return await self.backplane.get(lease.key) == lease.token  # an earlier attempt, thought lost, was carried out

    async def _touch(self, touch: _Touch) -> None:
        try:
            kept = await touch.renew()
        except LogGone:
            kept = False
        touch.due = self._clock() + touch.every
        if not kept and touch in self._touches:
            self._touches.discard(touch)
            touch.on_gone()
