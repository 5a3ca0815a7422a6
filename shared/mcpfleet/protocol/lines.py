"""One message a line: the framing of stdio, and of any other stream of bytes (transports/stdio).

A line ends at LF, or at CRLF, and nowhere else: U+2028 and its kin stay inside a message.
"""

from collections.abc import Iterator
from typing import Final

from mcpfleet.errors import McpFleetError

MAX_LINE_BYTES: Final = 4 * 1024 * 1024


class LineTooLong(McpFleetError, ValueError):
    """A line exceeds the bound of its reader, whose stream cannot go on."""


class Lines:
    """Reads lines from chunks cut anywhere; empty ones are passed over.

    A line beyond `max_bytes` (None: no bound) raises `LineTooLong` as soon as so much of it has come.
    """

    def __init__(self, *, max_bytes: int | None = MAX_LINE_BYTES) -> None:
        self._max = max_bytes
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that this chunk completes, in order, without their ends."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._hold(part)
            yield from self.end()
        self._hold(rest)

    def end(self) -> Iterator[bytes]:
        """Yield what has come of a line that will not go on, if it is anything."""
        line = b"".join(self._parts).strip(b" \t\r")
        self._parts.clear()
        self._size = 0
        if line:
            yield line

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._max is not None and self._size > self._max:
            raise LineTooLong(f"a line exceeds {self._max} bytes")
        self._parts.append(part)
