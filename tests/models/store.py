"""The store of a small fleet: real, in memory, and with commands that wait until the search lets them act."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from mcpfleet.backplane.base import Backplane, Bell, Entry
from mcpfleet.backplane.faults import Died, Fate
from mcpfleet.backplane.intercepted import Intercepted, Verb
from mcpfleet.backplane.memory import Contents, MemoryBackplane, MemoryStore
from mcpfleet.errors import BackplaneError, InDoubt, Unavailable
from tests.models.bells import HeldBells
from tests.models.loop import Loop, at_once
from tests.models.process import CURRENT, Process

_Result = TypeVar("_Result")

PRIVATE: Final = "keepers/"
"""Cells that only one process ever looks at: when it does is nobody's concern."""

_WRITES: Final = frozenset({"put", "delete", "admit", "open", "append", "commit", "take"})
_NOBODY: Final = 255


@dataclass(eq=False, slots=True)
class Command:
    """A verb that waits for its turn."""

    process: Process
    number: int
    verb: Verb
    name: str
    act: Callable[[], Awaitable[Any]]
    reply: asyncio.Future[Any]

    @property
    def label(self) -> str:
        return f"{self.process.name}: {self.verb} {self.name} ({self.number})"

    @property
    def writes(self) -> bool:
        return self.verb in _WRITES


class Store:
    """One store, what waits for it, and what can become of it."""

    def __init__(self, loop: Loop) -> None:
        self.bells = HeldBells(loop)
        self.away = False
        self.history_was_lost = False
        self.commands: list[Command] = []
        self.late: list[Command] = []
        self.replica: Contents | None = None
        self._loop = loop
        self._memory = MemoryStore(clock=loop.time)
        self._memory.bells = self.bells  # type: ignore[assignment]  # as much of them as a store and its views use
        self._closed = False
        self._acting: Command | None = None
        self._nobody = Process("", _NOBODY)

    def view(self, process: Process) -> Backplane:
        """The store as this process sees it."""
        return Intercepted(MemoryBackplane(self._memory), _Held(self, process))

    def entries(self, log: str) -> list[Entry] | None:
        """What is in a log now; None if there is none."""
        found = self._memory.log(log)
        return None if found is None else list(found.entries.values())

    async def ask(self, process: Process, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]]) -> _Result:
        """Used by the views: wait until the verb has acted, or not, and return what its caller shall see."""
        if self._closed:
            raise Died
        process.asked += 1
        reply: asyncio.Future[_Result] = self._loop.create_future()
        command = Command(process, process.asked, verb, name, act, reply)
        self.commands.append(command)
        try:
            return await reply
        except asyncio.CancelledError:
            if command in self.commands:
                self.commands.remove(command)
                if command.writes:  # it may have been under way
                    self.late.append(command)
            raise

    def act(self, command: Command, fate: Fate = Fate.DONE) -> None:
        """Let a command have its fate."""
        self.commands.remove(command)
        if self.away or fate is Fate.UNSENT:
            return self._tell(command, Unavailable("the store is away"))
        if fate is Fate.LATE:
            self.late.append(command)
        said = self._done(command) if fate in (Fate.DONE, Fate.UNANSWERED) else None
        self._tell(command, said if fate is Fate.DONE else InDoubt(fate.name))
        return None

    def act_on_one_alone(self) -> bool:
        """Let a command act that is private, or fails; False if there is none."""
        for command in self.commands:
            if command.process.moves and (self.away or command.name.startswith(PRIVATE)):
                self.act(command)
                return True
        return False

    def land(self, command: Command) -> None:
        """Let a late command act; nobody hears of it."""
        self.late.remove(command)
        self._done(command)

    def fall_behind(self) -> None:
        """From now on the replica gets nothing any more."""
        self.replica = self._memory.snapshot()

    def fail_over(self) -> None:
        """The replica takes the store's place."""
        assert self.replica is not None
        self._lose(self.replica)
        self.replica = None

    def empty(self) -> None:
        """Begin again with nothing."""
        self._lose(Contents())

    def close(self) -> None:
        """Do nothing any more."""
        self._closed = True

    def token(self, size: int) -> str:
        """In the place of `secrets.token_hex`: what is the same in every run."""
        if self._acting is not None:  # a birth mark, which its process did not make
            return f"{self._acting.process.number:02x}ff{self._acting.number:0{2 * size - 4}x}"
        process = CURRENT.get(self._nobody)
        process.minted += 1
        return f"{process.number:02x}00{process.minted:0{2 * size - 4}x}"

    def key(self) -> Hashable:
        """The whole state of the store."""
        return (
            self.away,
            self.history_was_lost,
            tuple(sorted(each.label for each in self.late)),
            self.bells.key(),
            _canonical(self._memory.snapshot(), self._loop.now),
            self.replica and _canonical(self.replica, self._loop.now),
        )

    def _done(self, command: Command) -> Any:
        self._acting = command
        try:
            return at_once(command.act())
        except BackplaneError as error:
            return error
        finally:
            self._acting = None

    def _tell(self, command: Command, said: Any) -> None:
        command.process.hears(command.label, self._loop.now, said)
        if isinstance(said, BackplaneError):
            command.reply.set_exception(said)
        else:
            command.reply.set_result(said)

    def _lose(self, contents: Contents) -> None:
        self.history_was_lost = True
        self._memory.restore(contents)


class _Held:
    """The interceptor of one process: every verb waits for the search."""

    def __init__(self, store: Store, process: Process) -> None:
        self._store = store
        self._process = process

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        return await self._store.ask(self._process, verb, name, act)

    def bell(self, inner: Bell, /) -> Bell:
        return inner


def _canonical(contents: Contents, now: float) -> Hashable:
    """What is alive of a store's contents, in one order."""
    cells = sorted((name, each.value, each.deadline) for name, each in contents.cells.items() if each.deadline > now)
    logs = sorted(
        (name, str(each.start), str(each.end), each.deadline, tuple(each.entries.items()))
        for name, each in contents.logs.items()
        if each.deadline > now
    )
    pools = sorted((name, *sorted(each.members.items())) for name, each in contents.pools.items())
    agendas = sorted(
        (name, each.deadline, *sorted(each.members.items()))
        for name, each in contents.agendas.items()
        if each.members and each.deadline > now
    )
    return tuple(cells), tuple(logs), tuple(pools), tuple(agendas)
