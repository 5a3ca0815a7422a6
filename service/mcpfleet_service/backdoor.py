"""The port for operators alone: what is served there is served nowhere else, and nothing else there."""

from typing import Any, Final

from mcpfleet_service.endpoint import Scope
from mcpfleet_service.responses import Receive, Send

PATHS: Final = frozenset({"/livez", "/readyz", "/metrics"})


class BackDoor:
    """Lets each request through at the port where it belongs; at another there is no such path."""

    def __init__(self, app: Any, *, port: int) -> None:
        self._app = app
        self._port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http":
            _, port = scope["server"]
            if (port == self._port) is not (scope["path"] in PATHS):
                await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)
