"""What may break in a small fleet, and how it comes back."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from mcpfleet.backplane.faults import Fate
from mcpfleet.backplane.leases import LEASE_SECONDS
from tests.models.choice import Choice
from tests.models.loop import Loop
from tests.models.process import Process, Work
from tests.models.store import Store

_FATES: Final = (Fate.UNSENT, Fate.LOST, Fate.UNANSWERED, Fate.LATE)

_Harms: TypeAlias = Iterator[tuple[str, Callable[[], object]]]


class Harm:
    """So much harm may be done, of each kind, at any time.

    `doubt` (a command or its reply is lost, or late), `kill`, `freeze` (for longer than a lease), `cancel`, `deafen`,
    `outage` (until it ends), `wipe`, `failover` (to a replica that had fallen behind).
    """

    def __init__(
        self, loop: Loop, store: Store, processes: Sequence[Process], work: Sequence[Work], faults: Mapping[str, int]
    ) -> None:
        self.somebody_stopped = False
        self._loop = loop
        self._store = store
        self._processes = processes
        self._work = work
        self._left = Counter(faults)

    def choices(self) -> list[Choice]:
        """What may break now, as long as there is any harm left of its kind, and what may be whole again."""
        found = list(self._ends())
        for kind in +self._left:
            harms: Iterable[tuple[str, Callable[[], object]]] = getattr(self, f"_{kind}")()
            found += [Choice(label, partial(self._do, kind, act), False) for label, act in harms]
        return found

    def end(self) -> None:
        """Let no more harm be done, and let everybody go on who can."""
        self._left.clear()
        self._return()
        for process in self._processes:
            self._wake(process)

    def key(self) -> Hashable:
        """All that this knows of the past."""
        return self.somebody_stopped, tuple(sorted((+self._left).items()))

    def _ends(self) -> Iterator[Choice]:
        for command in self._store.late:
            yield Choice(f"late {command.label}", partial(self._store.land, command), False)
        for process in self._processes:
            if process.alive and self._has_slept_enough(process):
                yield Choice(f"{process.name} wakes", partial(self._wake, process), False)
        if self._store.away:
            yield Choice("the store is back", self._return, False)
        if self._store.replica is not None:
            yield Choice("the replica takes over", self._store.fail_over, False)

    def _do(self, kind: str, act: Callable[[], object]) -> None:
        self._left[kind] -= 1
        act()

    def _doubt(self) -> _Harms:
        for each in self._store.commands:
            if each.process.moves:
                for fate in _FATES if each.writes else _FATES[:1]:
                    yield f"{each.label}: {fate.value}", partial(self._store.act, each, fate)

    def _kill(self) -> _Harms:
        for process in self._processes:
            if process.alive and not process.sound:
                yield f"{process.name} dies", partial(self._stop, process, alive=False)

    def _freeze(self) -> _Harms:
        for process in self._processes:
            if process.moves and not process.sound:
                yield f"{process.name} freezes", partial(self._stop, process, asleep_since=self._loop.now)

    def _cancel(self) -> _Harms:
        for number, work in enumerate(self._work):
            if work.process.moves and not work.over:
                yield f"{work.process.name}: work {number} is cancelled", partial(self._give_up, number, work)

    def _deafen(self) -> _Harms:
        for bell in self._store.bells.hanging:
            if bell.waits and bell.news:
                yield f"{bell.process.name} misses the bell of {bell.log}", partial(setattr, bell, "news", False)

    def _outage(self) -> _Harms:
        if not self._store.away:
            yield "the store is away", partial(setattr, self._store, "away", True)

    def _wipe(self) -> _Harms:
        yield "the store is emptied", self._store.empty

    def _failover(self) -> _Harms:
        if self._store.replica is None:
            yield "the replica falls behind", self._store.fall_behind

    def _stop(self, process: Process, **how: object) -> None:
        for name, value in how.items():
            setattr(process, name, value)
        self.somebody_stopped = True

    def _has_slept_enough(self, process: Process) -> bool:
        return process.asleep_since is not None and self._loop.now >= process.asleep_since + LEASE_SECONDS

    def _wake(self, process: Process) -> None:
        process.asleep_since = None
        process.hears("wakes", self._loop.now)

    def _give_up(self, number: int, work: Work) -> None:
        work.process.hears("cancel", number, self._loop.now)
        work.task.cancel()

    def _return(self) -> None:
        self._store.away = False
