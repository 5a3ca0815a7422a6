"""One round of a modern request: the handler runs from its beginning, and finds again what it was told before.

A question without an answer ends the round: the handler is cancelled where it waits, and the client is asked for
everything that the handler was waiting for. On the retry the handler runs again. So it does in the task that a call
becomes, for which the round ends too. What it asked before it gets answered
at once, and what it did in a step is not done again. A question is known by what it asks and by how often that was
asked before, not by when: handlers may ask several at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcpfleet.server import tracing
from mcpfleet.server.outlet import Outlet
from mcpfleet.server.recurrence import Recurrence
from mcpfleet.server.tool import Tool

TURNS: Final = 10
"""How many turns of the event loop the handler has, after a question, to ask further ones at the same time."""

Requests = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Memory:
    """What earlier rounds have come to."""

    asked: frozenset[str] = frozenset()
    """Every question so far, by its key."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    steps: Mapping[str, Any] = field(default_factory=dict)
    state: str | None = None
    """The handler's own."""

    def __bool__(self) -> bool:
        return bool(self.asked or self.steps) or self.state is not None


class Round:
    """The outlet of one round: what is said passes through, and questions are answered from what is known."""

    def __init__(
        self,
        outlet: Outlet,
        memory: Memory,
        given: Mapping[str, Any],
        *,
        patience: float,
        may_detach: bool = False,
    ) -> None:
        """`given` are the client's `inputResponses`; an answer counts only for a question that was asked.

        The handler has `patience` seconds to ask again what it asked before, once it asks something new.
        """
        self._outlet = outlet
        self._memory = memory
        self._given = {key: value for key, value in given.items() if key in memory.asked}
        self._patience = patience
        self._may_detach = may_detach
        self._answers = dict(memory.answers)
        self._steps = dict(memory.steps)
        self._recurrence = Recurrence()
        self._task = asyncio.current_task()
        self._timer: asyncio.Handle | None = None
        self._awaited = set(memory.asked)
        self.open: Requests = {}
        """What the handler waits for."""
        self.longest: float = 0.0
        """The longest time, in seconds, that a question gives the client."""
        self.suspended = False
        """Whether the handler was cancelled, because there is something to ask or it goes on as a task."""
        self.detached: Tool | None = None
        """The tool that it goes on as a task of."""
        self.trace = tracing.NO_TRACE
        """Which trace it was a part of when it detached; see `tracing`."""
        self.diverged = False
        """Whether it asked something else than before."""

    @property
    def outcome(self) -> Memory:
        """What the next round has to know."""
        return Memory(self._memory.asked | self.open.keys(), self._given | self._answers, self._steps)

    async def notify(self, method: str, params: Mapping[str, Any], *, newest_of: str | None = None) -> None:
        """Pass it on."""
        await self._outlet.notify(method, params, newest_of=newest_of)

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> Mapping[str, Any]:
        """The answer, if the client has given it; else the round ends here."""
        key = self._recurrence.key("q", {"method": method, "params": params})
        self._awaited.discard(key)
        answer = self._answers.get(key, self._given.get(key))
        if answer is not None:
            self._answers[key] = answer
            found: Mapping[str, Any] = answer
            return found
        self.open[key] = {"method": method, "params": dict(params)}
        self.longest = max(self.longest, timeout or 0.0)
        if self._timer is None and not self.suspended:
            self._watch(TURNS)
        await asyncio.get_running_loop().create_future()
        raise AssertionError("a future that nobody sets was set")

    async def hang_up(self, retry_ms: int) -> None:
        """Pass it on."""
        await self._outlet.hang_up(retry_ms)

    async def detach(self, tool: Tool) -> None:
        """End the round here, if the request may become a task; what is asked already is asked first."""
        if not self._may_detach:
            return
        if not self.open:
            self.detached = tool
            self.trace = tracing.CURRENT.get()
            self._suspend()
        await asyncio.get_running_loop().create_future()

    async def step(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """The value of a step: what it came to in an earlier round, else now."""
        key = self._recurrence.key("s", name)
        if key not in self._steps:
            self._steps[key] = await work()
        return self._steps[key]

    def close(self) -> None:
        """Note that the handler has ended."""
        if self._timer is not None:
            self._timer.cancel()

    def _watch(self, turns: int) -> None:
        """End the round after some turns; but as long as the handler has not come to where it was, give it time."""
        loop = asyncio.get_running_loop()
        if turns > 0:
            self._timer = loop.call_soon(self._watch, turns - 1)
        elif not self._awaited:
            self._suspend()
        elif self._patience > 0:
            pause = min(self._patience, 0.01)
            self._patience -= pause
            self._timer = loop.call_later(pause, self._watch, 0)
        else:
            self.diverged = True
            self._suspend()

    def _suspend(self) -> None:
        if self._task is not None:
            self.suspended = True
            self._task.cancel()
