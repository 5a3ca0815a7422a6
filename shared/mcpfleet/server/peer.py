"""One HTTP exchange as the engine sees it: an answer to return, or a client to stream to."""

from dataclasses import dataclass
from typing import Final, Protocol

from mcpfleet.protocol import sse
from mcpfleet.protocol.jsonrpc import INVALID_REQUEST, encode_failure
from mcpfleet.protocol.negotiation import EVENT_STREAM, JSON

__all__ = ["ACCEPTED", "EVENT_STREAM", "JSON", "Answer", "Peer", "refused", "whole"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole response: status, body, its media type (None: no body), and further headers."""

    status: int
    body: bytes = b""
    media_type: str | None = JSON
    headers: tuple[tuple[str, str], ...] = ()


ACCEPTED: Final = Answer(202, media_type=None)


def refused(reason: str, words: str) -> Answer:
    """The refusal of a body or header that asks for no response; `reason` is for programs, the words for people."""
    return Answer(400, encode_failure(None, INVALID_REQUEST, words, {"reason": reason}))


def whole(body: bytes, accepts: frozenset[str]) -> Answer:
    """A response with this body: JSON, or a stream of one event for a client that accepts nothing else."""
    return Answer(200, body) if JSON in accepts else Answer(200, sse.encode(body), EVENT_STREAM)


class Peer(Protocol):
    """The client's end of one exchange.

    When the client goes, the coroutine that serves the exchange is cancelled; a client that does not read for the
    write deadline counts as gone. Once the response is a stream, keep-alive comments flow by themselves, and the body
    of an `Answer` that is returned afterwards becomes the stream's last event, whatever its status.
    """

    @property
    def resumable(self) -> bool:
        """Whether the client can go away, and take a stream up again on another connection."""
        ...

    @property
    def begun(self) -> bool:
        """Whether `begin` was called; a response that has become a stream by itself was not begun."""
        ...

    async def begin(self) -> None:
        """Make the response an event stream (200), if it is not one yet; its head and a comment go out at once."""
        ...

    async def send(self, frame: bytes) -> None:
        """Send encoded server-sent events, in order; `begin` must have been called."""
        ...
