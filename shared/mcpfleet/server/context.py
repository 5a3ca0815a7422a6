"""What a tool sees of the request that it serves."""

import math
from collections.abc import Mapping
from typing import Any, Final, Literal

from mcpfleet.errors import Cancelled
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.jsonrpc import RequestId
from mcpfleet.protocol.revisions import Era
from mcpfleet.server.auth import Principal
from mcpfleet.server.caller import Caller
from mcpfleet.server.outlet import Outlet

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

SEVERITIES: Final[Mapping[str, int]] = {
    level: severity
    for severity, level in enumerate(("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"))
}
"""The levels of RFC 5424, least severe first (MCP: server/utilities/logging)."""


class Context:
    """The current request, and the way back to its client; the same in both eras.

    A tool gets one by a parameter annotated `Context`. It is good until the tool returns: later notifications are
    dropped.
    """

    __slots__ = ("_caller", "_cancelled", "_closed", "_outlet", "_progress")

    def __init__(self, caller: Caller, outlet: Outlet) -> None:
        self._caller = caller
        self._outlet = outlet
        self._progress = -math.inf
        self._cancelled = False
        self._closed = False

    @property
    def request_id(self) -> RequestId | None:
        """The JSON-RPC id of the request; not unique among requests in flight."""
        return self._caller.request_id

    @property
    def session_id(self) -> str | None:
        """The legacy session's id; None in the modern era."""
        return self._caller.session_id

    @property
    def principal(self) -> Principal | None:
        """Who sent this request (never whoever opened the session); None without authentication."""
        return self._caller.principal

    @property
    def headers(self) -> Headers:
        """The HTTP headers of this request."""
        return self._caller.headers

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of this request, as it came."""
        return self._caller.meta

    @property
    def client_info(self) -> Mapping[str, Any] | None:
        """What the client says of itself (`name`, `version`, …); never verified."""
        return self._caller.client_info

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """What the client declared it can do."""
        return self._caller.capabilities

    @property
    def protocol_version(self) -> str:
        """The protocol revision that this request is served in."""
        return self._caller.revision.date

    @property
    def era(self) -> Era:
        """How the client introduces itself: by a handshake, or on every request."""
        return self._caller.revision.era

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more; a synchronous tool should look now and then.

        The client has cancelled the request, or its time is up.
        """
        return self._cancelled

    def raise_if_cancelled(self) -> None:
        """Raise `Cancelled` if nobody waits for the result any more."""
        if self._cancelled:
            raise Cancelled

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the work is; nothing is sent unless it gave a progress token.

        Progress must increase: a value that does not exceed the last one is dropped (MCP: basic/patterns/progress).
        Raises `ValueError` for a value that is not finite.
        """
        if not math.isfinite(progress) or (total is not None and not math.isfinite(total)):
            raise ValueError("progress and total must be finite numbers")
        token = self._caller.progress_token
        if token is None or self._closed or progress <= self._progress:
            return
        self._progress = progress
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and self._caller.revision.progress_message:
            params["message"] = message
        await self._outlet.notify("notifications/progress", params, newest_of="progress")

    async def log(self, level: LogLevel, data: Any, *, logger: str | None = None) -> None:
        """Send a log message, if the client asked for messages of this severity (MCP: server/utilities/logging).

        Raises `ValueError` for an unknown level, and for `data` that is to be sent and has no JSON form.
        """
        if level not in SEVERITIES:
            raise ValueError(f"unknown log level {level!r}: one of {', '.join(SEVERITIES)}")
        wanted = self._caller.log_level
        if wanted is None or self._closed or SEVERITIES[level] < SEVERITIES[wanted]:
            return
        params: dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        await self._outlet.notify("notifications/message", params)

    def cancel(self) -> None:
        """Note that nobody waits for the result any more; the engine calls it."""
        self._cancelled = True

    def close(self) -> None:
        """Note that the request has ended: from here on nothing is sent; the engine calls it."""
        self._closed = True
