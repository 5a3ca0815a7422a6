"""The legacy era without sessions: every request stands alone, as in the modern one, and the store is never asked.

Nobody remembers what a handshake agreed on, so a request is served in the revision that its header names, nothing is
known of its client, and there is no way to reach the client but the request's own response.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from mcpfleet.errors import CannotAsk, Unavailable
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import Initialize, StatelessPost, refuse_batch, refuse_meta
from mcpfleet.protocol.jsonrpc import Batch, Failure, Malformed, Notification, Reply, Request, encode_failure
from mcpfleet.protocol.messages.lifecycle import (
    ListChangedCapability,
    ResourcesCapability,
    ServerCapabilities,
)
from mcpfleet.protocol.revisions import Revision, negotiate
from mcpfleet.server.around import Around
from mcpfleet.server.auth import Principal
from mcpfleet.server.caller import Caller
from mcpfleet.server.eras.modern import Modern, Response
from mcpfleet.server.notices import CROWDED, Notices
from mcpfleet.server.outcome import STORE_AWAY, Outcome, Success
from mcpfleet.server.outlet import Outlet, Silent
from mcpfleet.server.peer import ACCEPTED, EVENT_STREAM, JSON, Answer, Peer, refused, whole
from mcpfleet.server.reply import Replies
from mcpfleet.server.server import Server
from mcpfleet.server.tool import Tool


class Stateless:
    """Serves legacy clients, each request by itself; what is running is kept by `modern`, which ends it too."""

    def __init__(
        self, server: Server, modern: Modern, replies: Replies, around: Around, notices: Notices, pin: Revision | None
    ) -> None:
        self._server = server
        self._modern = modern
        self._replies = replies
        self._around = around
        self._notices = notices
        self._pin = pin

    async def initialize(self, asked: Initialize, headers: Headers, principal: Principal | None) -> Answer:
        """Shake hands and forget it; only what needs no session is offered."""
        agreed = negotiate(asked.requested, self._pin)

        async def offer(request: Request) -> Outcome:
            nonlocal agreed
            agreed = negotiate(msgspec.structs.replace(asked, request=request).requested, self._pin)
            result = self._server.initialization(agreed)
            return Success(msgspec.structs.replace(result, capabilities=_without_sessions(result.capabilities)))

        caller = Caller.shaking_hands(asked, agreed, headers, principal)
        outcome = await self._around.own(asked.request, caller, offer)
        if isinstance(outcome, Answer):
            return outcome
        return whole(self._replies.encode(asked.request.id, outcome, agreed, (asked.request, caller)), asked.accepts)

    async def post(self, asked: StatelessPost, headers: Headers, principal: Principal | None, peer: Peer) -> Answer:
        """Serve one body."""
        match asked.message:
            case Request() as request:
                outlet = OneWay(Response(peer, open_to_events=EVENT_STREAM in asked.accepts))
                body = await self._body(request, asked.revision, headers, principal, outlet)
                if JSON not in asked.accepts:
                    await peer.begin()
                return Answer(200, body)
            case Batch() as batch:
                fault = refuse_batch(asked.revision)
                if fault is not None:
                    return Answer(fault.status, fault.body())
                return await self._batch(batch, asked, headers, principal)
            case Notification() as notification:
                return ACCEPTED if self._notified(notification, asked, headers, principal) else CROWDED
            case Reply() | Failure():
                return refused("nobody_asked", "No request with this id awaits an answer")

    def _notified(
        self, notification: Notification, asked: StatelessPost, headers: Headers, principal: Principal | None
    ) -> bool:
        return self._notices.take(notification, _caller(notification, asked.revision, headers, principal))

    async def _batch(self, batch: Batch, asked: StatelessPost, headers: Headers, principal: Principal | None) -> Answer:
        async def response(message: Request | Malformed) -> bytes:
            if isinstance(message, Malformed):
                return encode_failure(message.id, message.code, message.message)
            return await self._body(message, asked.revision, headers, principal, Silent())

        for message in batch.messages:
            if isinstance(message, Notification) and not self._notified(message, asked, headers, principal):
                return CROWDED
        async with asyncio.TaskGroup() as tasks:
            serving = [
                tasks.create_task(response(message))
                for message in batch.messages
                if isinstance(message, Request | Malformed)
            ]
        if not serving:
            return ACCEPTED
        return whole(b"[" + b",".join(task.result() for task in serving) + b"]", asked.accepts)

    async def _body(
        self, request: Request, revision: Revision, headers: Headers, principal: Principal | None, outlet: Outlet
    ) -> bytes:
        fault = refuse_meta(request)
        if fault is not None:
            return fault.body()
        caller = _caller(request, revision, headers, principal)
        outcome = await self._modern.outcome(request, caller, outlet)
        if outcome is STORE_AWAY and not isinstance(outlet, Silent):  # one of a batch is refused by itself
            raise Unavailable("the store has to be asked for this")
        return self._replies.encode(request.id, outcome, revision, (request, caller))


def _caller(
    message: Request | Notification, revision: Revision, headers: Headers, principal: Principal | None
) -> Caller:
    return Caller(
        revision=revision,
        principal=principal,
        headers=headers,
        client_info=None,
        capabilities={},
        log_level=None,
        request_id=message.id if isinstance(message, Request) else None,
        meta=message.params.get("_meta", {}),
        reachable=False,
    )


class OneWay:
    """The outlet of one request: its own response, on which the client can be told something, and not asked."""

    def __init__(self, response: Response) -> None:
        self._response = response

    async def notify(self, method: str, params: Mapping[str, Any], *, newest_of: str | None = None) -> None:
        """Tell the client; see `Outlet`."""
        await self._response.notify(method, params, newest_of=newest_of)

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> Mapping[str, Any]:
        """Fail: an answer would come in a request of its own, and could not be told from any other."""
        raise CannotAsk("Without sessions, a client cannot be asked anything.")

    async def hang_up(self, retry_ms: int) -> None:
        """Do nothing: without sessions no stream is taken up again."""

    async def detach(self, tool: Tool) -> None:
        """Do nothing: no legacy client takes a task for a result."""

    async def step(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do it: there is one round only."""
        return await work()


def _without_sessions(capabilities: ServerCapabilities) -> ServerCapabilities:
    """What is left of the capabilities: no word of changes, and no log level that anybody could remember."""
    return msgspec.structs.replace(
        capabilities,
        tools=None if capabilities.tools is None else ListChangedCapability(),
        prompts=None if capabilities.prompts is None else ListChangedCapability(),
        resources=None if capabilities.resources is None else ResourcesCapability(),
        logging=None,
    )
