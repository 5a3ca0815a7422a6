"""The ASGI end of one exchange, against every order of writing, silence and leaving."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcpfleet.server.peer import EVENT_STREAM, Answer
from mcpfleet_service.responses import WATCH_AFTER, HttpPeer, Message, response

DEADLINE = 10.0
COMMENT = b": \n\n"


class Connection:
    """The web server's end: records what is sent, and leaves or stops reading when told."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.left = asyncio.Event()
        self.reading = asyncio.Event()
        self.reading.set()
        self.stuck = asyncio.Event()
        self.watched = asyncio.Event()
        self._news = asyncio.Event()

    async def receive(self) -> Message:
        self.watched.set()
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await asyncio.sleep(0)  # as any server may, so that what is not ordered by a lock comes in another order
        if not self.reading.is_set():
            self.stuck.set()
            await self.reading.wait()
        if self.complete:
            raise RuntimeError("sent after the end of the response")
        started = bool(self.sent)
        assert (message["type"] == "http.response.body") is started, "one head, and it comes first"
        self.sent.append(message)
        self._news.set()

    async def commented(self, times: int) -> None:
        """Return once so many comments were sent."""
        while self.body.count(COMMENT) < times:
            self._news.clear()
            await self._news.wait()

    @property
    def complete(self) -> bool:
        return len(self.sent) > 1 and not self.sent[-1].get("more_body", False)

    @property
    def status(self) -> int:
        status: int = self.sent[0]["status"]
        return status

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])

    def peer(self, **options: Any) -> HttpPeer:
        return HttpPeer(self.receive, self.send, **{"keepalive": None, **options})


async def serve(peer: HttpPeer, app: Callable[[HttpPeer], Awaitable[Answer | None]]) -> None:
    async with asyncio.timeout(DEADLINE):
        await peer.serve(app(peer))


async def test_an_answer_is_sent_whole() -> None:
    connection = Connection()

    async def app(_peer: HttpPeer) -> Answer:
        return Answer(400, b'{"x":1}', headers=(("Retry-After", "1"),))

    await serve(connection.peer(), app)
    assert (connection.status, connection.body, connection.complete) == (400, b'{"x":1}', True)
    assert connection.headers == {
        b"content-length": b"7",
        b"content-type": b"application/json",
        b"retry-after": b"1",
    }


async def test_a_stream_is_ended_and_an_answer_after_it_is_its_last_event() -> None:
    for answer, last in (
        (None, b""),
        (Answer(200, b"{}"), b"data: {}\n\n"),
        (Answer(503, b"{}"), b"data: {}\n\n"),
        (Answer(200, b"data: already\n\n", EVENT_STREAM), b"data: already\n\n"),
        (Answer(202, media_type=None), b""),
    ):
        connection = Connection()

        async def app(peer: HttpPeer, answer: Answer | None = answer) -> Answer | None:
            assert not peer.begun
            await peer.begin()
            await peer.begin()
            assert peer.begun
            await peer.send(b"data: 1\n\n")
            return answer

        await serve(connection.peer(), app)
        assert (connection.status, connection.body) == (200, COMMENT + b"data: 1\n\n" + last)
        assert connection.complete


async def test_neither_an_answer_nor_a_stream_sends_nothing() -> None:
    connection = Connection()

    async def app(_peer: HttpPeer) -> None:
        return None

    await serve(connection.peer(), app)
    assert connection.sent == []


async def test_a_quick_exchange_asks_nothing_of_the_connection() -> None:
    connection = Connection()

    async def app(_peer: HttpPeer) -> Answer:
        return Answer(200, b"{}")

    before = asyncio.all_tasks()
    await serve(connection.peer(), app)
    assert not connection.watched.is_set()
    assert asyncio.all_tasks() == before


async def test_a_client_that_leaves_cancels_what_serves_it_and_nothing_is_sent_any_more() -> None:
    for streaming in (False, True):
        connection, cancelled = Connection(), asyncio.Event()

        async def app(
            peer: HttpPeer,
            streaming: bool = streaming,
            connection: Connection = connection,
            cancelled: asyncio.Event = cancelled,
        ) -> Answer:
            if streaming:
                await peer.begin()
            await connection.watched.wait()
            connection.left.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise
            raise AssertionError

        await serve(connection.peer(), app)
        assert cancelled.is_set()
        assert not connection.complete


async def test_a_client_that_leaves_while_the_head_is_written_is_noticed() -> None:
    connection = Connection()

    async def app(peer: HttpPeer) -> None:
        await connection.watched.wait()
        connection.reading.clear()
        asyncio.get_running_loop().call_soon(connection.left.set)
        await peer.begin()

    await serve(connection.peer(), app)
    assert connection.sent == []


async def test_an_exception_of_what_serves_is_raised_and_leaves_no_task() -> None:
    connection = Connection()
    before = asyncio.all_tasks()

    async def app(_peer: HttpPeer) -> Answer:
        await connection.watched.wait()
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as raised:
        await serve(connection.peer(), app)
    assert raised.group_contains(ZeroDivisionError)
    assert asyncio.all_tasks() == before


async def test_an_exception_while_the_client_leaves_is_not_lost() -> None:
    connection = Connection()

    async def app(_peer: HttpPeer) -> Answer:
        await connection.watched.wait()
        connection.left.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as raised:
        await serve(connection.peer(), app)
    assert raised.group_contains(ZeroDivisionError)


async def test_cancelling_the_exchange_cancels_what_serves_it() -> None:
    connection, begun = Connection(), asyncio.Event()

    async def app(_peer: HttpPeer) -> Answer:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    serving = asyncio.ensure_future(serve(connection.peer(), app))
    await begun.wait()
    serving.cancel()
    await asyncio.wait([serving])
    assert serving.cancelled()
    assert connection.sent == []


