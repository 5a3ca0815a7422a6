"""The server whose tasks a run breaks: tools that note outside of the fleet what they do.

As a program it serves, or works, with one fault planted in it if `CHAOS_PLANT` names one.
"""

import asyncio
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI

from mcpfleet import Context, Server, ToolAnnotations, forms
from mcpfleet_service.app import create_app
from mcpfleet_service.serving import serve
from mcpfleet_service.settings import Settings
from mcpfleet_service.tether import end_with_parent
from mcpfleet_service.working import run as run_worker
from tests.chaos.planted import PLANT
from tests.chaos.principals import authenticate
from tests.chaos.stage import ENDLESS_SECONDS
from tests.chaos.tasks.deeds import BEGUN, DID, ENDED, FILE, STORED, Deed, Writer
from tests.chaos.tasks.planted import plant

TWICE: Final = ToolAnnotations(idempotent_hint=True)
SHORT_SECONDS: Final = 6.0
"""How long tasks live that are there to run out."""
STEPS: Final = ("one", "two", "three")

server = Server("chaos-tasks", version="1.0.0")


class Run:
    """One run of a task, which notes what it does."""

    def __init__(self, tag: str, ctx: Context) -> None:
        self._tag = tag
        self._ctx = ctx
        self._id = f"{os.getpid()}-{os.urandom(8).hex()}"
        self._steps: list[str] = []
        self._answers: list[str] = []

    def note(self, what: str, more: str) -> None:
        """Write it down for good."""
        _writer().note(Deed(self._tag, self._id, what, more))

    async def step(self, name: str) -> None:
        """Do something that need not be done again."""
        value = await self._ctx.step(name, lambda: self._do(name))
        self.note(STORED, f"{name}={value}")
        self._steps.append(value)

    async def ask(self, count: int) -> None:
        """Ask the client so many questions at once."""
        form = forms.form(value=forms.text())
        asked = [self._ctx.elicit(f"{self._tag} {number}", form) for number in range(count)]
        self._answers += [str((answer.content or {}).get("value")) for answer in await asyncio.gather(*asked)]

    def result(self) -> dict[str, Any]:
        """What it has come to."""
        self.note(ENDED, "")
        whose = "" if self._ctx.principal is None else self._ctx.principal.subject
        return {
            "principal": whose,
            "tag": self._tag,
            "value": right_value(self._tag),
            "steps": self._steps,
            "answers": self._answers,
        }

    def _do(self, name: str) -> str:
        value = os.urandom(8).hex()
        self.note(DID, f"{name}={value}")
        return value


def right_value(tag: str) -> str:
    """What every run for a tag has to come to."""
    return tag[::-1]


@cache
def _writer() -> Writer:
    return Writer(Path(os.environ[FILE]))


def begin(tag: str, ctx: Context) -> Run:
    """A run, which is noted to have begun."""
    run = Run(tag, ctx)
    run.note(BEGUN, str(ctx.task_id))
    return run


@server.tool(task="optional", annotations=TWICE)
async def compute(tag: str, seconds: float, ctx: Context) -> dict[str, Any]:
    """Take some time."""
    run = begin(tag, ctx)
    for part in range(1, 5):
        await asyncio.sleep(seconds / 4)
        await ctx.report_progress(part, total=4)
    return run.result()


@server.tool(task="optional", annotations=TWICE)
async def climb(tag: str, seconds: float, ctx: Context) -> dict[str, Any]:
    """Do three things, none of them twice."""
    run = begin(tag, ctx)
    for name in STEPS:
        await run.step(name)
        await asyncio.sleep(seconds / 3)
    return run.result()


@server.tool(task="required", annotations=TWICE)
async def ask_two(tag: str, seconds: float, ctx: Context) -> dict[str, Any]:
    """Do something, ask two questions at once, and do something else."""
    run = begin(tag, ctx)
    await run.step("one")
    await run.ask(2)
    await run.step("two")
    await asyncio.sleep(seconds)
    return run.result()


@server.tool(task="optional")
async def once(tag: str, seconds: float, ctx: Context) -> dict[str, Any]:
    """Take some time, and never twice."""
    run = begin(tag, ctx)
    await asyncio.sleep(seconds)
    return run.result()


@server.tool(task="optional")
async def ask_once(tag: str, seconds: float, ctx: Context) -> dict[str, Any]:
    """Ask a question, and never twice."""
    run = begin(tag, ctx)
    await run.ask(1)
    await asyncio.sleep(seconds)
    return run.result()


@server.tool(task="optional", annotations=TWICE)
async def endless(tag: str, seconds: float, ctx: Context) -> dict[str, Any]:
    """Go on until cancelled."""
    run = begin(tag, ctx)
    await asyncio.sleep(ENDLESS_SECONDS + seconds)
    return run.result()


@server.tool(task="optional", annotations=TWICE, task_ttl=SHORT_SECONDS)
async def late(tag: str, seconds: float, ctx: Context) -> dict[str, Any]:
    """Take more time than there is."""
    run = begin(tag, ctx)
    await asyncio.sleep(ENDLESS_SECONDS + seconds)
    return run.result()


@server.tool(task="optional", annotations=TWICE, task_ttl=SHORT_SECONDS)
async def ask_in_vain(tag: str, seconds: float, ctx: Context) -> dict[str, Any]:
    """Ask somebody who does not answer."""
    run = begin(tag, ctx)
    await run.ask(1)
    await asyncio.sleep(seconds)
    return run.result()


def application() -> FastAPI:
    """The application of one serving process."""
    end_with_parent()
    plant(os.environ.get(PLANT, ""))
    return create_app(server, settings=Settings.from_environment(os.environ), authenticate=authenticate)


def main(work: bool) -> int:
    """Serve, or work."""
    settings = Settings.from_environment(os.environ)
    if not work:
        return serve(settings, factory="tests.chaos.tasks.server:application")
    plant(os.environ.get(PLANT, ""))
    return run_worker(settings)


if __name__ == "__main__":
    sys.exit(main(work=sys.argv[1:] == ["work"]))
