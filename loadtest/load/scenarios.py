"""What users do, each over and over until the time is over."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from loadtest.load.server import URI
from loadtest.load.tally import Tally, must
from mcpfleet import Client, ElicitForm, ElicitResult, ElicitUrl, TextContent
from mcpfleet.protocol.messages.tools import CallToolResult
from mcpfleet.protocol.tasks import EXTENSION

Run = Callable[[str, int, float, Tally], Awaitable[None]]
"""Lets so many users be at a URL for so many seconds."""
CALLS_A_SESSION: Final = 10
HEAR_SECONDS: Final = 15.0
"""How long a stream may take to hear of a change before it counts as lost."""
POLL_SECONDS: Final = 0.05

_numbers: Final = itertools.count()


async def modern_calls(url: str, users: int, seconds: float, tally: Tally) -> None:
    """Each call goes to any process, and none knows of the one before."""

    async def user() -> None:
        async with Client(url, mode="modern") as client:
            await _until(seconds, lambda: _add(client, tally))

    await _all(user, users)


async def legacy_sessions(url: str, users: int, seconds: float, tally: Tally) -> None:
    """A handshake, ten calls, an end; and again."""

    async def session() -> None:
        async with Client(url, mode="legacy") as client:
            for _ in range(CALLS_A_SESSION):
                await _add(client, tally)

    async def user() -> None:
        await _until(seconds, session)

    await _all(user, users)


async def listen_streams(url: str, users: int, seconds: float, tally: Tally) -> None:
    """Each user listens; whenever one change was told, every one of them must have heard it before the next."""
    heard: list[asyncio.Queue[None]] = [asyncio.Queue() for _ in range(users)]
    ready = [asyncio.Event() for _ in range(users)]

    async def listen(number: int) -> None:
        client = Client(url, mode="modern")
        client.on_notification("notifications/resources/updated")(lambda _: heard[number].put_nowait(None))
        client.on_notification("notifications/subscriptions/acknowledged")(lambda _: ready[number].set())
        async with client:
            filter_ = {"notifications": {"resourceSubscriptions": [URI]}}
            await client.request("subscriptions/listen", filter_, timeout=seconds + 2 * HEAR_SECONDS)

    async def change(client: Client) -> None:
        with tally.timed():
            await client.call_tool("touch")
            async with asyncio.timeout(HEAR_SECONDS):
                await asyncio.gather(*(each.get() for each in heard))

    async with Client(url, mode="modern") as client:
        listening = [asyncio.ensure_future(listen(number)) for number in range(users)]
        try:
            async with asyncio.timeout(HEAR_SECONDS):
                await asyncio.gather(*(each.wait() for each in ready))
            await _until(seconds, lambda: change(client))
            for number, each in enumerate(listening):
                if each.done():
                    tally.errors.append(f"stream {number} ended: {each.exception()!r}")
        finally:
            for each in listening:
                each.cancel()
            await asyncio.gather(*listening, return_exceptions=True)


async def elicitation(url: str, users: int, seconds: float, tally: Tally) -> None:
    """Each call asks its user, who answers on whichever connection is free, and so to any process."""

    async def user(mode: str) -> None:
        client = Client(url, mode=mode)

        @client.on_elicitation
        async def answer(question: ElicitForm | ElicitUrl) -> ElicitResult:
            return ElicitResult(action="accept", content={"word": f"re {question.message.split()[-1]}"})

        async def call() -> None:
            word = f"w{next(_numbers)}"
            with tally.timed():
                said = _text(await client.call_tool("ask", {"word": word}))
                must(said == f"{word} re {word}?", f"asked {word!r}, and got {said!r}")

        async with client:
            await _until(seconds, call)

    modes = itertools.cycle(("legacy", "modern"))
    await _all(lambda: user(next(modes)), users)


async def tasks(url: str, users: int, seconds: float, tally: Tally) -> None:
    """Each call becomes a task of the worker tier, and is asked for until it has ended."""

    async def user() -> None:
        client = Client(url, mode="modern", capabilities={"extensions": dict(EXTENSION)})

        async def call() -> None:
            word = f"w{next(_numbers)}"
            with tally.timed():
                made = await client.request("tools/call", {"name": "reverse", "arguments": {"word": word}})
                found: Mapping[str, Any] = made
                while found["status"] == "working":
                    await asyncio.sleep(POLL_SECONDS)
                    found = await client.request("tasks/get", {"taskId": made["taskId"]})
                must(found["status"] == "completed", f"a task is {found['status']}")
                must(found["result"]["content"][0]["text"] == word[::-1], "a task has another result")

        async with client:
            await _until(seconds, call)

    await _all(user, users)


SCENARIOS: Final[Mapping[str, Run]] = {
    "modern calls": modern_calls,
    "legacy sessions": legacy_sessions,
    "listen streams": listen_streams,
    "elicitation": elicitation,
    "tasks": tasks,
}


async def _add(client: Client, tally: Tally) -> None:
    a = next(_numbers)
    with tally.timed():
        said = _text(await client.call_tool("add", {"a": a, "b": 1}))
        must(said == str(a + 1), f"{a} + 1 is not {said!r}")


def _text(result: CallToolResult) -> str:
    must(not result.is_error and len(result.content) == 1, f"a tool failed: {result.content!r}"[:200])
    block = result.content[0]
    return block.text if isinstance(block, TextContent) else ""


async def _all(user: Callable[[], Awaitable[None]], users: int) -> None:
    await asyncio.gather(*(user() for _ in range(users)))


async def _until(seconds: float, act: Callable[[], Awaitable[None]]) -> None:
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while loop.time() < ends:
        await act()
