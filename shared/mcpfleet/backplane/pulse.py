"""The pulse: every process says every few seconds that it lives, and listens whether it can hear itself.

One log carries the beats of the whole fleet. Reading it tells who is alive, how many, and with which registries. And
since the append goes through the command connection and its bell comes through the other one, a process that does not
hear itself has gone deaf, however alive that connection looks.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn, Protocol, runtime_checkable

import msgspec

from mcpfleet.backplane.base import Backplane, Entry, Position
from mcpfleet.backplane.contact import Contact
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import LogGap, LogGone, Unavailable, UnknownFormat

FLEET: Final = "fleet/beats"
PERIOD_SECONDS: Final = 5.0
DEAF_AFTER: Final = 2
"""So many beats unheard in a row: the bells' connection is replaced."""

_TTL: Final = 600.0
_KEEP: Final = 10_000
_NO_POLL: Final = 3600.0  # a bell that rings by itself proves nothing


class Beat(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a process says of itself."""

    process: str
    version: str
    fingerprint: str
    """Tells one registry from another: processes with equal ones serve the same lists."""
    load: float
    leaving: bool = False
    worker: bool = False
    """Whether it is of the worker tier, and takes tasks."""
    queues: tuple[str, ...] = ()
    """Of which queues, if it is; none named: all of them."""


@runtime_checkable
class Reconnectable(Protocol):
    """A backplane whose bells come through a connection that can be replaced."""

    def reconnect(self) -> None:
        """Replace the connection that bells come through, and ring them all."""
        ...


@dataclass(frozen=True, slots=True)
class _Heard:
    beat: Beat
    at: float
    mark: str
    """Of its entry in the log: the same for all who have heard it."""


async def _unheeded(_mark: str) -> None:
    pass


class Pulse:
    """Beats, listens and knows the fleet; `run` it as a task of the process, beside the keeper of `contact`."""

    def __init__(
        self,
        backplane: Backplane,
        contact: Contact,
        beat: Callable[[], Beat],
        *,
        lease: float,
        period: float = PERIOD_SECONDS,
        on_come: Callable[[], None] = lambda: None,
        on_gone: Callable[[str], Awaitable[None]] = _unheeded,
        on_heard: Callable[[float], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`beat` says what to tell the fleet; `on_heard` is told how many seconds a beat took to be heard here.

        `on_come` is called when a registry is served that was not; `on_gone` when the last process that served one has
        gone, by that process itself and by all who notice, as a rule with the same mark, and again in the next round if
        it raises `Unavailable`.
        """
        self._backplane = backplane
        self._contact = contact
        self._beat = beat
        self._lease = lease
        self._period = period
        self._on_come = on_come
        self._on_gone = on_gone
        self._on_heard = on_heard
        self._clock = clock
        self._members: dict[str, _Heard] = {}
        self._said_at: float | None = None
        self._saying_at: float | None = None
        """When the last beat was sent, as long as it is not heard."""
        self._heard_at = -math.inf
        self._unheard = 0
        self._leaving = False
        self._at: Position | None = None
        self._known = frozenset({beat().fingerprint})
        self._untold: dict[str, str] = {}
        """The registries that may be served no more, and the mark of what was said last by a process that served it."""

    @property
    def members(self) -> list[Beat]:
        """The last beat of every process that is alive, as far as this one knows; in an outage, as it last knew."""
        return [heard.beat for heard in self._members.values()]

    @property
    def fingerprints(self) -> frozenset[str]:
        """The registries that the living processes serve."""
        return frozenset(heard.beat.fingerprint for heard in self._members.values())

    @property
    def healthy(self) -> bool:
        """False while this process stays deaf, for a lease time after its bells' connection was replaced."""
        return self._unheard * self._period <= DEAF_AFTER * self._period + self._lease

    @property
    def fresh(self) -> bool:
        """Whether the fleet was heard lately: a process that has just woken up must not trust what it remembers."""
        return self._clock() - self._heard_at <= self._period + self._lease / 2

    async def run(self) -> NoReturn:
        """Beat and listen until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.listen())
            while True:
                await self.round()
                await asyncio.sleep(self._period)

    async def listen(self) -> NoReturn:
        """Take note of every ring of the fleet's bell."""
        async with self._backplane.watch(FLEET, poll=_NO_POLL) as bell:
            while True:
                await bell.rung()
                self._heard_at = self._clock()
                if self._saying_at is not None:
                    self._on_heard(self._heard_at - self._saying_at)
                    self._saying_at = None

    async def round(self) -> None:
        """Judge by the last beat whether this process is deaf, beat again, and read what the others said."""
        if self._said_at is not None:
            self._judge(heard=self._heard_at >= self._said_at)
        self._said_at = None  # stays so while the store is away, for away is not deaf
        now = self._clock()
        try:
            await self._say()
            await self._read()
        except Unavailable:
            self._contact.lost()
        else:
            self._said_at = now

    async def leave(self) -> None:
        """Tell the fleet at once that this process goes; if the store is away, silence will tell."""
        self._leaving = True
        with suppress(Unavailable):
            await self._say()
            await self._read()

    async def _say(self) -> None:
        data = pack(msgspec.structs.replace(self._beat(), leaving=self._leaving))
        if self._at is None:
            self._at = await self._open()
        self._saying_at = self._clock()
        try:
            await self._backplane.append(FLEET, data, ttl=_TTL, keep=_KEEP)
        except LogGone:
            self._at = await self._open()
            await self._backplane.append(FLEET, data, ttl=_TTL, keep=_KEEP)

    async def _open(self) -> Position:
        # Where the log was, history may have been lost, and leases with it.
        self._contact.lost()
        return await self._backplane.open(FLEET, ttl=_TTL)

    async def _read(self) -> None:
        """Take note of everybody's beats; who was silent for long is gone, unless nobody could be heard."""
        heard: set[str] = set()
        try:
            while self._at is not None and (entries := await self._backplane.read(FLEET, after=self._at)):
                self._at = entries[-1].position
                for entry in entries:
                    heard |= self._note(entry)
        except LogGap:
            self._at = await self._open()
        if self._contact.unbroken_for(self._lease):
            silent_since = self._clock() - self._period - self._lease
            for name in [name for name, each in self._members.items() if each.at <= silent_since]:
                silent = self._members.pop(name)
                self._untold[silent.beat.fingerprint] = silent.mark
        before, self._known = self._known, self.fingerprints
        if (heard | self._known) - before:  # it may have come and gone since the last round
            self._on_come()
        await self._tell_of_the_gone()

    async def _tell_of_the_gone(self) -> None:
        while self._untold:
            fingerprint, mark = next(iter(self._untold.items()))
            if fingerprint not in self._known:
                await self._on_gone(mark)
            self._untold.pop(fingerprint, None)

    def _note(self, entry: Entry) -> set[str]:
        """Take note of one beat, and return its fingerprint, if it can be read."""
        try:
            beat = unpack(Beat, entry.data)
        except UnknownFormat:
            return set()  # of a newer version; its process will be counted by those who can read it
        mark = entry.position.mark
        was = self._members.pop(beat.process, None)
        if was is not None:
            self._untold[was.beat.fingerprint] = mark
        if beat.leaving:
            self._untold[beat.fingerprint] = mark
        else:
            self._members[beat.process] = _Heard(beat, self._clock(), mark)
        return {beat.fingerprint}

    def _judge(self, *, heard: bool) -> None:
        self._unheard = 0 if heard else self._unheard + 1
        if self._unheard >= DEAF_AFTER and isinstance(self._backplane, Reconnectable):
            self._backplane.reconnect()
