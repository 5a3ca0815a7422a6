"""Processes that run tasks, whose tools do what the test says."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from mcpfleet import Context, Server, ToolAnnotations
from mcpfleet.server.policy import Policy
from mcpfleet.server.tasks.policy import TaskPolicy
from mcpfleet.server.tasks.record import Record
from mcpfleet.server.tasks.store import Tasks
from tests.server.wire import DEADLINE
from tests.server.world import World

Job = Callable[[Context], Awaitable[Any]]
TWICE = ToolAnnotations(idempotent_hint=True)
LEASE = 0.5


def policy(*, lease: float = LEASE, drain: float = 0.2, hold: float = 10.0, **tasks: Any) -> Policy:
    """Of a worker that takes others for dead soon, and waits little."""
    given = TaskPolicy(**{"worker": True, "backoff": 0.05, "poll": 0.05, **tasks})
    return Policy(spread=0.0, lease=lease, drain=drain, hold=hold, tasks=given)


SERVES = policy(queues=("nothing",))
"""A process that runs no tasks of these tests, and answers their clients."""


class Workshop:
    """Two tools that do what they are told by the name of a job; all servers of a test share them."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.runs: Counter[str] = Counter()
        """How often each job was begun."""
        self.steps: Counter[str] = Counter()
        """How often each step was done."""
        self.notes: list[Any] = []
        self._gates: dict[str, asyncio.Event] = {}
        self._begun: dict[str, asyncio.Event] = {}

    def server(self, **tools: Any) -> Server:
        """A server with these tools: `safe` may run twice, `unsafe` may not; `tools` are further options of both."""
        server = Server("workshop", version="1")

        @server.tool(task="optional", annotations=TWICE, **tools)
        async def safe(job: str, ctx: Context) -> Any:
            return await self._do(job, ctx)

        @server.tool(task="optional", **tools)
        async def unsafe(job: str, ctx: Context) -> Any:
            return await self._do(job, ctx)

        return server

    def job(self, function: Job) -> Job:
        """Let the tools do this for the job of its name."""
        self.jobs[function.__name__] = function
        return function

    async def held(self, name: str) -> None:
        """For jobs: wait until the test opens this gate."""
        self._event(self._begun, name).set()
        await self._event(self._gates, name).wait()

    async def reached(self, name: str) -> None:
        """Return once a job waits at this gate, and forget that it did."""
        async with asyncio.timeout(DEADLINE):
            await self._event(self._begun, name).wait()
        self._begun[name].clear()

    def open(self, name: str) -> None:
        """Let whoever is, or comes to, this gate pass."""
        self._event(self._gates, name).set()

    def done(self, step: str, value: Any = None) -> Any:
        """For jobs: count a step, and return the value."""
        self.steps[step] += 1
        return value

    async def _do(self, job: str, ctx: Context) -> Any:
        self.runs[job] += 1
        if job in self.jobs:
            return await self.jobs[job](ctx)
        await self.held(job)
        return job

    def _event(self, events: dict[str, asyncio.Event], name: str) -> asyncio.Event:
        return events.setdefault(name, asyncio.Event())


async def record(world: World, task_id: str) -> Record:
    """What is stored of a task."""
    return (await Tasks(world.store, TaskPolicy()).find(task_id)).record
