"""What every process must hear: one log of changes, and nothing in it but what changed and whom it concerns."""

import logging
from typing import Final

import msgspec

from mcpfleet.backplane.base import mint
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import LogGone, UnknownFormat
from mcpfleet.server.process import Process
from mcpfleet.server.topics import Topic

EVENTS: Final = "events/all"
VERSION_GONE: Final = "version-gone"
"""The kind of event that says that nobody serves some version's lists any more, which clients may have from it."""

log = logging.getLogger("mcpfleet.events")


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of the events log: this is not what it was. A kind that a process does not know, it passes over."""

    kind: str
    key: str = ""
    owner: tuple[str, str, str] | None = None
    """The only principal whom it concerns; None: everybody."""
    session: str | None = None
    """The only session that it concerns; None: any."""

    @property
    def topic(self) -> Topic:
        """What has changed."""
        return Topic(self.kind, self.key)

    def concerns(self, owner: tuple[str, str, str]) -> bool:
        """Whether streams of this owner may tell of it."""
        return self.owner is None or self.owner == owner


def read(data: bytes) -> Change | None:
    """The change in an entry; None for what only another version of this program knows, since nobody may stop there."""
    try:
        return unpack(Change, data)
    except UnknownFormat as unknown:
        log.warning("an event is passed over: %s", unknown)
        return None


class Events:
    """Publishes changes to the whole fleet."""

    def __init__(self, process: Process) -> None:
        self._backplane = process.backplane
        self._keep = process.policy.retention.keep
        self._ttl = process.policy.session_idle * 2

    async def publish(self, change: Change, mark: str | None = None) -> None:
        """Tell every process; when this returns, each will hear of it or of a gap. Raises `Unavailable`.

        What several processes publish at about the same time with one mark is published once.
        """
        data, mark = pack(change), mark or mint()
        try:
            await settled(lambda: self._append(data, mark))
        except LogGone:
            await settled(lambda: self._backplane.open(EVENTS, ttl=self._ttl))
            await settled(lambda: self._append(data, mark))

    async def _append(self, data: bytes, mark: str) -> None:
        await self._backplane.append(EVENTS, data, ttl=self._ttl, keep=self._keep, mark=mark)
