"""Where a server is, and the ways to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx2

from mcpfleet.client.transport import Transport
from mcpfleet.client.transports.http import HttpTransport, default_client
from mcpfleet.client.transports.stdio import StdioTransport

Open = Callable[[], Transport]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One server: how to reach it, and by what name its era is remembered."""

    open: Open
    older: Open | None = None
    """The way of the oldest revision, where there is one."""
    origin: str = ""
    """What its era is a property of; nothing is remembered of one without."""


def at_url(
    url: str,
    *,
    http: httpx2.AsyncClient | None = None,
    headers: Mapping[str, str] | None = None,
    auth: httpx2.Auth | None = None,
) -> Target:
    """The server at a URL; a client that is given stays open, and has its own headers and authentication.

    `ValueError` for what is no http or https URL, or one with a password in it.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ValueError("the URL of a server is http or https, has a host, and no user or password")
    if http is not None and (headers or auth):
        raise ValueError("headers and auth are those of the HTTP client that is given")

    def open_() -> Transport:
        if http is not None:
            return HttpTransport(url, http)
        return HttpTransport(url, default_client(headers=headers, auth=auth), owned=True)

    return Target(open=open_, origin=f"{parts.scheme}://{parts.netloc}")


def by_command(command: Sequence[str]) -> Target:
    """The server that a command starts."""
    if not command:
        raise ValueError("a command has at least the name of a program")
    return Target(open=lambda: StdioTransport(command))


def over(transport: Transport) -> Target:
    """The server at the other end of a transport."""
    return Target(open=lambda: transport)
