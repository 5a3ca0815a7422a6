"""A server behind its dispatcher, as every test of its methods asks it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcpfleet import Principal, Server
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.jsonrpc import Request
from mcpfleet.protocol.revisions import LATEST, Revision
from mcpfleet.server.caller import Caller
from mcpfleet.server.dispatch import Dispatcher
from mcpfleet.server.outcome import Outcome, Refusal, Success
from mcpfleet.server.outlet import Silent
from mcpfleet.server.threads import Threads


class Asking:
    """A caller of one server."""

    def __init__(self, server: Server, threads: Threads, page_size: int | None) -> None:
        self._dispatcher = Dispatcher(server, threads, page_size=page_size)

    async def outcome(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        revision: Revision = LATEST,
        principal: Principal | None = None,
    ) -> Outcome:
        """What a request comes to."""
        caller = Caller(revision, principal, Headers(), None, {}, None)
        return await self._dispatcher.serve(Request(1, method, dict(params or {})), caller, Silent())

    async def result(self, method: str, params: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """The result, as a client of the newest revision reads it, undressed."""
        outcome = await self.outcome(method, params, **options)
        assert isinstance(outcome, Success), outcome
        return jsontext.loads(jsontext.dumps(outcome.result))

    async def refusal(self, method: str, params: Mapping[str, Any] | None = None, **options: Any) -> Refusal:
        """The refusal that a request comes to."""
        outcome = await self.outcome(method, params, **options)
        assert isinstance(outcome, Refusal), outcome
        return outcome


@asynccontextmanager
async def asking(server: Server, *, page_size: int | None = None) -> AsyncIterator[Asking]:
    """Ask a server, whose synchronous functions run in threads for the time of the block."""
    threads = Threads()
    try:
        yield Asking(server, threads, page_size)
    finally:
        threads.close()