async def test_a_stalled_write_ends_the_exchange_wherever_it_stalls() -> None:
    async def streams(peer: HttpPeer) -> None:
        await peer.begin()
        connection.reading.clear()
        await peer.send(b"data: 1\n\n")
        raise AssertionError

    async def begins(peer: HttpPeer) -> None:
        connection.reading.clear()
        await peer.begin()
        raise AssertionError

    async def answers(_peer: HttpPeer) -> Answer:
        connection.reading.clear()
        return Answer(200, b"{}")

    async def ends(peer: HttpPeer) -> None:
        await peer.begin()
        connection.reading.clear()

    for app in (streams, begins, answers, ends):
        connection = Connection()
        await serve(connection.peer(write_timeout=0.02), app)
        assert not connection.complete


async def test_a_task_that_writes_for_a_client_that_was_given_up_is_told_so_and_does_not_hang() -> None:
    connection = Connection()
    strays: list[asyncio.Future[None]] = []

    async def app(peer: HttpPeer) -> None:
        await peer.begin()
        connection.reading.clear()
        strays.append(asyncio.ensure_future(peer.send(b"data: 1\n\n")))
        await asyncio.Event().wait()

    await serve(connection.peer(write_timeout=0.02), app)
    async with asyncio.timeout(DEADLINE):
        await asyncio.wait(strays)
    assert strays[0].exception() is not None


async def test_what_is_sent_after_the_end_is_dropped() -> None:
    connection = Connection()
    peer = connection.peer()

    async def app(peer: HttpPeer) -> Answer:
        await peer.begin()
        return Answer(200, b"{}")

    await serve(peer, app)
    body = connection.body
    await peer.send(b"data: late\n\n")
    await peer.begin()
    assert connection.body == body


async def test_a_response_that_was_an_answer_does_not_become_a_stream_afterwards() -> None:
    connection = Connection()
    peer = connection.peer()

    async def app(_peer: HttpPeer) -> Answer:
        return Answer(200, b"{}")

    await serve(peer, app)
    await peer.begin()
    assert not peer.begun
    assert connection.body == b"{}"


async def test_comments_come_after_silence_and_only_then() -> None:
    connection = Connection()

    async def app(peer: HttpPeer) -> None:
        await peer.begin()
        await connection.commented(4)

    await serve(connection.peer(keepalive=0.02), app)
    assert connection.body == COMMENT * 4


async def test_a_stream_that_begins_while_the_connection_is_watched_is_kept_alive() -> None:
    connection = Connection()

    async def app(peer: HttpPeer) -> None:
        await connection.watched.wait()
        await asyncio.sleep(0.05)  # several times the keep-alive time, in which nothing may be sent
        assert connection.sent == []
        await peer.begin()
        await connection.commented(3)

    await serve(connection.peer(keepalive=0.02), app)
    assert connection.complete


async def test_a_silent_response_becomes_a_stream_only_if_it_may() -> None:
    for may_stream in (True, False):
        connection = Connection()

        async def app(peer: HttpPeer, may_stream: bool = may_stream, connection: Connection = connection) -> Answer:
            await connection.watched.wait()
            await asyncio.sleep(0.1)
            assert not peer.begun, "it becomes one by itself"
            return Answer(200, b"{}")

        await serve(connection.peer(keepalive=0.02, may_stream=may_stream), app)
        assert connection.headers[b"content-type"] == (EVENT_STREAM if may_stream else "application/json").encode()
        assert connection.body.endswith(b"{}\n\n" if may_stream else b"{}")


async def test_an_answer_and_the_end_of_patience_at_one_moment_make_one_response() -> None:
    """Whichever comes first is the response: `Connection` fails on a second head, and on anything after the end."""
    for tenths in range(30):
        connection = Connection()

        async def app(_peer: HttpPeer, pause: float = WATCH_AFTER + tenths / 10_000) -> Answer:
            await asyncio.sleep(pause)
            return Answer(200, b"{}")

        await serve(connection.peer(keepalive=WATCH_AFTER + 0.0015, may_stream=True), app)
        assert connection.complete


async def test_an_answer_that_comes_while_the_head_of_a_stream_is_being_written_follows_it() -> None:
    connection = Connection()

    async def app(peer: HttpPeer) -> Answer:
        await connection.watched.wait()
        connection.reading.clear()
        await connection.stuck.wait()
        assert not peer.begun
        asyncio.get_running_loop().call_later(0.02, connection.reading.set)
        return Answer(200, b"{}")

    await serve(connection.peer(keepalive=WATCH_AFTER + 0.02, may_stream=True), app)
    assert connection.body == COMMENT + b"data: {}\n\n"


async def test_an_answer_that_is_being_written_when_patience_ends_stays_one_answer() -> None:
    connection = Connection()

    async def app(_peer: HttpPeer) -> Answer:
        await connection.watched.wait()
        connection.reading.clear()
        asyncio.get_running_loop().call_later(0.1, connection.reading.set)
        return Answer(200, b"{}")

    await serve(connection.peer(keepalive=WATCH_AFTER + 0.02, may_stream=True), app)
    assert connection.headers[b"content-type"] == b"application/json"
    assert connection.body == b"{}"


def test_a_response_without_content_has_neither_a_length_nor_a_type() -> None:
    head, body = response(Answer(204, media_type=None))
    assert (head["headers"], body["body"]) == ([], b"")
    head, _ = response(Answer(202, media_type=None))
    assert head["headers"] == [(b"content-length", b"0")]
