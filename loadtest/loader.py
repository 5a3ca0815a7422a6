"""A closed loop of clients: each connection sends its request again as soon as it has the response."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, cast

PATIENCE: Final = 10.0
"""How many seconds a whole run may overrun before it is given up."""


@dataclass(frozen=True, slots=True)
class Load:
    """What one run of a loop gave; latencies are seconds, sorted."""

    requests: int
    seconds: float
    latencies: Sequence[float] = field(repr=False)

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds

    def quantile(self, part: float) -> float:
        """The latency that this part of the requests did not exceed, in seconds."""
        return self.latencies[min(len(self.latencies) - 1, int(part * len(self.latencies)))]


def request_bytes(port: int, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """One POST as it goes over the wire, on a connection that stays open."""
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class _Client(asyncio.Protocol):
    """One connection; a response that is not 200 ends the whole run."""

    def __init__(self, request: bytes, latencies: list[float], until: float, done: asyncio.Future[None]) -> None:
        self._request = request
        self._latencies = latencies
        self._until = until
        self._done = done
        self._buffer = b""
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, blank, rest = self._buffer.partition(b"\r\n\r\n")
        if not blank:
            return
        if not head.startswith(b"HTTP/1.1 200"):
            self._end(RuntimeError(f"not served: {self._buffer[:400]!r}"))
        elif len(rest) >= int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            self._respond()

    def _respond(self) -> None:
        now = time.perf_counter()
        self._latencies.append(now - self._sent_at)
        self._buffer = b""
        if now < self._until:
            self._send()
        else:
            self._end(None)

    def connection_lost(self, error: Exception | None) -> None:
        self._end(error or RuntimeError("the server closed the connection"))

    def _send(self) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(self._request)

    def _end(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(error) if error else self._done.set_result(None)
            self._transport.close()


async def run(port: int, requests: Sequence[bytes], seconds: float) -> Load:
    """Send each request on a connection of its own, over and over, for so many seconds."""
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    began = time.perf_counter()
    ends = [loop.create_future() for _ in requests]
    for request, done in zip(requests, ends, strict=True):
        client = partial(_Client, request, latencies, began + seconds, done)
        await loop.create_connection(client, "127.0.0.1", port)
    async with asyncio.timeout(seconds + PATIENCE):
        await asyncio.gather(*ends)
    return Load(len(latencies), time.perf_counter() - began, sorted(latencies))
