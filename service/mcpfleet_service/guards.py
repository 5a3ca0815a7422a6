"""Who may talk to the endpoint at all: the host a request names, and the web page it comes from.

A page that a browser loaded from anywhere can reach a server on the visitor's machine; its name in Host or Origin gives
it away (transports, "Security Warning"; DNS rebinding).
"""

from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import Rejected
from mcpfleet.protocol.jsonrpc import INVALID_REQUEST


class Guard:
    """Knows the hosts and origins that requests may name."""

    def __init__(self, hosts: Collection[str] | None, origins: Collection[str] | None) -> None:
        """A host without a port is served with any; `origins` are of pages beside those on the hosts themselves.

        None takes any host, or any page.
        """
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)
        self._origins = None if origins is None else frozenset(origin.lower() for origin in origins)

    def check(self, headers: Headers) -> Rejected | None:
        """The refusal of a request by its Host or Origin, before anything else is looked at."""
        named = (headers.get("host") or "").lower()
        host = _without_port(named)
        if self._hosts is not None and (self._hosts.isdisjoint((host, named)) or headers.disagree("host")):
            return _FOREIGN_HOST
        if any(not self._allows(origin, host) for origin in headers.all("origin")):
            return _FOREIGN_ORIGIN
        return None

    def _allows(self, origin: str, host: str) -> bool:
        if self._origins is None or origin.lower() in self._origins:
            return True
        if self._hosts is None:
            return False  # any page can name itself so: its name may point to this machine
        try:
            named = urlsplit(origin).netloc
        except ValueError:
            return False
        return _without_port(named) == host


def _without_port(netloc: str) -> str:
    """The host of `host:port` in lower case, with an IPv6 address in its brackets."""
    netloc = netloc.lower()
    host, colon, port = netloc.rpartition(":")
    if colon and port.isascii() and port.isdigit() and (host.endswith("]") or ":" not in host):
        return host
    return netloc


def _forbidden(reason: str, words: str) -> Rejected:
    return Rejected(403, INVALID_REQUEST, words, {"reason": reason})


_FOREIGN_HOST: Final = _forbidden("host", "This host is not served here; see MCPFLEET_ALLOWED_HOSTS")
_FOREIGN_ORIGIN: Final = _forbidden("origin", "Requests from this origin are not served; see MCPFLEET_ALLOWED_ORIGINS")
