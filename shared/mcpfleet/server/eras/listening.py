"""The modern way to hear of changes: `subscriptions/listen`, a response that goes on until somebody ends it.

The watch is made before the acknowledgement is written, so what changes after the client has read that is told.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from random import SystemRandom
from typing import Any, Final

from mcpfleet.protocol import jsontext, sse
from mcpfleet.protocol.inbound import ModernRequest
from mcpfleet.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    RequestId,
    encode_failure,
    encode_notification,
)
from mcpfleet.protocol.messages.subscriptions import Acknowledged, SubscriptionFilter, read_filter
from mcpfleet.protocol.meta import META, SUBSCRIPTION_ID
from mcpfleet.server.auth import Principal, owner_of, remaining
from mcpfleet.server.outcome import Success
from mcpfleet.server.peer import EVENT_STREAM, Answer, Peer
from mcpfleet.server.permission import permitted
from mcpfleet.server.process import Process
from mcpfleet.server.server import Server
from mcpfleet.server.topics import filtering, offered, told, wanted
from mcpfleet.server.watches import Watch, Watches

LISTEN: Final = "subscriptions/listen"
RETRY_AFTER: Final = "1"

Send = Callable[[bytes], Awaitable[None]]

_uniform: Final = SystemRandom().uniform


class Listening:
    """Serves `subscriptions/listen`; keeps nothing but the open streams."""

    def __init__(
        self,
        server: Server,
        process: Process,
        watches: Watches,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` tells Unix seconds, which the expiry of a principal is in."""
        self._server = server
        self._policy = process.policy
        self._draining = process.draining
        self._watches = watches
        self._clock = clock

    async def serve(self, asked: ModernRequest, principal: Principal | None, peer: Peer) -> Success | Answer:
        """Tell the peer of changes until it leaves, its principal expires or the process drains; its result is last.

        An `Answer` refuses the request.
        """
        request = asked.request
        if EVENT_STREAM not in asked.accepts:
            body = encode_failure(request.id, INVALID_REQUEST, f"Accept lacks {EVENT_STREAM}", {"reason": "accept"})
            return Answer(406, body)
        asked_for = read_filter(request.params)
        if isinstance(asked_for, str):
            return Answer(400, encode_failure(request.id, INVALID_PARAMS, asked_for))
        honoured = await self.honoured(asked_for, principal)
        if self._draining.begun:
            return _busy(request.id, "The server is stopping", "server_stopping")
        if self._policy.max_listens is not None and len(self._watches) >= self._policy.max_listens:
            return _busy(request.id, "Too many listen streams", "too_many_listen_streams")
        with self._watches.watching(wanted(honoured), owner_of(principal)) as watch:
            await peer.begin()
            with self._ending(watch, principal):
                await self.tell(watch, honoured, request.id, lambda message: peer.send(sse.encode(message)))
        # It says that the server has ended the subscription ("Subscriptions", "Graceful Closure").
        return Success({META: {SUBSCRIPTION_ID: request.id}})

    async def honoured(self, asked_for: SubscriptionFilter, principal: Principal | None) -> SubscriptionFilter:
        """The part of a filter that this server has, and that the principal may watch."""
        kinds = offered(self._server.discovery().capabilities)
        topics = (topic for topic in wanted(asked_for) if topic.kind in kinds)
        return filtering(await permitted(self._server.watch_hook, principal, topics), asked_for)

    async def tell(self, watch: Watch, honoured: SubscriptionFilter, subscription: RequestId, send: Send) -> None:
        """Acknowledge, then tell of everything that becomes due, until the watch is over."""
        acknowledged = jsontext.plain(Acknowledged(notifications=honoured))
        await send(_message(Acknowledged.METHOD, acknowledged, subscription))
        while await watch.news():
            if watch.doubtful:
                await asyncio.sleep(_uniform(0, self._policy.spread))
            for topic in watch.take():
                if (telling := told(topic)) is not None:
                    await send(_message(*telling, subscription))
            await asyncio.sleep(self._policy.gather)

    @contextmanager
    def _ending(self, watch: Watch, principal: Principal | None) -> Iterator[None]:
        """End the watch when its principal expires, and a moment after the process was told to stop: all clients will
        connect elsewhere, and had better not do so at once."""
        loop = asyncio.get_running_loop()
        left = remaining(principal, self._clock())

        def end_soon() -> None:
            timers.append(loop.call_later(_uniform(0, self._policy.spread), watch.end))

        timers = [] if left is None else [loop.call_later(left, watch.end)]
        try:
            with self._draining.telling(end_soon):
                yield
        finally:
            for timer in timers:
                timer.cancel()


def _message(method: str, params: dict[str, Any], subscription: RequestId) -> bytes:
    return encode_notification(method, {**params, META: {SUBSCRIPTION_ID: subscription}})


def _busy(request_id: RequestId, words: str, reason: str) -> Answer:
    body = encode_failure(request_id, INTERNAL_ERROR, words, {"reason": reason})
    return Answer(503, body, headers=(("Retry-After", RETRY_AFTER),))
