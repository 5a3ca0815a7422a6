"""Another server for each request: what a caller is offered may depend on who it is."""

import asyncio
import inspect
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from mcpfleet.errors import ProtocolError
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.jsonrpc import Request
from mcpfleet.server.auth import Principal
from mcpfleet.server.caller import Caller
from mcpfleet.server.failures import Failures
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.outcome import Outcome, Refusal
from mcpfleet.server.outlet import Outlet
from mcpfleet.server.server import Server

CHOOSE_SECONDS: Final = 10.0
"""How long it may take to choose."""
MAX_KEPT: Final = 256
"""How many servers are kept ready; the one that was not chosen for longest goes first."""

Choose = Callable[[Headers, Principal | None], Server | Awaitable[Server]]
"""From a request's headers and principal (None without authentication) to the server whose offer it is made."""


class Serving(Protocol):
    """Whatever serves one request to its outcome."""

    async def serve(self, request: Request, caller: Caller, outlet: Outlet) -> Outcome:
        """Serve one request; raises nothing but cancellation."""
        ...


class Choice:
    """Serves each request with what the server offers that is chosen for it.

    A server that is chosen again keeps its concurrency limits; a new one for each request has new ones.
    """

    def __init__(self, choose: Choose, make: Callable[[Server], Serving], failures: Failures | None = None) -> None:
        self._choose = choose
        self._make = make
        self._failures = failures or Failures()
        self._made: OrderedDict[int, tuple[Server, Serving]] = OrderedDict()

    async def serve(self, request: Request, caller: Caller, outlet: Outlet) -> Outcome:
        """Serve one request; what goes wrong while choosing is an error without its words."""
        try:
            serving = self._serving(await self._chosen(caller))
        except ProtocolError as error:
            return Refusal(error.code, error.message, error.data)
        except Exception as error:  # noqa: BLE001  # the boundary of what users bring along: it is noted
            correlation = self._failures.note(error, Incoming.of(request, caller))
            return Refusal.internal(correlation)
        return await serving.serve(request, caller, outlet)

    async def _chosen(self, caller: Caller) -> Server:
        found = self._choose(caller.headers, caller.principal)
        if inspect.isawaitable(found):
            async with asyncio.timeout(CHOOSE_SECONDS):
                found = await found
        if not isinstance(found, Server):
            raise TypeError(f"the function returned a {type(found).__name__}, not a Server")
        return found

    def _serving(self, server: Server) -> Serving:
        _, serving = self._made.get(id(server)) or (server, self._make(server))
        self._made[id(server)] = server, serving
        self._made.move_to_end(id(server))
        if len(self._made) > MAX_KEPT:
            self._made.popitem(last=False)
        return serving
