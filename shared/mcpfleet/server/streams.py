"""The resumable stream of one call: its one writer, and everybody who follows it.

The runner is the log's only writer and expects its own last position. Whoever finds the call's runner dead ends the
call in its place, expecting the last position that it has read itself. So the first terminal entry wins, and whatever
comes later is refused: a call has one end, however the two interleave.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final, NamedTuple, TypeVar

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.base import Backplane, Position, mint, sized
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.follow import follow
from mcpfleet.backplane.leases import Keeper, Lease
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import BackplaneError, CannotAsk, LogGone, LogMoved, McpFleetError, Unavailable
from mcpfleet.protocol.jsonrpc import encode_notification
from mcpfleet.server.exchange import Delivery, Exchange, Piece, Record, Retention, find

MAX_QUEUED: Final = 64
MAX_QUESTIONS: Final = 32
"""How many questions of one call may be open at once."""
HOLD_SECONDS: Final = 60.0

_Result = TypeVar("_Result")


class CallEnded(McpFleetError):
    """The call has been ended, or forgotten, without its runner; what the runner still writes is refused."""


class _Queued(NamedTuple):
    data: bytes
    last: bool


class CallStream:
    """The runner's side: a bounded queue, and one task that appends one entry at a time.

    `start` is where its readers begin.
    """

    def __init__(
        self,
        backplane: Backplane,
        keeper: Keeper,
        exchange: Exchange,
        start: Position,
        *,
        retention: Retention,
        hold: float,
    ) -> None:
        self.exchange = exchange
        self.start = start
        self._at = start
        self._backplane = backplane
        self._keeper = keeper
        self._retention = retention
        self._hold = hold
        self._queue: dict[str | int, _Queued] = {}
        self._questions: set[str] = set()
        self._unique = itertools.count()
        self._suspicious = False
        self._ending = False
        self._failure: McpFleetError | None = None
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._over = asyncio.Event()

    @classmethod
    async def open(
        cls,
        tasks: asyncio.TaskGroup,
        backplane: Backplane,
        keeper: Keeper,
        exchange: Exchange,
        record: Record,
        *,
        retention: Retention,
        hold: float = HOLD_SECONDS,
    ) -> "CallStream":
        """Open the stream; its writer becomes a task of `tasks`, in which the handler must run too.

        When the call turns out to be ended elsewhere the writer raises `CallEnded`, and when the store was away for
        `hold` seconds `Unavailable`, and so cancels the handler. Once the end is queued, `closed` raises it instead.
        """
        ttl = retention.ttl
        # In this order: a failover keeps a prefix, and no prefix has a log that nobody could end.
        await settled(lambda: backplane.put(exchange.record, record.packed(), ttl=ttl))
        lease = await keeper.hold(exchange.alive)
        if lease is None:
            raise CallEnded("another runner has this call")
        try:
            start = await settled(lambda: backplane.open(exchange.log, ttl=ttl))
            stream = cls(backplane, keeper, exchange, start, retention=retention, hold=hold)
            tasks.create_task(stream._run(lease))
        except BaseException:
            lease.drop()
            raise
        return stream

    async def write(self, body: bytes, *, coalesce: str | None = None) -> None:
        """Queue one message, waiting while the queue is full.

        While it waits to be appended, a newer one with the same `coalesce` key takes its place.
        """
        key = next(self._unique) if coalesce is None else coalesce
        while key not in self._queue and len(self._queue) >= MAX_QUEUED and not self._over.is_set():
            self._room.clear()
            await self._room.wait()
        self._put(key, Piece(body))

    @asynccontextmanager
    async def asking(self, request_id: str, body: bytes) -> AsyncIterator[None]:
        """Queue a request of ours for the time of the block; its client is told if it ends without the answer.

        `CannotAsk` if too many are open already.
        """
        if len(self._questions) >= MAX_QUESTIONS:
            raise CannotAsk(f"No more than {MAX_QUESTIONS} questions may be open at once.")
        await self.write(body)
        self._questions.add(request_id)
        try:
            yield
            self._questions.discard(request_id)  # it was answered
        finally:
            self._withdraw(request_id)

    async def end(self, body: bytes | None) -> None:
        """Append the last message (None: end without one) after all others, and return when it is there."""
        self.close(body)
        await self.closed()

    def close(self, body: bytes | None) -> None:
        """Withdraw open questions and queue the last message, as `end` does, without waiting for anything."""
        for request_id in sorted(self._questions):
            self._withdraw(request_id)
        self._put(next(self._unique), Piece(body, last=True))
        self._ending = True

    async def closed(self) -> None:
        """Return when the last message is there; raise what kept it from getting there."""
        await self._over.wait()
        if self._failure is not None:
            raise self._failure

    def _withdraw(self, request_id: str) -> None:
        """Tell the client that a question needs no answer any more (MCP: basic/utilities/cancellation)."""
        if request_id not in self._questions:
            return
        self._questions.discard(request_id)
        if self._failure is None and not self._ending:
            params = {"requestId": request_id, "reason": "The question needs no answer any more."}
            self._put(next(self._unique), Piece(encode_notification("notifications/cancelled", params)))

    def _put(self, key: str | int, piece: Piece) -> None:
        if self._failure is not None:
            raise self._failure
        if self._ending:
            raise CallEnded("its runner has ended this call")
        self._queue[key] = _Queued(sized(pack(piece)), piece.last)
        self._wake.set()

    def _suspect(self) -> None:
        """Look whether somebody has ended the call: its lease had run out, or its log is gone."""
        self._suspicious = True
        self._wake.set()

    async def _run(self, lease: Lease) -> None:
        lease.on_lapse = self._suspect
        try:
            async with lease:
                with self._keeper.touching(self._extend, every=self._retention.ttl / 4, on_gone=self._suspect):
                    await self._write_all()
        except (CallEnded, Unavailable) as failure:
            self._failure = failure
            if not self._ending:
                raise
        except asyncio.CancelledError:
            self._failure = CallEnded("its runner was stopped")
            raise
        finally:
            self._over.set()
            self._room.set()

    async def _write_all(self) -> None:
        last = False
        while not last:
            await self._wake.wait()
            self._wake.clear()
            if self._suspicious:
                self._suspicious = False
                await self._look()
            while self._queue and not last:
                data, last = self._queue.pop(next(iter(self._queue)))
                self._room.set()
                await self._append(data)

    async def _append(self, data: bytes) -> None:
        mark, at = mint(), self._at
        self._at = await self._persist(lambda: _append(self._backplane, self.exchange, data, at, self._retention, mark))

    async def _look(self) -> None:
        end = await self._persist(
            lambda: self._backplane.open(self.exchange.log, ttl=self._retention.ttl, create=False)
        )
        if end != self._at:
            raise CallEnded("the call was ended in its runner's place")

    async def _persist(self, command: Callable[[], Awaitable[_Result]]) -> _Result:
        """The result of a command that may be sent twice, however long (up to `hold`) the store is away."""
        backoff = Backoff()
        try:
            async with asyncio.timeout(self._hold):
                while True:
                    try:
                        return await command()
                    except Unavailable:
                        self._keeper.contact.lost()
                        await asyncio.sleep(backoff.pause())
        except TimeoutError:
            raise Unavailable(f"the store was away for {self._hold} seconds") from None
        except BackplaneError as error:  # LogMoved and LogGone, if nothing is wrong with the store
            raise CallEnded(f"the stream takes no more of its runner's messages: {error}") from error

    async def _extend(self) -> bool:
        await self._backplane.open(self.exchange.log, ttl=self._retention.ttl, create=False)
        await self._backplane.get(self.exchange.record, ttl=self._retention.ttl)
        return True


async def read_call(
    backplane: Backplane,
    keeper: Keeper,
    exchange: Exchange,
    after: Position,
    *,
    retention: Retention,
    failure: Callable[[str | int], bytes],
) -> AsyncGenerator[Delivery, None]:
    """Yield what follows the position, in order and once, up to the end of the call; outages are waited out.

    A dead runner's call is ended here, with what `failure` makes of its request id. `LogGap`: the rest cannot be
    replayed.
    """

    async def end_if_dead(at: Position) -> bool:
        if not await keeper.dead(exchange.alive):
            return False
        await _end(backplane, exchange, at, retention, failure)
        return True

    entries = follow(
        backplane,
        exchange.log,
        after,
        ttl=retention.ttl,
        poll=keeper.period,
        on_outage=keeper.contact.lost,
        on_silence=end_if_dead,
    )
    async with aclosing(entries):
        async for entry in entries:
            piece = unpack(Piece, entry.data)
            yield Delivery(entry.position, piece.body, piece.last)
            if piece.last:
                return


async def _end(
    backplane: Backplane,
    exchange: Exchange,
    at: Position,
    retention: Retention,
    failure: Callable[[str | int], bytes],
) -> None:
    """End the call as its runner would, unless the log goes on after `at`; the next read will tell."""
    record = await find(backplane, exchange)
    piece = Piece(None if record is None else failure(record.request_id), last=True)
    with suppress(LogMoved, LogGone):
        await _append(backplane, exchange, pack(piece), at, retention, mint())


async def _append(
    backplane: Backplane, exchange: Exchange, data: bytes, at: Position, retention: Retention, mark: str
) -> Position:
    return await backplane.append(exchange.log, data, ttl=retention.ttl, keep=retention.keep, expect=at, mark=mark)
