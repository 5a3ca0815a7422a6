"""The hostile balancer: an HTTP/1.1 proxy that never sends two consecutive requests to the same process.

It balances per request, also on kept-alive connections; streams both ways unbuffered; closes the upstream at once when
the client goes, and cuts the client off when the upstream breaks; and sends a request to another process only if no
byte of it was written. It runs on a thread and an event loop of its own, so that a test that blocks does not stop it.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import urlsplit

import h11

PIN: Final = "X-Test-Process"
"""A request with this header goes to the process of that index; every response has it, and says who served."""
DEADLINE: Final = 20.0
LINGER: Final = 2.0
"""How long a client may go on sending after its answer: one that is closed earlier may not get to read it."""
_CHUNK_BYTES: Final = 16 * 1024
_HEAD_BYTES: Final = 128 * 1024
_OURS: Final = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"upgrade", PIN.lower().encode()})


@dataclass(frozen=True, slots=True)
class Served:
    """One request that was sent on: to which process, and its first line."""

    process: int
    method: str
    target: str


class ClientGone(Exception):
    """The client closed its connection, or its sending half of it."""


class UpstreamBroke(Exception):
    """The process closed its connection before it had answered in full."""


class Balancer:
    """Balance over the processes at these URLs for the time of the `with` block; any thread may use it."""

    def __init__(self, upstreams: Sequence[str]) -> None:
        self.url = ""
        self.served: list[Served] = []
        self.dead: set[int] = set()
        self._addresses = [_address(upstream) for upstream in upstreams]
        self._last = -1
        self._ready = threading.Event()
        self._leave: Callable[[], object]
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="balancer", daemon=True)

    def replace(self, process: int, upstream: str) -> None:
        """Take a process for alive, at this URL from now on."""
        self._addresses[process] = _address(upstream)
        self.dead.discard(process)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(DEADLINE)
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()

    async def _serve(self) -> None:
        loop, leaving, clients = asyncio.get_running_loop(), asyncio.Event(), set[asyncio.Task[None]]()
        self._leave = lambda: loop.call_soon_threadsafe(leaving.set)
        async with asyncio.TaskGroup() as group:

            def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                client = Peer(h11.SERVER, reader, writer)
                if leaving.is_set():
                    client.close()
                    return
                task = group.create_task(self._client(client))
                clients.add(task)
                task.add_done_callback(clients.discard)
                task.add_done_callback(lambda _: client.close())  # one that is cancelled may never have begun

            server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=_CHUNK_BYTES, backlog=1024)
            host, port = server.sockets[0].getsockname()
            self.url = f"http://{host}:{port}"
            self._ready.set()
            await leaving.wait()
            for listening in server.sockets:
                loop.remove_reader(listening.fileno())
            for task in clients:
                task.cancel()
            if ending := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.wait(ending, timeout=DEADLINE)
            server.close()  # only now: what is on its way to `accept` would be left open

    async def _client(self, client: "Peer") -> None:
        """Serve the requests of one connection, one after the other."""
        with suppress(ClientGone):
            while await self._exchange(client):
                client.http.start_next_cycle()

    async def _exchange(self, client: "Peer") -> bool:
        """Serve one request; whether the connection may carry another."""
        request = await client.receive()
        if not isinstance(request, h11.Request):
            return False
        process, upstream = await self._connect(request)
        if upstream is None:
            await client.refuse(503, b"no process lives")
            return False
        try:
            await _carry(request, client, upstream, process)
        except UpstreamBroke:
            if client.http.our_state is h11.SEND_RESPONSE:
                await client.refuse(502, b"the process ended without an answer")
            return False
        finally:
            upstream.close()
        return client.http.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}

    async def _connect(self, request: h11.Request) -> "tuple[int, Peer | None]":
        """The process of this request, and a connection to it on which nothing has been written yet."""
        pins = [value for name, value in request.headers if name == PIN.lower().encode()]
        while (process := self._choose(int(pins[0]) if pins else None)) is not None:
            try:
                async with asyncio.timeout(DEADLINE):
                    streams = await asyncio.open_connection(*self._addresses[process], limit=_CHUNK_BYTES)
            except OSError:
                self.dead.add(process)
                continue
            self.served.append(Served(process, request.method.decode(), request.target.decode()))
            return process, Peer(h11.CLIENT, *streams)
        return -1, None

    def _choose(self, pin: int | None) -> int | None:
        """The next process that lives, never the last one if another does; None if none lives."""
        count = len(self._addresses)
        turns = range(self._last + 1, self._last + 1 + count) if pin is None else [pin]
        chosen = next((turn % count for turn in turns if turn % count not in self.dead), None)
        self._last = self._last if chosen is None else chosen
        return chosen


class Peer:
    """One end of a connection: events instead of bytes, and nothing of ours held back."""

    def __init__(
        self, role: type[h11.CLIENT] | type[h11.SERVER], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.http = h11.Connection(role, max_incomplete_event_size=_HEAD_BYTES)
        self._lost: type[Exception] = ClientGone if role is h11.SERVER else UpstreamBroke
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=0)  # `drain` returns when everything has left

    async def receive(self) -> h11.Event | type[h11.PAUSED]:
        """The next event from the other side."""
        try:
            while True:
                event = self.http.next_event()
                if not isinstance(event, type) or event is h11.PAUSED:
                    return event
                self.http.receive_data(await self._reader.read(_CHUNK_BYTES))
        except (OSError, h11.RemoteProtocolError) as lost:
            raise self._lost from lost

    async def send(self, event: h11.Event) -> None:
        """Write the event; return when the kernel has it."""
        try:
            self._writer.write(self.http.send(event) or b"")
            await self._writer.drain()
        except OSError as lost:
            raise self._lost from lost

    async def refuse(self, status: int, why: bytes) -> None:
        """Answer in the place of a process, and say that the connection ends."""
        headers = [("Content-Length", str(len(why))), ("Connection", "close")]
        await self.send(h11.Response(status_code=status, headers=headers))
        await self.send(h11.Data(data=why))
        await self.send(h11.EndOfMessage())

    async def until_gone(self) -> None:
        """Keep what arrives for the next request, until the other side ends; then raise."""
        with suppress(OSError):
            while data := await self._reader.read(_CHUNK_BYTES):
                self.http.receive_data(data)
        raise self._lost

    def close(self) -> None:
        """Close at once, whatever is under way."""
        self._writer.transport.abort()


async def _carry(request: h11.Request, client: Peer, upstream: Peer, process: int) -> None:
    """Carry one exchange both ways, until the answer is complete or one side is gone."""
    gone: list[Exception] = []
    sent = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as both:
            upload = both.create_task(_upload(request, client, upstream, sent))
            await _download(upstream, client, process)
            with suppress(TimeoutError):  # a client that is cut off while it sends may never read its answer
                async with asyncio.timeout(LINGER):
                    await sent.wait()
            upload.cancel()
    except* (ClientGone, UpstreamBroke) as broken:
        gone.extend(each for each in broken.exceptions if isinstance(each, Exception))
    for each in gone:
        raise each


async def _upload(request: h11.Request, client: Peer, upstream: Peer, sent: asyncio.Event) -> None:
    """Carry the request, then watch the client; a process that stops reading may still have answered."""
    await _pass_on(h11.Request(method=request.method, target=request.target, headers=_kept(request)), upstream)
    while isinstance(event := await client.receive(), h11.Data):
        await _pass_on(event, upstream)
    await _pass_on(h11.EndOfMessage(), upstream)
    sent.set()
    await client.until_gone()


async def _pass_on(event: h11.Event, upstream: Peer) -> None:
    with suppress(UpstreamBroke):
        await upstream.send(event)


async def _download(upstream: Peer, client: Peer, process: int) -> None:
    while not isinstance(event := await upstream.receive(), h11.EndOfMessage):
        if isinstance(event, h11.Response):
            headers = [*_kept(event), (PIN.encode(), str(process).encode())]
            event = h11.Response(status_code=event.status_code, headers=headers, reason=event.reason)
        assert isinstance(event, h11.InformationalResponse | h11.Response | h11.Data)
        await client.send(event)
    await client.send(event)


def _kept(message: h11.Request | h11.Response) -> list[tuple[bytes, bytes]]:
    """The headers without those that are about one connection only."""
    return [(name, value) for name, value in message.headers.raw_items() if name.lower() not in _OURS]


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    assert parts.hostname
    assert parts.port
    return parts.hostname, parts.port
