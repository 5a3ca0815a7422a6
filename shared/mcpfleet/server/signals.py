"""What concerns a session and must reach whichever processes serve it: it goes through the session's log."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

import msgspec

from mcpfleet.backplane.base import Position, mint
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.follow import follow
from mcpfleet.backplane.outage import outlast
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import LogGap, UnknownFormat
from mcpfleet.server.process import Process
from mcpfleet.server.sessions import Session, Sessions

log = logging.getLogger("mcpfleet.signals")


class Cancel(msgspec.Struct, frozen=True, tag="cancel", omit_defaults=True):
    """The client cancels a request; `call` names the very call, if one was registered under the request's id."""

    request: str
    """A digest of the request's id."""
    call: str | None = None
    reason: str | None = None
    """What the client says of why."""


class Resumed(msgspec.Struct, frozen=True, tag="resumed"):
    """A connection took a call's stream up again; an earlier one is over."""

    exchange: str


class HungUp(msgspec.Struct, frozen=True, tag="hung-up"):
    """The connection that delivers a call's stream is over; the client may come back after a while."""

    exchange: str
    retry_ms: int


class Holder(msgspec.Struct, frozen=True, tag="holder"):
    """A connection serves a standalone stream: of the fleet's events, those after offset `events` are its own."""

    stream: str
    """Which standalone stream: a new one, or one that was taken up again."""
    connection: str
    events: int


class Announced(msgspec.Struct, frozen=True, tag="announced"):
    """A call begins whose stream whoever holds the session's connection is to deliver, from `start` on."""

    exchange: str
    start: str
    request: bytes
    """The id of the request as JSON text."""


class Said(msgspec.Struct, frozen=True, tag="said"):
    """A message for the session's connection."""

    body: bytes


Signal = Cancel | Resumed | HungUp | Holder | Announced | Said


class _Entry(msgspec.Struct, frozen=True):
    signal: Signal


def read(data: bytes) -> Signal | None:
    """The signal in an entry; None for what only another version of this program knows, since nobody may stop there."""
    try:
        return unpack(_Entry, data).signal
    except UnknownFormat as unknown:
        log.warning("an entry of a session's log is passed over: %s", unknown)
        return None


class Signals:
    """Sends signals to a session's processes, and hears them."""

    def __init__(self, process: Process, sessions: Sessions) -> None:
        self._backplane = process.backplane
        self._ttl = process.policy.session_idle
        self._keep = process.policy.retention.keep
        self._sessions = sessions

    async def send(self, session: Session, signal: Signal) -> Position:
        """Append the signal, and return where it is; `LogGone` if the session has ended."""
        data, mark = pack(_Entry(signal)), mint()
        return await settled(
            lambda: self._backplane.append(session.log, data, ttl=self._ttl, keep=self._keep, mark=mark)
        )

    async def after(self, session: Session, position: Position) -> AsyncGenerator[Signal, None]:
        """Yield the signals after the position, in order, until the session ends; outages are waited out.

        What has been trimmed is lost. Close it when leaving early.
        """
        here: Position | None = position
        while here is not None:
            try:
                async with aclosing(follow(self._backplane, session.log, here, ttl=self._ttl)) as entries:
                    async for entry in entries:
                        here = entry.position
                        signal = read(entry.data)
                        if signal is not None:
                            yield signal
            except LogGap:  # deleted with its session, or trimmed
                here = await outlast(partial(self._sessions.position, session.id))
