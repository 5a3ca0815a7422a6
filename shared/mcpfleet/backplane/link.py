"""The command connection of one process to one server: many callers, one socket, one write per turn of the event loop.

Theory of operation. `submit` packs a command, appends it to what is unsent and returns a future; no task, no lock. One
task writes: it wakes once per turn and sends everything unsent in one write, so that concurrent callers share round
trips without knowing of each other. One task reads: replies come in the order of the commands, and each settles the
oldest unanswered future. A caller that is cancelled leaves its command in the queue, so its reply is read and dropped
and can never reach another. Deadlines are equal, so the oldest command expires first and one timer serves all.

What became of a command is never guessed. Not yet written: it waits for a connection that is about to be back, or is
refused with `Unavailable`, and is never sent later. Written but unanswered when the connection is lost or its deadline
passes: `InDoubt`, and never sent again. A missed deadline also costs the connection, so that a frozen server is asked
once and from then on refuses at once, until a new connection has been answered.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from redis.exceptions import RedisError

from mcpfleet.backplane.dial import REFUSALS, Argument, Connection, Reply, code_and_text, packed, reply_on
from mcpfleet.backplane.reconnect import Lost, Serving
from mcpfleet.errors import BackplaneError, InDoubt, Unavailable

GRACE: Final = 0.1
"""How late a deadline may be noticed before we suspect that it was us who slept, and first read what has come."""

_ASKING: Final = packed(b"ASKING")
_UNFIT: Final = frozenset({"CLUSTERDOWN", "LOADING", "MASTERDOWN", "NOAUTH", "NOREPLICAS", "READONLY", "WRONGPASS"})
_BUSY: Final = frozenset({"BUSY", "MISCONF", "OOM", "TRYAGAIN"})


class Refused(BackplaneError):
    """The server answered with an error that says nothing about its health; `code` is the first word of its `text`."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"Redis refused the command: {text}")
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class _Command:
    packed: bytes
    deadline: float
    reply: asyncio.Future[Reply]
    failures: Counter[str]
    preface: tuple["_Command", ...] = ()
    """What goes before it in the same write."""

    def fail(self, error: BackplaneError) -> None:
        if not self.reply.done():
            self.failures[kind_of(error)] += 1
            self.reply.set_exception(error)


def kind_of(error: BackplaneError) -> str:
    """What kind of failure it is, as it is counted."""
    match error:
        case InDoubt():
            return "in_doubt"
        case Unavailable():
            return "unavailable"
    return "refused"


