"""Server-sent events, written and read (WHATWG HTML, "Server-sent events").

Lines end at CR, LF or CRLF and nowhere else: U+2028, U+2029 and U+0085 stay inside a line.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from mcpfleet.errors import McpFleetError

MAX_EVENT_BYTES: Final = 32 * 1024 * 1024

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_BOM: Final = b"\xef\xbb\xbf"


class EventTooLarge(McpFleetError, ValueError):
    """An event exceeds the bound of its reader, whose stream cannot go on."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it was read.

    `data` is None when the event has no data line, and `id` and `retry_ms` are None unless this very event has them;
    a browser would pass over an event with no or empty data, an MCP client reads its id.
    """

    data: bytes | None = None
    id: str | None = None
    event: str | None = None
    retry_ms: int | None = None


def encode(
    data: bytes | None = None,
    *,
    id: str | None = None,  # noqa: A002 - the standard's name of the field
    event: str | None = None,
    retry_ms: int | None = None,
) -> bytes:
    """One event; an id or a name with a line end or NUL raises `ValueError`.

    `b""` gives an empty data line, as the event has that only carries an id to resume from.
    """
    if retry_ms is not None and retry_ms < 0:
        raise ValueError("a retry time is not negative")
    lines = []
    if event is not None:
        lines.append(b"event: " + _one_line(event))
    if id is not None:
        lines.append(b"id: " + _one_line(id))
    if retry_ms is not None:
        lines.append(b"retry: %d" % retry_ms)
    if data is not None:
        lines.append(b"data: " + (_LINE_END.sub(b"\ndata: ", data) if b"\n" in data or b"\r" in data else data))
    return b"\n".join(lines) + b"\n\n"


def comment(text: str = "") -> bytes:
    """A line that readers pass over, which keeps proxies from closing a silent stream."""
    return b"".join(b": " + line + b"\n" for line in _LINE_END.split(text.encode())) + b"\n"


def _one_line(text: str) -> bytes:
    if any(char in text for char in "\r\n\0"):
        raise ValueError("an event's id and name have no line end and no NUL")
    return text.encode()


@dataclass(slots=True)
class _Draft:
    """An event that has not ended yet."""

    data: list[bytes] = field(default_factory=list)
    id: str | None = None
    event: str | None = None
    retry_ms: int | None = None
    size: int = 0

    def add(self, line: bytes) -> None:
        """Take one line; comments, unknown fields and values that are not allowed are passed over."""
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self.size += len(line)
            self.data.append(value)
        elif name == b"id" and b"\0" not in value:
            self.id = value.decode(errors="replace")
        elif name == b"event":
            self.event = value.decode(errors="replace")
        elif name == b"retry" and value.isdigit() and len(value) <= _RETRY_DIGITS:
            self.retry_ms = int(value)

    def end(self) -> Event:
        """The event as far as it has come."""
        return Event(b"\n".join(self.data) if self.data else None, self.id, self.event, self.retry_ms)


class Decoder:
    """Reads a stream of events from chunks cut anywhere; an event beyond `max_event_bytes` raises `EventTooLarge`.

    What an unfinished event has said when the stream ends is lost, as the standard wants it.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._head: bytes | None = b""  # what may yet turn out to be a byte order mark
        self._after_cr = False  # whether an LF would belong to the line end before it
        self._line: list[bytes] = []
        self._line_bytes = 0
        self._draft = _Draft()

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes, in order."""
        chunk = self._without_mark(chunk)
        events: list[Event] = []
        if not chunk:
            return events
        start = 1 if self._after_cr and chunk.startswith(b"\n") else 0
        for end in _LINE_END.finditer(chunk, start):
            self._extend(chunk[start : end.start()])
            self._end_line(events)
            start = end.end()
        self._after_cr = chunk.endswith(b"\r")
        self._extend(chunk[start:])
        return events

    def _without_mark(self, chunk: bytes) -> bytes:
        if self._head is None:
            return chunk
        head = self._head + chunk
        if len(head) < len(_BOM):  # too short for any event
            self._head = head
            return b""
        self._head = None
        return head.removeprefix(_BOM)

    def _extend(self, part: bytes) -> None:
        self._line_bytes += len(part)
        if self._draft.size + self._line_bytes > self._max:
            raise EventTooLarge(f"an event exceeds {self._max} bytes")
        self._line.append(part)

    def _end_line(self, events: list[Event]) -> None:
        line = b"".join(self._line)
        self._line.clear()
        self._line_bytes = 0
        if line:
            self._draft.add(line)
            return
        event = self._draft.end()
        if event != _NOTHING:
            events.append(event)
        self._draft = _Draft()


_NOTHING: Final = Event()
_RETRY_DIGITS: Final = 15
