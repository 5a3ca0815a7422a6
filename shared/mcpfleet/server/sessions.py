"""Legacy sessions: one cell and one log each, in the store that all processes share (transports, "Session Management").

The cell is the truth: who owns the session and what was agreed. The log carries what must reach whoever holds the
session's streams or runs its calls. Only `initialize` opens the log; whoever finds it gone knows that the session is.
"""

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import Backplane, Position
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.limits import Seats
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import InDoubt, LogGone, TooLarge, Unavailable
from mcpfleet.protocol.jsontext import dumps
from mcpfleet.protocol.revisions import Revision, find
from mcpfleet.server.events import EVENTS
from mcpfleet.server.process import Process

SEATS: Final = "sessions/live"
UNCONFIRMED_SECONDS: Final = 120.0
"""How long a session lives that never sent anything after `initialize`: a flood of those drains by itself."""
UPDATE_TRIES: Final = 16
MAX_CLIENT_BYTES: Final = 64 * 1024
"""How much is kept of what a client says of itself: every request of the session reads it."""

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
    pair: bool = False
    """Whether it is of the oldest transport, where one stream carries everything."""
    created: float = 0.0
    """When it was begun, in seconds of some process's wall clock; 0.0 if that was not noted."""
    seen: float = 0.0
    """When its seat was last renewed, in seconds of some process's wall clock: a hint that saves writes."""
    origin: str | None = None
    """The origin of the web page that opened it, if it was one."""

    def admits(self, origin: str | None) -> bool:
        """Whether a page of this origin may use the session: that of another page it may not; None: no page asks."""
        return self.origin is None or origin is None or origin.lower() == self.origin.lower()

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
        self._vitals = process.vitals
        cap = process.policy.max_sessions
        self._seats = None if cap is None else Seats(process.backplane, SEATS, cap=cap)
        self._clock = clock
        self._new_id = new_id

    async def create(
        self,
        owner: tuple[str, str, str],
        revision: Revision,
        client_info: Mapping[str, Any],
        capabilities: Mapping[str, Any],
        *,
        pair: bool = False,
        origin: str | None = None,
    ) -> Session | Full:
        """Admit a new session and write it; when this returns a session, every process serves it.

        `origin` is that of the web page that asks for it.
        `TooLarge` if there is more to be kept of the client than `MAX_CLIENT_BYTES`.
        """
        info, able = described(client_info, capabilities)
        session_id, ttl = self._new_id(), min(UNCONFIRMED_SECONDS, self._idle)
        if self._seats is not None:
            wait = await self._seats.take(session_id, ttl=ttl)
            if wait:
                return Full(wait)
        birth, events = await asyncio.gather(
            settled(lambda: self._backplane.open(log_of(session_id), ttl=ttl)),
            settled(lambda: self._backplane.open(EVENTS, ttl=self._idle * 2)),
        )
        record = Record(
            owner, revision.date, info, able, str(birth), str(events), pair=pair, created=self._clock(), origin=origin
        )
        raw = pack(record)
        await settled(lambda: self._backplane.put(cell_of(session_id), raw, ttl=ttl))
        return Session(session_id, record, raw, birth, revision)

    async def load(self, session_id: str, owner: tuple[str, str, str], origin: str | None = None) -> Session | None:
        """Find the session in one round trip and extend its life; None if it is not there for this owner and page.

        The position is taken with the cell, so what is appended later is seen by whoever follows from it.
        """
        if not _ID.fullmatch(session_id):
            return None
        raw, position = await asyncio.gather(
            self._backplane.get(cell_of(session_id), ttl=self._idle), self.position(session_id)
        )
        if raw is None or position is None:
            return None
        record = unpack(Record, raw)
        revision = find(record.revision)
        if record.owner != owner or not record.admits(origin) or revision is None:
            return None
        session = Session(session_id, record, raw, position, revision)
        if self._clock() - record.seen > self._idle / 10:
            await self._renew(session)
        return session

    async def record(self, session_id: str) -> Record | None:
        """What the session's cell holds now; None if it has ended."""
        raw = await self._backplane.get(cell_of(session_id))
        return None if raw is None else unpack(Record, raw)

    async def update(self, session: Session, change: Callable[[Record], Record]) -> bool:
        """Change the record by compare-and-set; False if the session has ended, `Unavailable` under contention.

        A change that was in doubt, and overtaken by another before that could be found out, is made again.
        """
        raw, backoff = session.raw, Backoff(first=0.002, most=0.2)
        for _ in range(UPDATE_TRIES):
            wanted, in_doubt = pack(change(unpack(Record, raw))), False
            try:
                if await self._backplane.put(cell_of(session.id), wanted, ttl=self._idle, expect=raw):
                    return True
            except InDoubt:
                in_doubt = True
            await asyncio.sleep(backoff.pause())
            found = await self._backplane.get(cell_of(session.id))
            if found is None:
                return False
            if in_doubt and found == wanted:
                return True
            raw = found
        raise Unavailable(f"the session's record changed {UPDATE_TRIES} times meanwhile")

    async def end(self, session: Session) -> bool:
        """End the session on every process; False if it had ended already.

        The cell goes first, since it is the truth; the log's bell then tells whoever follows. Dying in between leaves
        only keys that expire.
        """
        ended = await self._delete(session)
        await asyncio.gather(
            self._backplane.delete(session.log),
            self._backplane.delete(standalone_of(session.id)),
            self._backplane.delete(subscriptions_of(session.id)),
            self._leave(session),
        )
        await self._backplane.settle(session.id)
        if ended and session.record.created:
            self._vitals.session_lasted(max(0.0, self._clock() - session.record.created))
        return ended

    async def touch(self, session: Session) -> bool:
        """Extend the session's life and keep its seat; False if it has ended."""
        raw, position, *_ = await asyncio.gather(
            self._backplane.get(cell_of(session.id), ttl=self._idle),
            self.position(session.id),
            self._keep_seat(session),
            self._keep_subscriptions(session),
        )
        return raw is not None and position is not None

    async def position(self, session_id: str) -> Position | None:
        """Where the session's log ends now, its life extended; None if the session has ended."""
        try:
            return await self._backplane.open(log_of(session_id), ttl=self._idle, create=False)
        except LogGone:
            return None

    async def _delete(self, session: Session) -> bool:
        try:
            return await self._backplane.delete(cell_of(session.id))
        except InDoubt:  # it was there when it was loaded, so whoever deleted it, it is ended by this
            await self._backplane.delete(cell_of(session.id))
            return True

    async def _leave(self, session: Session) -> None:
        if self._seats is not None:
            await self._seats.leave(session.id)

    async def _keep_seat(self, session: Session) -> None:
        """Renew the seat; one that has been lost meanwhile is not worth ending a session for."""
        if self._seats is not None:
            await self._seats.take(session.id, ttl=self._idle * 1.1)
            if await self._backplane.get(cell_of(session.id)) is None:  # `end` may have given up the one before
                await self._leave(session)

    async def _keep_subscriptions(self, session: Session) -> None:
        await self._backplane.get(subscriptions_of(session.id), ttl=self._idle * 1.1)

    async def _renew(self, session: Session) -> None:
        """Renew what lies beside the session and note when; if the store fails now, a later request will see to it."""
        seen = pack(msgspec.structs.replace(session.record, seen=self._clock()))
        with suppress(Unavailable):
            if await self._backplane.put(cell_of(session.id), seen, ttl=self._idle, expect=session.raw):
                await asyncio.gather(self._keep_seat(session), self._keep_subscriptions(session))


def described(client_info: Mapping[str, Any], capabilities: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """What a session keeps of what its client says of itself; `TooLarge` if that is more than `MAX_CLIENT_BYTES`."""
    info, able = dumps(client_info), dumps(capabilities)
    if len(info) + len(able) > MAX_CLIENT_BYTES:
        raise TooLarge(f"clientInfo and capabilities exceed {MAX_CLIENT_BYTES} bytes")
    return info, able


async def clear_if_ended(backplane: Backplane, session_id: str, cell: str) -> None:
    """Delete a cell, just written beside a session's, if the session has ended: `end` may have come too early."""
    if await backplane.get(cell_of(session_id)) is None:
        await backplane.delete(cell)


def cell_of(session_id: str) -> str:
    """The name of the session's cell."""
    return f"{session_id}/session"


def log_of(session_id: str) -> str:
    """The name of the session's log."""
    return f"{session_id}/log"


def standalone_of(session_id: str) -> str:
    """The name of the cell that says that the session has had a standalone stream."""
    return f"{session_id}/stream"


def subscriptions_of(session_id: str) -> str:
    """The name of the cell that says which resources the session watches."""
    return f"{session_id}/subscriptions"
