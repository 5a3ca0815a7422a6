"""Which log messages a client gets: those at least as severe as it asked for, and none before it asked (Logging).

A session's level is in its record. A change is announced in the log that carries messages of no request, as in
`subscriptions`: record, announcement, answer.
"""

from typing import Any, Final

import msgspec

from mcpfleet.protocol.messages.notifications import LOG_LEVELS, LogLevel
from mcpfleet.server.events import Change, Events
from mcpfleet.server.sessions import Record, Session, Sessions

LEVEL: Final = "level"
"""The kind of event that says that a session wants other log messages; the key is the session's id."""


def wants(asked: str | None, level: str) -> bool:
    """Whether a client that asked for this level, or for none, gets a message of that one."""
    return asked is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(asked)


def message(level: LogLevel, data: Any, logger: str | None) -> dict[str, Any]:
    """The parameters of one message; `ValueError` for an unknown level."""
    if level not in LOG_LEVELS:
        raise ValueError(f"unknown log level {level!r}: one of {', '.join(LOG_LEVELS)}")
    return {"level": level, "data": data} if logger is None else {"level": level, "data": data, "logger": logger}


class LogLevels:
    """Reads and changes the levels of sessions."""

    def __init__(self, sessions: Sessions, events: Events) -> None:
        self._sessions = sessions
        self._events = events

    async def of(self, session: Session) -> str | None:
        """The least severe level that the session asks for now; None: none, or it has ended. Raises `Unavailable`."""
        record = await self._sessions.record(session.id)
        return None if record is None else record.log_level

    async def change(self, session: Session, level: str) -> bool:
        """Let the session have messages from this level on, on every process; False if it has ended."""

        def with_level(record: Record) -> Record:
            return msgspec.structs.replace(record, log_level=level)

        changed = await self._sessions.update(session, with_level)
        if changed:
            await self._events.publish(Change(LEVEL, session.id))
        return changed
