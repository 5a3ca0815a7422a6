"""Which of our endpoints is on which path, and how each sorts its requests."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs

from mcpfleet.errors import SettingsError
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import (
    Limits,
    PairStream,
    Rejected,
    classify,
    classify_pair_message,
    classify_pair_stream,
)
from mcpfleet.protocol.revisions import ASSUMED
from mcpfleet_service.endpoint import Endpoint, Scope, Sort
from mcpfleet_service.responses import Receive, Send
from mcpfleet_service.settings import Settings

SSE: Final = "/sse"
MESSAGES: Final = "/messages"
"""Where clients of the oldest transport look for a server, and where they are told to post to."""


class Doors:
    """Hands requests to our endpoints before the web framework looks at them; everything else goes on."""

    def __init__(self, app: Any, *, endpoints: Mapping[str, Endpoint]) -> None:
        self._app = app
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        endpoint = None
        if scope["type"] == "http":
            endpoint = self._endpoints.get(scope["path"].removeprefix(scope.get("root_path", "")))
        await (endpoint or self._app)(scope, receive, send)


def endpoints(settings: Settings, make: Callable[[Sort], Endpoint]) -> dict[str, Endpoint]:
    """The endpoints by their paths; `SettingsError` for what cannot be served at once."""
    pin = settings.handshake_revision
    limits = Limits(json_only=settings.json_response, stateless=settings.stateless, pin=pin, assumed=pin or ASSUMED)
    root = settings.path.rstrip("/")
    found = dict.fromkeys((settings.path, root, f"{root}/"), make(_sorting(limits)))
    if settings.sse:
        if settings.stateless:
            raise SettingsError("MCPFLEET_SSE needs sessions, which MCPFLEET_STATELESS switches off")
        if found.keys() & {SSE, MESSAGES}:
            raise SettingsError(f"MCPFLEET_PATH={settings.path} is a path of MCPFLEET_SSE")
        found[SSE] = make(_sorting_streams)
        found[MESSAGES] = make(_sorting_messages(limits))
    return found


def _sorting(limits: Limits) -> Sort:
    return lambda scope, headers, body: classify(scope["method"], headers, body, limits=limits)


def _sorting_streams(scope: Scope, headers: Headers, _body: bytes) -> PairStream | Rejected:
    return classify_pair_stream(scope["method"], headers, scope.get("root_path", "") + MESSAGES)


def _sorting_messages(limits: Limits) -> Sort:
    return lambda scope, headers, body: classify_pair_message(
        scope["method"], headers, _named_session(scope), body, limits
    )


def _named_session(scope: Scope) -> str | None:
    given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session_id", [])
    return given[0] if len(given) == 1 else None