class Link:
    """An auto-pipelined connection; a `reconnect.Session`.

    `greet` is called with each new connection before the first command. `timeout` is the deadline of every command in
    seconds, `limit` how many may be under way at once. `failures` counts the commands that come to nothing, by kind.
    """

    def __init__(
        self,
        greet: Callable[[Connection], Awaitable[None]],
        *,
        timeout: float,
        limit: int,
        failures: Counter[str] | None = None,
    ) -> None:
        self._greet = greet
        self._failures: Counter[str] = failures if failures is not None else Counter()
        self._timeout = timeout
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._unsent: list[_Command] = []
        self._unanswered: deque[_Command] = deque()
        self._work = asyncio.Event()
        self._serving = Serving()
        self._timer: asyncio.TimerHandle | None = None
        self._connected = False
        self._away: str | None = None
        self.tried = asyncio.Event()
        """Set once the first attempt to connect has succeeded or failed."""
        self.commands = 0
        """How many commands were sent."""
        self.writes = 0
        """How many writes they took: round trips."""
        self.connections = 0
        """How many connections were made; one less is the number of reconnects."""

    @property
    def connected(self) -> bool:
        """Whether commands are being sent now."""
        return self._connected

    @property
    def idle(self) -> bool:
        """Whether no command is under way."""
        return not self._unsent and not self._unanswered

    def submit(self, *arguments: Argument, asking: bool = False) -> asyncio.Future[Reply]:
        """Send a command with this turn's others; the future holds its reply, `Unavailable`, `InDoubt` or `Refused`.

        Raises `Unavailable` at once while there is no connection, and when too many commands are under way. `asking`
        makes the node of a Cluster serve a slot that is still on its way to it.
        """
        if self._away is not None:
            self._failures["unavailable"] += 1
            raise Unavailable(self._away)
        if len(self._unsent) + len(self._unanswered) >= self._limit:
            self._failures["unavailable"] += 1
            raise Unavailable(f"{self._limit} commands are under way already")
        deadline, reply = self._loop.time() + self._timeout, self._loop.create_future()
        command = _Command(
            packed(*arguments), deadline, reply, self._failures, (self._asking(deadline),) if asking else ()
        )
        self._unsent.append(command)
        self._work.set()
        if self._timer is None:
            self._set_timer(command.deadline)
        return command.reply

    def drop(self, reason: str) -> None:
        """Give up the present connection, if there is one; another takes its place."""
        self._serving.give_up(reason)

    async def greet(self, connection: Connection) -> None:
        """Say what must be said before the first command."""
        await self._greet(connection)

    async def serve(self, connection: Connection) -> NoReturn:
        """Send and receive on a connection until it is lost."""
        self._connected, self._away = True, None
        self.connections += 1
        self.tried.set()
        await self._serving.run(self._write(connection), self._read(connection))

    def lost(self, reason: str, *, away: bool) -> None:
        """Settle what the lost connection left unanswered; while `away`, refuse what is unsent and what is new."""
        self._connected = False
        unanswered, self._unanswered = self._unanswered, deque()
        for command in unanswered:
            command.fail(InDoubt(f"the connection was lost before the reply: {reason}"))
        if away:
            self._go_away(reason)
        self.tried.set()

    def _go_away(self, reason: str) -> None:
        self._away = reason
        unsent, self._unsent = self._unsent, []
        for command in unsent:
            command.fail(Unavailable(reason))

    async def _write(self, connection: Connection) -> NoReturn:
        while True:
            await self._work.wait()
            self._work.clear()
            alive = (command for command in self._unsent if not command.reply.done())
            batch = [each for command in alive for each in (*command.preface, command)]
            self._unsent = []
            if batch:
                self._unanswered.extend(batch)
                self.commands += len(batch)
                self.writes += 1
                await connection.send_packed_command([command.packed for command in batch], check_health=False)

    async def _read(self, connection: Connection) -> NoReturn:
        while True:
            reply: Reply | RedisError
            try:
                reply = await reply_on(connection)
            except REFUSALS as refusal:
                reply = refusal
            if not self._unanswered:
                raise Lost(f"a reply to no command: {reply!r:.100}")
            command = self._unanswered.popleft()
            if isinstance(reply, RedisError):
                self._refuse(command, reply)
            elif not command.reply.done():
                command.reply.set_result(reply)

    def _refuse(self, command: _Command, refusal: RedisError) -> None:
        code, text = code_and_text(refusal)
        if code in _UNFIT:
            command.fail(Unavailable(f"this Redis cannot serve: {text}"))
            raise Lost(text)
        command.fail(Unavailable(f"Redis cannot do it now: {text}") if code in _BUSY else Refused(code, text))

    def _asking(self, deadline: float) -> _Command:
        """The preface of a command that is asking; nobody waits for its reply."""
        nobody: asyncio.Future[Reply] = self._loop.create_future()
        nobody.cancel()
        return _Command(_ASKING, deadline, nobody, self._failures)

    def _set_timer(self, deadline: float) -> None:
        self._timer = self._loop.call_at(deadline, self._expire, deadline)

    def _expire(self, noticed: float) -> None:
        """Fail what is overdue, and set the timer for what is the oldest then."""
        self._timer = None
        now = self._loop.time()
        if now - noticed > GRACE:
            self._set_timer(now + GRACE)
            return
        overdue = [command for command in self._unanswered if command.deadline <= now]
        for command in overdue:
            command.fail(InDoubt(f"no reply within {self._timeout} s"))
        if overdue:
            self.drop(f"no reply within {self._timeout} s")
        if self._unsent and self._unsent[0].deadline <= now:
            self._expire_unsent(now)
        waiting = (self._unsent,) if overdue else (self._unanswered, self._unsent)  # `lost` settles the overdue
        oldest = [queue[0].deadline for queue in waiting if queue]
        if oldest:
            self._set_timer(min(oldest))

    def _expire_unsent(self, now: float) -> None:
        reason = f"not sent within {self._timeout} s"
        if not self._connected:
            self._go_away(reason)
            return
        for command in self._unsent:
            if command.deadline <= now:
                command.fail(Unavailable(reason))
        self._unsent = [command for command in self._unsent if not command.reply.done()]
