"""The ids of server-sent events: which stream, and where in it (transports, "Resumability and Redelivery").

An id is only good in the session that it was issued in: its tag is a keyed digest with the secret session id. So a
foreign or forged id is told from one's own lost position, and costs no look into the store.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from mcpfleet.backplane.base import Position

MAX_LENGTH: Final = 160


@dataclass(frozen=True, slots=True)
class CallPlace:
    """A place in the stream of one call."""

    exchange: str
    position: Position
    last: bool = False
    """Whether the stream ends there."""


@dataclass(frozen=True, slots=True)
class StandalonePlace:
    """A place in the session's standalone stream, which merges two logs: its own and the fleet's events."""

    own: Position
    events: Position


Place = CallPlace | StandalonePlace


def write(session_id: str, place: Place) -> str:
    """The event id of a place."""
    match place:
        case CallPlace(exchange, position, last):
            text = f"{'e' if last else 'c'}.{exchange}.{position}"
        case StandalonePlace(own, events):
            text = f"s.{own}.{events}"
    return f"{text}.{_tag(session_id, text)}"


def read(session_id: str, event_id: str) -> Place | None:
    """The place that `write` made the id of, for this very session; None for anything else."""
    text, _, tag = event_id.rpartition(".") if len(event_id) <= MAX_LENGTH else ("", "", "")
    if not text.isascii() or not hmac.compare_digest(tag.encode(), _tag(session_id, text).encode()):
        return None
    kind, first, second = text.split(".")
    if kind == "s":
        return StandalonePlace(Position.parse(first), Position.parse(second))
    return CallPlace(first, Position.parse(second), last=kind == "e")


def _tag(session_id: str, text: str) -> str:
    return hashlib.blake2b(text.encode(), key=session_id.encode()[:64], digest_size=8).hexdigest()
