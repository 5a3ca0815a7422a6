"""Changes of a session's record, told to whoever holds the session's streams: record, announcement, answer.

The announcement goes into the log of what they tell, as in `subscriptions`, and only says "read again".
"""

from collections.abc import Callable
from typing import Final

from mcpfleet.server.events import Change, Events
from mcpfleet.server.sessions import Record, Session, Sessions

RECORD: Final = "record"
"""The kind of event that says that a session's record is another one; the key is the session's id."""


class Records:
    """Reads and changes the records of sessions."""

    def __init__(self, sessions: Sessions, events: Events) -> None:
        self._sessions = sessions
        self._events = events

    async def of(self, session: Session) -> Record:
        """The session's record now; the last one that was seen if it has ended. Raises `Unavailable`."""
        return await self._sessions.record(session.id) or session.record

    async def change(self, session: Session, change: Callable[[Record], Record]) -> bool:
        """Change the record for every process; False if the session has ended. Raises `Unavailable`."""
        changed = await self._sessions.update(session, change)
        if changed:
            await self._events.publish(Change(RECORD, session.id))
        return changed
