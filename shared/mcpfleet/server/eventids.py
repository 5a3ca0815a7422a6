"""The ids of server-sent events: which stream, and where in it (transports, "Resumability and Redelivery").

An id is only good in the session that it was issued in: its tag is a keyed digest with the secret session id. So a
foreign or forged id is told from one's own lost position, and costs no look into the store. A place in a call's stream
carries the id of the call's request too, so that a stream of which nothing is left can still end with its error.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from mcpfleet.backplane.base import Position
from mcpfleet.protocol.jsonrpc import RequestId
from mcpfleet.protocol.jsontext import dumps, loads

MAX_LENGTH: Final = 320
MAX_REQUEST_ID: Final = 128
"""How many bytes of JSON an event id has room for; of a request with a longer id only the store knows."""


@dataclass(frozen=True, slots=True)
class CallPlace:
    """A place in the stream of one call."""

    exchange: str
    position: Position
    request: RequestId | None
    """The id of the request, if the event id had room for it."""
    last: bool = False
    """Whether the stream ends there."""


@dataclass(frozen=True, slots=True)
class StandalonePlace:
    """A place in a standalone stream, which merges two logs: the session's own and the fleet's events.

    Several messages may be told at one position, when everything counts as changed; so each has a number too.
    """

    stream: str
    own: Position
    events: Position
    number: int = 0
    """How many events of the stream had an id before."""
    owing: bool = False
    """Whether more counts as changed there than was told yet."""


Place = CallPlace | StandalonePlace


def write(session_id: str, place: Place) -> str:
    """The event id of a place."""
    match place:
        case CallPlace(exchange, position, request, last):
            text = f"{'e' if last else 'c'}.{exchange}.{position}.{_packed(request)}"
        case StandalonePlace(stream, own, events, number, owing):
            text = f"{'o' if owing else 's'}.{stream}.{own}.{events}.{number}"
    return f"{text}.{_tag(session_id, text)}"


def read(session_id: str, event_id: str) -> Place | None:
    """The place that `write` made the id of, for this very session; None for anything else."""
    if len(event_id) > MAX_LENGTH or not event_id.isascii():
        return None
    text, _, tag = event_id.rpartition(".")
    if not hmac.compare_digest(tag, _tag(session_id, text)):
        return None
    kind, stream, first, second, *number = text.split(".")
    if number:
        at = Position.parse(first), Position.parse(second)
        return StandalonePlace(stream, *at, int(number[0]), owing=kind == "o")
    return CallPlace(stream, Position.parse(first), _unpacked(second), last=kind == "e")


def _packed(request: RequestId | None) -> str:
    text = b"" if request is None else dumps(request)
    return base64.urlsafe_b64encode(text if len(text) <= MAX_REQUEST_ID else b"").decode()


def _unpacked(text: str) -> RequestId | None:
    if not text:
        return None
    request: RequestId = loads(base64.urlsafe_b64decode(text))
    return request


def _tag(session_id: str, text: str) -> str:
    return hashlib.blake2b(text.encode(), key=session_id.encode()[:64], digest_size=8).hexdigest()
