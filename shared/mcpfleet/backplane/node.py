"""One server, and the connections of this process to it: one for commands, one for bells."""

from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.dial import Connection, Dialer
from mcpfleet.backplane.greeting import Greeting
from mcpfleet.backplane.link import Link
from mcpfleet.backplane.reconnect import Session, stay_connected
from mcpfleet.backplane.switchboard import Switchboard


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How long things may take, in seconds, and how many commands may be under way to one server at once."""

    command: float
    connect: float
    settle: float
    commands: int
    backoff: Callable[[], Backoff]
    failures: Counter[str] = field(default_factory=Counter)
    """How many commands came to nothing, by kind, to all servers together."""


class Node:
    """A server; its clients are called by the name and what they are for."""

    def __init__(self, dialer: Dialer, name: str, greeting: Greeting, switchboard: Switchboard, terms: Terms) -> None:
        self.greeting = greeting
        self.link = Link(greeting, timeout=terms.command, limit=terms.commands, failures=terms.failures)
        self.switchboard = switchboard
        self._terms = terms
        self._dials = {
            purpose: dialer(timeout=terms.connect, name=f"{name}:{purpose}") for purpose in ("commands", "bells")
        }

    def endless(self, lost: Callable[[], None] | None = None) -> Sequence[Coroutine[None, None, NoReturn]]:
        """What must run for the connections to be kept; `lost` is called whenever one is lost or fails."""
        sessions: dict[str, Session] = {"commands": self.link, "bells": self.switchboard}
        return [
            stay_connected(
                dial,
                sessions[purpose] if lost is None else _Reporting(sessions[purpose], lost),
                self._terms.backoff(),
                timeout=self._terms.connect,
                purpose=purpose,
            )
            for purpose, dial in self._dials.items()
        ]

    def close(self, reason: str) -> None:
        """Refuse whatever is still to be sent; the endless have ended."""
        self.link.lost(reason, away=True)


class _Reporting:
    """A session that tells somebody else of each loss."""

    def __init__(self, session: Session, told: Callable[[], None]) -> None:
        self._session = session
        self._told = told

    async def greet(self, connection: Connection) -> None:
        await self._session.greet(connection)

    async def serve(self, connection: Connection) -> NoReturn:
        await self._session.serve(connection)

    def lost(self, reason: str, *, away: bool) -> None:
        self._session.lost(reason, away=away)
        self._told()
