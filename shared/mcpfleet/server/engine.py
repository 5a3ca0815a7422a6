"""The engine of one process: everything between the HTTP edge and a server's tools."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec

from mcpfleet.backplane.base import Backplane
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.pulse import Beat, Pulse
from mcpfleet.errors import BackplaneError
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import (
    Accepted,
    Initialize,
    LegacyEnd,
    LegacyPost,
    LegacyStream,
    ModernNotification,
    ModernRequest,
)
from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, Request, RequestId, encode_failure
from mcpfleet.server.auth import Principal
from mcpfleet.server.calls import Calls
from mcpfleet.server.cancellation import Cancellations
from mcpfleet.server.dispatch import Dispatcher
from mcpfleet.server.eras.legacy import Legacy
from mcpfleet.server.eras.modern import Modern
from mcpfleet.server.peer import ACCEPTED, Answer, Peer
from mcpfleet.server.policy import Policy
from mcpfleet.server.process import Process
from mcpfleet.server.reply import Replies
from mcpfleet.server.server import Server
from mcpfleet.server.sessions import Sessions
from mcpfleet.server.threads import Threads

log = logging.getLogger("mcpfleet.engine")


class Engine:
    """One server in one process, on one backplane; made after the fork, since it mints the process's id."""

    def __init__(self, server: Server, backplane: Backplane, policy: Policy | None = None) -> None:
        self.id = secrets.token_hex(8)
        self.server = server
        policy = policy or Policy()
        keeper = Keeper(backplane, lease=policy.lease)
        self._process = Process(backplane, keeper, policy)
        dispatcher = Dispatcher(server, Threads(policy.workers, policy.waiting))
        replies = Replies(msgspec.to_builtins(server.info))
        sessions = Sessions(self._process)
        cancellations = Cancellations(self._process)
        self._calls = Calls(self._process, sessions, cancellations, dispatcher, replies)
        self._modern = Modern(dispatcher, replies)
        self._legacy = Legacy(server, self._process, sessions, cancellations, self._calls, replies)
        self._pulse = Pulse(backplane, keeper.contact, self._beat, lease=policy.lease)

    @property
    def draining(self) -> bool:
        """Whether this process was told to stop."""
        return self._process.draining.is_set()

    @property
    def hears(self) -> bool:
        """False when this process is deaf to the others although the store answers."""
        return self._pulse.healthy

    @property
    def in_touch(self) -> bool:
        """Whether the store answered when it was last asked."""
        return self._process.keeper.contact.unbroken_for(0.0)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep leases, pulse and calls for the time of the block; at its end, calls that still run are ended."""
        async with asyncio.TaskGroup() as tasks:
            kept = [tasks.create_task(self._process.keeper.run()), tasks.create_task(self._pulse.run())]
            calls = tasks.create_task(self._calls.run())
            try:
                yield
            finally:
                self.drain()
                self._calls.stop()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._process.policy.lease):
                        await asyncio.wait({calls})
                        await self._pulse.leave()
                for task in (*kept, calls):
                    task.cancel()

    def drain(self) -> None:
        """End the streams that wait for the world, so that their clients connect elsewhere; calls go on."""
        self._process.draining.set()

    async def serve(self, asked: Accepted, headers: Headers, principal: Principal | None, peer: Peer) -> Answer | None:
        """Serve one classified request; None if its response was streamed.

        Whatever needs the store while it is away is 503, and nothing else.
        """
        try:
            match asked:
                case ModernRequest():
                    return await self._modern.serve(asked, headers, principal, peer)
                case ModernNotification():
                    return ACCEPTED
                case Initialize():
                    return await self._legacy.initialize(asked, principal)
                case LegacyPost():
                    return await self._legacy.post(asked, headers, principal, peer)
                case LegacyStream():
                    return await self._legacy.stream(asked, principal, peer)
                case LegacyEnd():
                    return await self._legacy.end(asked, principal)
        except BackplaneError:
            log.exception("the store could not serve a request")
            return _away(_request_id(asked))

    def _beat(self) -> Beat:
        return Beat(self.id, self.server.info.version, self.server.registry.digest, float(self._calls.running))


def _request_id(asked: Accepted) -> RequestId | None:
    match asked:
        case LegacyPost(message=Request(id=request_id)) | Initialize(request=Request(id=request_id)):
            return request_id
    return None


def _away(request_id: RequestId | None) -> Answer:
    body = encode_failure(
        request_id, INTERNAL_ERROR, "The server cannot reach its store; try again.", {"reason": "store_unavailable"}
    )
    return Answer(503, body, headers=(("Retry-After", "1"),))
