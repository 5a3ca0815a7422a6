"""The balancer is as hostile, and as honest, as the tests behind it believe."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from urllib.parse import urlsplit

import pytest

from tests.balancer import PIN, Balancer, Served

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

GET = b"GET /thing HTTP/1.1\r\nHost: test\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
REFUSED = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
async def deadline() -> AsyncIterator[None]:
    async with asyncio.timeout(20):
        yield


async def head(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


async def answer_ok(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError):
        while True:
            await head(reader)
            writer.write(OK)


@asynccontextmanager
async def upstream(handler: Handler = answer_ok) -> AsyncIterator[str]:
    """A process that does to each connection what the handler does, and then closes it."""
    tasks: list[asyncio.Task[None]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.get_running_loop().create_task(handle(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def client(balancer: Balancer) -> AsyncIterator[Streams]:
    host, port = balancer.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def ask(streams: Streams, request: bytes = GET) -> tuple[int, int]:
    """The status of the answer, and which process gave it (-1: the balancer itself)."""
    reader, writer = streams
    writer.write(request)
    lines = (await head(reader)).decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:] if line)
    await reader.readexactly(int(headers["Content-Length"]))
    return int(lines[0].split()[1]), int(headers.get(PIN, -1))


async def test_two_consecutive_requests_of_one_connection_go_to_different_processes() -> None:
    async with upstream() as one, upstream() as two, upstream() as three:
        with Balancer([one, two, three]) as balancer:
            async with client(balancer) as streams:
                answers = [await ask(streams) for _ in range(7)]
    assert answers == [(200, process) for process in (0, 1, 2, 0, 1, 2, 0)]


async def test_two_consecutive_requests_of_different_connections_go_to_different_processes() -> None:
    async with upstream() as one, upstream() as two:
        with Balancer([one, two]) as balancer:
            async with client(balancer) as here, client(balancer) as there:
                answers = [await ask(streams) for streams in (here, there, there, here, here, there)]
    assert [process for _, process in answers] == [0, 1, 0, 1, 0, 1]


async def test_a_single_process_gets_everything() -> None:
    async with upstream() as only:
        with Balancer([only]) as balancer:
            async with client(balancer) as streams:
                assert [await ask(streams) for _ in range(3)] == [(200, 0)] * 3


async def test_it_records_who_served_what() -> None:
    async with upstream() as one, upstream() as two:
        with Balancer([one, two]) as balancer:
            async with client(balancer) as streams:
                await ask(streams)
                await ask(streams, b"DELETE /other?x=1 HTTP/1.1\r\nHost: test\r\n\r\n")
            assert balancer.served == [Served(0, "GET", "/thing"), Served(1, "DELETE", "/other?x=1")]


async def test_a_pinned_request_goes_where_it_says_and_the_next_one_elsewhere() -> None:
    heads: list[bytes] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await head(reader))
        writer.write(OK)

    pinned = GET[:-2] + b"x-test-process: 1\r\nX-Kept: yes\r\n\r\n"
    async with upstream() as one, upstream(note) as two:
        with Balancer([one, two]) as balancer:
            async with client(balancer) as streams:
                answers = [await ask(streams, each) for each in (pinned, pinned, GET)]
    assert [process for _, process in answers] == [1, 1, 0]
    assert [b"X-Kept: yes" in each for each in heads] == [True, True]
    assert [b"x-test-process" in each.lower() for each in heads] == [False, False]


async def test_each_byte_of_a_response_arrives_before_the_next_is_sent() -> None:
    arrived = asyncio.Event()

    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(3):
            writer.write(b"1\r\nx\r\n")
            await arrived.wait()
            arrived.clear()
        writer.write(b"0\r\n\r\n")

    async with upstream(trickle) as only:
        with Balancer([only]) as balancer:
            async with client(balancer) as (reader, writer):
                writer.write(GET)
                await head(reader)
                for _ in range(3):
                    assert await reader.readexactly(6) == b"1\r\nx\r\n"
                    arrived.set()
                assert await reader.readexactly(5) == b"0\r\n\r\n"


async def test_each_byte_of_a_request_arrives_before_the_next_is_sent() -> None:
    arrived = asyncio.Event()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        for _ in range(3):
            await reader.readexactly(1)
            arrived.set()
        writer.write(OK)

    async with upstream(swallow) as only:
        with Balancer([only]) as balancer:
            async with client(balancer) as (reader, writer):
                writer.write(b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\n")
                for _ in range(3):
                    writer.write(b"x")
                    await arrived.wait()
                    arrived.clear()
                assert (await head(reader)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("request_bytes", "sent"),
    [
        pytest.param(GET, b"", id="before the answer"),
        pytest.param(GET, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", id="during the answer"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\nx", b"", id="during the request"),
    ],
)
async def test_when_the_client_goes_the_upstream_is_closed_at_once(request_bytes: bytes, sent: bytes) -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(sent)
        begun.set()
        with suppress(ConnectionError):
            while await reader.read(100):
                pass
        closed.set()

    async with upstream(hold) as only:
        with Balancer([only]) as balancer:
            async with client(balancer) as (reader, writer):
                writer.write(request_bytes)
                await begun.wait()
                if sent:
                    await reader.readuntil(b"x\r\n")
            await closed.wait()


async def test_a_process_that_refuses_connections_is_passed_over_and_marked_dead() -> None:
    async with upstream() as one, upstream() as three:
        with Balancer([one, REFUSED, three]) as balancer:
            async with client(balancer) as streams:
                answers = [await ask(streams) for _ in range(4)]
            assert [process for _, process in answers] == [0, 2, 0, 2]
            assert balancer.dead == {1}
            assert [each.process for each in balancer.served] == [0, 2, 0, 2]


async def test_a_replaced_process_lives_again() -> None:
    async with upstream() as one, upstream() as two:
        with Balancer([one, REFUSED]) as balancer:
            async with client(balancer) as streams:
                assert [await ask(streams) for _ in range(2)] == [(200, 0), (200, 0)]
                balancer.replace(1, two)
                assert [await ask(streams) for _ in range(2)] == [(200, 1), (200, 0)]


async def test_a_request_of_which_a_byte_was_written_is_never_sent_again() -> None:
    received: list[bytes] = []

    async def vanish(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await head(reader))

    async with upstream(vanish) as one, upstream(vanish) as two:
        with Balancer([one, two]) as balancer:
            async with client(balancer) as streams:
                assert await ask(streams) == (502, -1)
    assert len(received) == 1


async def test_a_client_is_cut_off_when_its_answer_breaks() -> None:
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")

    async with upstream(break_off) as only:
        with Balancer([only]) as balancer:
            async with client(balancer) as (reader, writer):
                writer.write(GET)
                await head(reader)
                assert await reader.read() == b"1\r\nx\r\n"


async def test_an_answer_before_the_end_of_the_request_is_delivered() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        with suppress(ConnectionError):
            while await reader.read(65536):
                pass

    async with upstream(refuse) as only:
        with Balancer([only]) as balancer:
            async with client(balancer) as streams:
                request = b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\nx"
                assert await ask(streams, request) == (413, 0)


async def test_a_client_that_is_answered_while_it_sends_may_go_on_and_ask_again() -> None:
    async def answer_early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(OK)
        await reader.read()

    async with upstream(answer_early) as one, upstream() as two:
        with Balancer([one, two]) as balancer:
            async with client(balancer) as (reader, writer):
                request = b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\n"
                assert await ask((reader, writer), request) == (200, 0)
                assert await ask((reader, writer), b"body" + GET) == (200, 1)


async def test_a_process_that_closes_after_its_answer_does_not_end_the_clients_connection() -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(OK.replace(b"Content", b"Connection: close\r\nContent"))

    async with upstream(once) as one, upstream(once) as two:
        with Balancer([one, two]) as balancer:
            async with client(balancer) as streams:
                assert [await ask(streams) for _ in range(3)] == [(200, 0), (200, 1), (200, 0)]


async def test_without_a_living_process_it_answers_503() -> None:
    with Balancer([REFUSED, REFUSED]) as balancer:
        async with client(balancer) as streams:
            assert await ask(streams) == (503, -1)


async def test_a_client_that_does_not_read_stops_the_process_from_writing() -> None:
    stopped = asyncio.Event()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                writer.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")
                async with asyncio.timeout(0.5):
                    await writer.drain()
        except TimeoutError:
            stopped.set()

    async with upstream(flood) as only:
        with Balancer([only]) as balancer:
            async with client(balancer) as (reader, writer):
                writer.write(GET)
                await head(reader)
                await stopped.wait()


async def test_a_blocked_test_does_not_stop_it() -> None:
    async with upstream() as only:
        with Balancer([only]) as balancer:
            host, port = balancer.url.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port)), timeout=5) as plain:  # blocks, on purpose
                plain.sendall(b"nonsense\r\n\r\n")
                assert plain.recv(1) == b""


async def test_no_connection_outlives_it_not_even_one_that_has_only_just_been_made() -> None:
    for _ in range(20):
        with ExitStack() as held, Balancer([]) as balancer:
            address = urlsplit(balancer.url)
            for _ in range(20):
                held.enter_context(socket.create_connection((address.hostname, address.port)))
    gc.collect()  # what was not closed warns now, and that is an error
