"""One HTTP exchange as the engine sees it: an answer to return, or a client to stream to."""

from dataclasses import dataclass
from typing import Final, Protocol

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole response: status, body, its media type (None: no body), and further headers."""

    status: int
    body: bytes = b""
    media_type: str | None = JSON
    headers: tuple[tuple[str, str], ...] = ()


ACCEPTED: Final = Answer(202, media_type=None)


class Peer(Protocol):
    """The client's end of one exchange.

    When the client goes, the coroutine that serves the exchange is cancelled; a client that does not read for the
    write deadline counts as gone. Once the response is a stream, keep-alive comments flow by themselves, and an
    `Answer` that is returned afterwards becomes the stream's last event.
    """

    async def begin(self, headers: tuple[tuple[str, str], ...] = ()) -> None:
        """Make the response an event stream (200), if it is not one yet; its head and a comment go out at once."""
        ...

    async def send(self, frame: bytes) -> None:
        """Send encoded server-sent events, in order; `begin` must have been called."""
        ...
