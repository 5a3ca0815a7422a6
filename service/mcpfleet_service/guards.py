"""Who may talk to the endpoint at all: the host a request names, and the web page it comes from.

A page that a browser loaded from anywhere can reach a server on the visitor's machine; its name in Host or Origin gives
it away (transports, "Security Warning"; DNS rebinding).
"""

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import Rejected
from mcpfleet.protocol.jsonrpc import INVALID_REQUEST


@dataclass(frozen=True, slots=True)
class Guard:
    """The hosts and origins that requests may name."""

    hosts: Collection[str] | None
    """Host names without ports, lower-case; None takes any."""
    origins: Collection[str]
    """Origins of web pages that may send requests, beside those on the hosts themselves."""

    def check(self, headers: Headers) -> Rejected | None:
        """The refusal of a request by its Host or Origin, before anything else is looked at."""
        host = _without_port(headers.get("host") or "")
        if self.hosts is not None and (host not in self.hosts or headers.disagree("host")):
            return _forbidden("host", "This host is not served here; see MCPFLEET_ALLOWED_HOSTS")
        if any(not self._allows(origin, host) for origin in headers.all("origin")):
            return _forbidden("origin", "Requests from this origin are not served; see MCPFLEET_ALLOWED_ORIGINS")
        return None

    def _allows(self, origin: str, host: str) -> bool:
        if origin.lower() in self.origins:
            return True
        try:
            named = urlsplit(origin).netloc.lower()
        except ValueError:
            return False
        # A page of the very host that is served may call it: no other page can name itself so.
        return bool(named) and _without_port(named) == host


def _without_port(netloc: str) -> str:
    """The host of `host:port`, with an IPv6 address in its brackets."""
    host, colon, port = netloc.strip().lower().rpartition(":")
    return (
        host
        if colon and port.isascii() and port.isdigit() and (host.endswith("]") or ":" not in host)
        else netloc.lower()
    )


def _forbidden(reason: str, words: str) -> Rejected:
    return Rejected(403, INVALID_REQUEST, words, {"reason": reason})
