"""The legacy way to watch a resource: `resources/subscribe` and `resources/unsubscribe` (server/resources)."""

from typing import Any, Final

from mcpfleet.errors import TooLarge
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Request
from mcpfleet.protocol.messages.subscriptions import MAX_URI, is_watchable
from mcpfleet.server.auth import Principal
from mcpfleet.server.outcome import Outcome, Refusal, Success
from mcpfleet.server.permission import permitted
from mcpfleet.server.server import Server
from mcpfleet.server.sessions import Session
from mcpfleet.server.subscriptions import Subscriptions
from mcpfleet.server.topics import RESOURCE, Topic, offered

SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"


class Subscribing:
    """Serves both requests, on whichever process they land."""

    def __init__(self, server: Server, subscriptions: Subscriptions) -> None:
        self._server = server
        self._subscriptions = subscriptions

    async def serve(self, request: Request, session: Session, principal: Principal | None) -> Outcome:
        """Begin or end to watch one URI; once this has returned, every process knows. Raises `Unavailable`."""
        if RESOURCE not in offered(self._server.initialization(session.revision).capabilities):
            return Refusal(METHOD_NOT_FOUND, f"Method not found: {request.method}")
        uri: Any = request.params.get("uri")
        if not is_watchable(uri):
            return Refusal(INVALID_PARAMS, f"params.uri must be an absolute URI of at most {MAX_URI} characters")
        if request.method == UNSUBSCRIBE:
            await self._subscriptions.remove(session, uri)
            return Success({})
        topic = Topic(RESOURCE, uri)
        if topic not in await permitted(self._server.watch_hook, principal, (topic,)):
            return Refusal(INVALID_PARAMS, "This resource cannot be subscribed to", {"uri": uri})
        try:
            await self._subscriptions.add(session, uri)
        except TooLarge as error:
            return Refusal(INVALID_PARAMS, str(error))
        return Success({})
