"""The modern way to hear of changes: `subscriptions/listen`, a response that goes on until somebody ends it.

The watch is made before the acknowledgement is written, so what changes after the client has read that is told.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from random import SystemRandom
from typing import Any, Final

import msgspec

from mcpfleet.errors import MissingCapability, ProtocolError
from mcpfleet.protocol import jsontext, sse, tasks
from mcpfleet.protocol.inbound import HTTP_STATUS, ModernRequest
from mcpfleet.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    RequestId,
    encode_failure,
    encode_notification,
)
from mcpfleet.protocol.messages.subscriptions import Acknowledged, SubscriptionFilter, read_filter
from mcpfleet.protocol.messages.tasks import DetailedTask
from mcpfleet.protocol.meta import META, SUBSCRIPTION_ID
from mcpfleet.server.auth import Principal, owner_of, remaining
from mcpfleet.server.outcome import Success
from mcpfleet.server.peer import EVENT_STREAM, Answer, Peer
from mcpfleet.server.permission import permitted
from mcpfleet.server.process import Process
from mcpfleet.server.server import Server
from mcpfleet.server.tasks.following import Following
from mcpfleet.server.tasks.names import Names
from mcpfleet.server.topics import filtering, offered, told, wanted
from mcpfleet.server.watches import Watch, Watches

LISTEN: Final = "subscriptions/listen"
RETRY_AFTER: Final = "1"

Send = Callable[[bytes], Awaitable[None]]
Say = Callable[[str, dict[str, Any]], Awaitable[None]]
"""Sends a notification of the stream: method and parameters."""

_uniform: Final = SystemRandom().uniform


class Listening:
    """Serves `subscriptions/listen`; keeps nothing but the open streams."""

    def __init__(
        self,
        server: Server,
        process: Process,
        watches: Watches,
        following: Following | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` tells Unix seconds, which the expiry of a principal is in. Without `following` there are no tasks."""
        self._server = server
        self._policy = process.policy
        self._draining = process.draining
        self._watches = watches
        self._following = following
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
        if asked_for.task_ids and not tasks.declared(asked.client_capabilities):
            return _refused(request.id, MissingCapability({"extensions": tasks.EXTENSION}))
        honoured = await self.honoured(asked_for, principal)
        followed = await self._followed(asked_for, principal)
        honoured = msgspec.structs.replace(honoured, task_ids=tuple(names.id for names in followed))
        if self._draining.begun:
            return _busy(request.id, "The server is stopping", "server_stopping")
        if self._policy.max_listens is not None and len(self._watches) >= self._policy.max_listens:
            return _busy(request.id, "Too many listen streams", "too_many_listen_streams")
        with self._watches.watching(wanted(honoured), owner_of(principal)) as watch:
            await peer.begin()
            with self._ending(watch, principal):
                await self.tell(watch, honoured, followed, request.id, lambda message: peer.send(sse.encode(message)))
        # It says that the server has ended the subscription ("Subscriptions", "Graceful Closure").
        return Success({META: {SUBSCRIPTION_ID: request.id}})

    async def honoured(self, asked_for: SubscriptionFilter, principal: Principal | None) -> SubscriptionFilter:
        """The part of a filter that this server has, and that the principal may watch."""
        kinds = offered(self._server.discovery().capabilities)
        topics = (topic for topic in wanted(asked_for) if topic.kind in kinds)
        return filtering(await permitted(self._server.watch_hook, principal, topics), asked_for)

    async def tell(
        self,
        watch: Watch,
        honoured: SubscriptionFilter,
        followed: Sequence[Names],
        subscription: RequestId,
        send: Send,
    ) -> None:
        """Acknowledge, then tell how the followed tasks are, and of everything that becomes due, until the watch is
        over."""
        turn = asyncio.Lock()

        async def say(method: str, params: dict[str, Any]) -> None:
            async with turn:
                await send(encode_notification(method, {**params, META: {SUBSCRIPTION_ID: subscription}}))

        await say(Acknowledged.METHOD, jsontext.plain(Acknowledged(notifications=honoured)))
        async with asyncio.TaskGroup() as group:
            following = [group.create_task(self._follow(names, say)) for names in followed]
            await self._tell_changes(watch, say)
            for task in following:
                task.cancel()

    async def _tell_changes(self, watch: Watch, say: Say) -> None:
        while await watch.news():
            if watch.doubtful:
                await asyncio.sleep(_uniform(0, self._policy.spread))
            for topic in watch.take():
                if (telling := told(topic)) is not None:
                    await say(*telling)
            await asyncio.sleep(self._policy.gather)

    async def _followed(self, asked_for: SubscriptionFilter, principal: Principal | None) -> Sequence[Names]:
        """The tasks of the filter that the principal has."""
        if self._following is None or not asked_for.task_ids:
            return ()
        return await self._following.known(asked_for.task_ids, owner_of(principal))

    async def _follow(self, names: Names, say: Say) -> None:
        if self._following is not None:
            await self._following.follow(names, lambda task: say(DetailedTask.NOTIFICATION, jsontext.plain(task)))

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


def _refused(request_id: RequestId, error: ProtocolError) -> Answer:
    return Answer(HTTP_STATUS[error.code], encode_failure(request_id, error.code, error.message, error.data))


def _busy(request_id: RequestId, words: str, reason: str) -> Answer:
    body = encode_failure(request_id, INTERNAL_ERROR, words, {"reason": reason})
    return Answer(503, body, headers=(("Retry-After", RETRY_AFTER),))
