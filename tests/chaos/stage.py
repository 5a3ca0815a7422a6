"""What the clients of one chaos run share."""

import asyncio
import json
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from tests.chaos.ledger import Call, End, Ledger, Response, Silence
from tests.chaos.wire import Cut, Door, Json, Unserved

ACCEPT: Final = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
ENDLESS_SECONDS: Final = 600.0
"""How long calls run that are there to be cancelled."""
ME: Final = {"name": "chaos", "version": "1"}


@dataclass(frozen=True, slots=True)
class Times:
    """How long clients wait, in seconds."""

    patience: float = 8.0
    """For a sign of life on a connection; servers give one every second."""
    deadline: float = 60.0
    """For a call to end, whatever breaks meanwhile."""
    settle: float = 20.0
    """For an event to be told, likewise."""
    pause: float = 0.25
    """Between two calls of one client, at most; and between two attempts."""


@dataclass(slots=True)
class Loot:
    """What an intruder tries to use of another principal."""

    session: str = ""
    event: str = ""
    question: str = ""
    state: str = ""
    tag: str = ""


@dataclass(slots=True)
class Stage:
    """Where the run takes place, and what is known of it."""

    host: str
    port: int
    seed: int
    ledger: Ledger = field(default_factory=Ledger)
    times: Times = field(default_factory=Times)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """No more calls are begun."""
    loot: dict[str, Loot] = field(default_factory=dict)

    @property
    def door(self) -> Door:
        """How requests are sent."""
        return Door(self.host, self.port, self.times.patience, self._silent)

    def now(self) -> float:
        """The time of the ledger."""
        return asyncio.get_running_loop().time()

    def random(self, name: str) -> Random:
        """Chances that only the seed and the name decide."""
        return Random(f"{self.seed}/{name}")

    async def pause(self, random: Random) -> None:
        """Let others have their turn."""
        await asyncio.sleep(random.uniform(0, self.times.pause))

    async def ended(self, call: Call, ending: Awaitable[End]) -> None:
        """Enter a call into the ledger, and how it ends."""
        self.ledger.calls.append(call)
        call.end = End.OVERDUE
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.times.deadline):
                    call.end = await ending
        finally:
            call.ended = self.now()

    def _silent(self, began: float) -> None:
        self.ledger.silences.append(Silence(began, self.now()))


def response_of(message: Json) -> Response:
    """The response that a message is."""
    error = message.get("error")
    if error is not None:
        return Response(failure=str((error.get("data") or {}).get("reason") or error["message"]))
    result: dict[str, Any] = message["result"]
    if result.get("isError"):
        return Response(failure=result["content"][0]["text"])
    found: dict[str, str] = json.loads(result["content"][0]["text"]) if "content" in result else {}
    return Response(*(found.get(name, "") for name in ("principal", "tag", "value", "step")))


def ending_of(cut: Cut) -> End:
    """How a call has ended that was cut off with nothing to resume from."""
    return End.UNSERVED if isinstance(cut, Unserved) else End.CUT
