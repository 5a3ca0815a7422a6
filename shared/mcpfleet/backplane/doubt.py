"""How a command whose fate is unknown becomes one whose verdict is known: it is sent again, if that is harmless."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mcpfleet.errors import InDoubt

TRIES: Final = 2

Verdict = TypeVar("Verdict")


async def settled(command: Callable[[], Awaitable[Verdict]]) -> Verdict:
    """The verdict of a command that may be sent twice; sent once more if in doubt, then `InDoubt` is the caller's."""
    for _ in range(TRIES - 1):
        try:
            return await command()
        except InDoubt:
            continue
    return await command()
