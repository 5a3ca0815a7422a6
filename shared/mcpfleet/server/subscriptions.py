"""Which resources a legacy session watches: a cell beside the session, which every process reads.

A change of the cell is announced in the very log that carries the updates which it filters: cell, announcement, answer,
in this order. So whoever holds the session's stream has read the cell again before it reads an update that was
published after the answer, and since the announcement only says "read again", the cell alone decides.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import ABSENT, CellExpectation
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import InDoubt, TooLarge, Unavailable
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.messages.subscriptions import MAX_WATCHED
from mcpfleet.protocol.revisions import find
from mcpfleet.server import loglevels, topics
from mcpfleet.server.events import Change, Events
from mcpfleet.server.process import Process
from mcpfleet.server.records import RECORD, Records
from mcpfleet.server.sessions import UPDATE_TRIES, Session, clear_if_ended, subscriptions_of
from mcpfleet.server.topics import RESOURCE, Topic

SUBSCRIPTIONS: Final = "subscriptions"
"""The kind of event that says that a session watches something else; the key is the session's id."""


class Watched(msgspec.Struct, frozen=True):
    """What the cell holds: the URIs of resources, in the order in which they were subscribed to."""

    uris: tuple[str, ...] = ()


class Subscriptions:
    """Reads and changes what sessions watch."""

    def __init__(self, process: Process, events: Events) -> None:
        self._backplane = process.backplane
        self._ttl = process.policy.session_idle * 1.1  # a use of the session renews it, at most a tenth later
        self._events = events

    async def of(self, session: Session) -> frozenset[str]:
        """The URIs that the session watches now; raises `Unavailable`."""
        found = await self._backplane.get(subscriptions_of(session.id), ttl=self._ttl)
        return frozenset() if found is None else frozenset(unpack(Watched, found).uris)

    async def add(self, session: Session, uri: str) -> None:
        """Watch this URI too: what is published after the return is told. `TooLarge` beyond `MAX_WATCHED`."""

        def with_uri(uris: tuple[str, ...]) -> tuple[str, ...]:
            if uri not in uris and len(uris) >= MAX_WATCHED:
                raise TooLarge(f"a session watches {MAX_WATCHED} resources at most")
            return uris if uri in uris else (*uris, uri)

        await self._change(session, with_uri)

    async def remove(self, session: Session, uri: str) -> None:
        """Watch this URI no more; one that was not watched changes nothing."""
        await self._change(session, lambda uris: tuple(each for each in uris if each != uri))

    async def _change(self, session: Session, change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> None:
        await self._store(session, change)
        await clear_if_ended(self._backplane, session.id, subscriptions_of(session.id))
        await self._events.publish(Change(SUBSCRIPTIONS, session.id))

    async def _store(self, session: Session, change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> None:
        """Change the cell by compare-and-set; `Unavailable` under contention."""
        cell, backoff = subscriptions_of(session.id), Backoff(first=0.002, most=0.2)
        for _ in range(UPDATE_TRIES):
            found = await self._backplane.get(cell, ttl=self._ttl)
            uris = () if found is None else unpack(Watched, found).uris
            wanted = change(uris)
            if wanted == uris:
                return
            expect: CellExpectation = ABSENT if found is None else found
            with suppress(InDoubt):  # what is found next tells
                if await self._backplane.put(cell, pack(Watched(wanted)), ttl=self._ttl, expect=expect):
                    return
            await asyncio.sleep(backoff.pause())
        raise Unavailable(f"what the session watches changed {UPDATE_TRIES} times meanwhile")


class Interest:
    """What one stream of a session tells of: lists, as long as it is open, what the session watches now, and log
    messages as severe as it asks for now."""

    def __init__(
        self, session: Session, lists: frozenset[Topic], subscriptions: Subscriptions, records: Records
    ) -> None:
        self._session = session
        self._lists = lists
        self._subscriptions = subscriptions
        self._records = records
        self._record = session.record
        self._uris: frozenset[str] = frozenset()

    @property
    def topics(self) -> Sequence[Topic]:
        """All of it, in order."""
        return sorted(self._lists | {Topic(RESOURCE, uri) for uri in self._uris})

    async def refresh(self) -> None:
        """Read again what the session asks for; raises `Unavailable`."""
        self._uris, self._record = await asyncio.gather(
            self._subscriptions.of(self._session), self._records.of(self._session)
        )

    def is_changed_by(self, change: Change) -> bool:
        """Whether what the session asks for has changed."""
        return change.kind in (SUBSCRIPTIONS, RECORD) and change.key == self._session.id

    def includes(self, change: Change) -> bool:
        """Whether the stream tells of this change."""
        if not change.concerns(self._session.record.owner) or change.session not in (None, self._session.id):
            return False
        match change.kind:
            case topics.RESOURCE:
                return change.key in self._uris
            case topics.LOGGED:
                return loglevels.wants(self._record.log_level, jsontext.loads(change.key.encode())["level"])
            case topics.COMPLETED:
                agreed = find(self._record.revision)
                return agreed is not None and agreed.elicitation_complete
        return change.topic in self._lists
