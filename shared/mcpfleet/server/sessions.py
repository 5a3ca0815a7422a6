"""Legacy sessions: one cell and one log each, in the store that all processes share (transports, "Session Management").

The cell is the truth: who owns the session and what was agreed. The log carries what must reach whoever holds the
session's streams or runs its calls. Only `initialize` opens the log; whoever finds it gone knows that the session is.
"""

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from mcpfleet.backplane.base import ABSENT, Position
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import LogGone, Unavailable
from mcpfleet.protocol.jsontext import dumps
from mcpfleet.protocol.revisions import Revision, find
from mcpfleet.server.events import EVENTS
from mcpfleet.server.process import Process

SEATS: Final = "sessions/live"
UNCONFIRMED_SECONDS: Final = 120.0
"""How long a session lives that never sent anything after `initialize`: a flood of those drains by itself."""
UPDATE_TRIES: Final = 16

_ID = re.compile(r"[0-9a-f]{32}")


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a session's cell holds; what the client says of itself as JSON text, which any integer fits into."""

    owner: tuple[str, str, str]
    revision: str
    client_info_json: bytes
    capabilities_json: bytes
    birth: str
    events: str
    log_level: str | None = None
    seen: float = 0.0
    """When its seat was last renewed, in seconds of some process's wall clock: a hint that saves writes."""

    @property
    def client_info(self) -> dict[str, Any]:
        """Who the client says it is."""
        info: dict[str, Any] = msgspec.json.decode(self.client_info_json)
        return info

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the client says it can do."""
        capabilities: dict[str, Any] = msgspec.json.decode(self.capabilities_json)
        return capabilities


@dataclass(frozen=True, slots=True)
class Session:
    """A session as one request found it; `position` is where its log ended at that moment."""

    id: str
    record: Record
    raw: bytes
    position: Position
    revision: Revision

    @property
    def log(self) -> str:
        """The name of the session's log."""
        return log_of(self.id)


@dataclass(frozen=True, slots=True)
class Full:
    """There is no place for another session; one may be free in `retry_after` seconds."""

    retry_after: float


class Sessions:
    """Creates, finds, changes and ends sessions; keeps none in memory."""

    def __init__(
        self,
        process: Process,
        *,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        self._backplane = process.backplane
        self._idle = process.policy.session_idle
        self._cap = process.policy.max_sessions
        self._clock = clock
        self._new_id = new_id

    async def create(
        self,
        owner: tuple[str, str, str],
        revision: Revision,
        client_info: Mapping[str, Any],
        capabilities: Mapping[str, Any],
    ) -> Session | Full:
        """Admit a new session and write it; when this returns a session, every process serves it."""
        session_id, ttl = self._new_id(), min(UNCONFIRMED_SECONDS, self._idle)
        if self._cap is not None:
            wait = await self._backplane.admit(SEATS, session_id, ttl=ttl, cap=self._cap)
            if wait:
                return Full(wait)
        birth, events = await asyncio.gather(
            self._backplane.open(log_of(session_id), ttl=ttl),
            self._backplane.open(EVENTS, ttl=self._idle * 2),
        )
        record = Record(owner, revision.date, dumps(client_info), dumps(capabilities), str(birth), str(events))
        raw = pack(record)
        await self._backplane.put(cell_of(session_id), raw, ttl=ttl, expect=ABSENT)
        return Session(session_id, record, raw, birth, revision)

    async def load(self, session_id: str, owner: tuple[str, str, str]) -> Session | None:
        """Find the session in one round trip and extend its life; None if it is not there for this owner.

        The position is taken with the cell, so what is appended later is seen by whoever follows from it.
        """
        if not _ID.fullmatch(session_id):
            return None
        raw, position = await asyncio.gather(
            self._backplane.get(cell_of(session_id), ttl=self._idle), self._end_of(session_id)
        )
        if raw is None or position is None:
            return None
        record = unpack(Record, raw)
        revision = find(record.revision)
        if record.owner != owner or revision is None:
            return None
        session = Session(session_id, record, raw, position, revision)
        if self._clock() - record.seen > self._idle / 10:
            await self._renew(session)
        return session

    async def update(self, session: Session, change: Callable[[Record], Record]) -> bool:
        """Change the record by compare-and-set; False if the session has ended, `Unavailable` under contention."""
        raw = session.raw
        for _ in range(UPDATE_TRIES):
            wanted = pack(change(unpack(Record, raw)))
            if await self._backplane.put(cell_of(session.id), wanted, ttl=self._idle, expect=raw):
                return True
            found = await self._backplane.get(cell_of(session.id))
            if found is None:
                return False
            if found == wanted:
                return True
            raw = found
        raise Unavailable(f"the session's record changed {UPDATE_TRIES} times meanwhile")

    async def end(self, session: Session) -> bool:
        """End the session on every process; False if it had ended already.

        The cell goes first, since it is the truth; the log's bell then tells whoever follows. Dying in between leaves
        only keys that expire.
        """
        ended = await self._backplane.delete(cell_of(session.id))
        await asyncio.gather(
            self._backplane.delete(session.log), self._backplane.delete(standalone_of(session.id)), self._leave(session)
        )
        await self._backplane.settle(session.id)
        return ended

    async def touch(self, session: Session) -> bool:
        """Extend the session's life; False if it has ended."""
        raw, position = await asyncio.gather(
            self._backplane.get(cell_of(session.id), ttl=self._idle), self._end_of(session.id)
        )
        return raw is not None and position is not None

    async def _end_of(self, session_id: str) -> Position | None:
        try:
            return await self._backplane.open(log_of(session_id), ttl=self._idle, create=False)
        except LogGone:
            return None

    async def _leave(self, session: Session) -> None:
        if self._cap is not None:
            await self._backplane.admit(SEATS, session.id, ttl=0, cap=self._cap)

    async def _renew(self, session: Session) -> None:
        seen = pack(msgspec.structs.replace(session.record, seen=self._clock()))
        writes: list[Coroutine[Any, Any, object]] = [
            self._backplane.put(cell_of(session.id), seen, ttl=self._idle, expect=session.raw)
        ]
        if self._cap is not None:
            writes.append(self._backplane.admit(SEATS, session.id, ttl=self._idle * 1.1, cap=self._cap))
        await asyncio.gather(*writes)


def cell_of(session_id: str) -> str:
    """The name of the session's cell."""
    return f"{session_id}/session"


def log_of(session_id: str) -> str:
    """The name of the session's log."""
    return f"{session_id}/log"


def standalone_of(session_id: str) -> str:
    """The name of the cell that says that the session has had a standalone stream."""
    return f"{session_id}/stream"
