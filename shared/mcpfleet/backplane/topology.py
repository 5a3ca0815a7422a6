"""The map of a Cluster: which master owns which slots, as its nodes tell it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from redis.crc import key_slot

from mcpfleet.backplane.dial import Reply
from mcpfleet.errors import Unavailable

SLOTS: Final = 16384


class Address(NamedTuple):
    """Where a node listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Share(NamedTuple):
    """A range of slots, both ends included, and the master that owns it."""

    first: int
    last: int
    master: Address


def slot_of(scope: str) -> int:
    """The slot of all that is in a scope, which is the hash tag of every key and channel of ours."""
    return int(key_slot(scope.encode()))


def shares(reply: Reply, asked: Address) -> list[Share]:
    """Read the reply to CLUSTER SLOTS; `Unavailable` if it is none.

    A node whose host is not known has that of the asked one. A slot that no master owns is in no share.
    """
    if not isinstance(reply, list):
        raise Unavailable(f"{asked} does not say how its Cluster is shared out: {reply!r:.100}")
    return [_share(row, asked) for row in reply]


def _share(row: Reply, asked: Address) -> Share:
    match row:
        case [int(first), int(last), [None | b"" | b"?", int(port), *_], *_] if 0 <= first <= last < SLOTS:
            return Share(first, last, Address(asked.host, port))
        case [int(first), int(last), [bytes(host), int(port), *_], *_] if 0 <= first <= last < SLOTS:
            return Share(first, last, Address(host.decode(errors="replace"), port))
    raise Unavailable(f"{asked} does not say how its Cluster is shared out: {row!r:.100}")


@dataclass(frozen=True, slots=True)
class Redirection:
    """A node's word that the command did not happen there, and where to send it."""

    slot: int
    target: Address
    once: bool
    """Whether it holds for this command only (ASK), or for the slot from now on (MOVED)."""

    @classmethod
    def parse(cls, code: str, text: str, asked: Address) -> "Redirection | None":
        """Read the text of an error reply, if its code is MOVED or ASK; a host that is not named is the asked one."""
        match text.split():
            case [("MOVED" | "ASK") as kind, slot, target] if kind == code and slot.isdecimal():
                host, _, port = target.rpartition(":")
                if port.isdecimal() and int(slot) < SLOTS:
                    return cls(int(slot), Address(host.strip("[]") or asked.host, int(port)), once=kind == "ASK")
        return None


def owners(found: Sequence[Share]) -> list[Address | None]:
    """The master of each slot."""
    masters: list[Address | None] = [None] * SLOTS
    for share in found:
        masters[share.first : share.last + 1] = [share.master] * (share.last - share.first + 1)
    return masters
