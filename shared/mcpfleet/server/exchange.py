"""One call and where its stream is kept: a record, a lease and a log, all in the session's scope.

The record outlives the lease, because it names the request that somebody else must answer once its runner is dead.
"""

import secrets
from dataclasses import dataclass

import msgspec

from mcpfleet.backplane.base import Backplane, Position
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.protocol.jsonrpc import RequestId
from mcpfleet.protocol.jsontext import dumps, loads


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of a stream is kept for those who come back: seconds after its last sign of life, newest entries."""

    ttl: float = 3600.0
    keep: int = 10_000


@dataclass(frozen=True, slots=True)
class Record:
    """What must be known of a call to answer it in its runner's place."""

    request_id: RequestId
    method: str

    def packed(self) -> bytes:
        """The record as stored."""
        return pack(_Stored(dumps(self.request_id), self.method))


class _Stored(msgspec.Struct, frozen=True):
    """A record with its id as JSON text, since MessagePack has no integer beyond 64 bits."""

    request_id: bytes
    method: str


class Piece(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of a call's log: a message, and with `last` the end; the end may have no message."""

    body: bytes | None
    last: bool = False


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message for the client, where it stands, and whether the call has ended with it."""

    position: Position
    body: bytes | None
    last: bool


@dataclass(frozen=True, slots=True)
class Exchange:
    """The names of one call's stream; calls are told apart by this, never by their JSON-RPC ids."""

    session: str
    id: str

    @classmethod
    def new(cls, session: str) -> "Exchange":
        """A new call of the session."""
        return cls(session, secrets.token_hex(8))

    @property
    def record(self) -> str:
        """The cell that says what was asked."""
        return f"{self.session}/x/{self.id}/record"

    @property
    def alive(self) -> str:
        """The lease of the process that runs it."""
        return f"{self.session}/x/{self.id}/alive"

    @property
    def log(self) -> str:
        """The log of its messages, up to the last."""
        return f"{self.session}/x/{self.id}/log"

    def question(self, name: str) -> str:
        """The log that takes the answer to one question that the call asks its client."""
        return f"{self.session}/x/{self.id}/q/{name}"


async def find(backplane: Backplane, exchange: Exchange) -> Record | None:
    """The record of a call that has, or lately had, a stream; None: there is no such call."""
    data = await backplane.get(exchange.record)
    if data is None:
        return None
    stored = unpack(_Stored, data)
    return Record(loads(stored.request_id), stored.method)


async def discard(backplane: Backplane, exchange: Exchange) -> None:
    """Remove an ended call's log and record; whoever still reads gets `LogGap`."""
    await backplane.delete(exchange.log)
    await backplane.delete(exchange.record)
