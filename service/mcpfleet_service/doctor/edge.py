"""What lets requests in, and how many: hosts, limits, times."""

import os
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from mcpfleet_service.doctor.finding import Finding, fault, fine, warning
from mcpfleet_service.settings import Settings

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


def examined(settings: Settings) -> Iterator[Finding]:
    """The settings that need no other machine to be judged."""
    yield from _hosts(settings)
    yield from _limits(settings)
    yield from _times(settings)


def _hosts(settings: Settings) -> Iterator[Finding]:
    hosts = settings.allowed_hosts
    if hosts is None:
        yield warning(
            "hosts",
            "MCPFLEET_ALLOWED_HOSTS=none accepts requests for any host, so a web page can reach this server by DNS "
            "rebinding: name the hosts that clients use",
        )
    elif _is_loopback(settings.host) or not _LOOPBACK.issuperset(hosts):
        yield fine("hosts", f"requests may name {', '.join(hosts)}")
    else:
        yield fault(
            "hosts",
            f"MCPFLEET_HOST={settings.host} listens to other machines, and only {', '.join(hosts)} may be named: set "
            "MCPFLEET_ALLOWED_HOSTS to the hosts that clients use",
        )


def _limits(settings: Settings) -> Iterator[Finding]:
    off = [
        name
        for name, value in (
            ("MAX_SESSIONS", settings.max_sessions),
            ("MAX_LISTEN_STREAMS", settings.max_listens),
            ("MAX_BODY_BYTES", settings.max_body),
            ("MAX_TASKS", settings.max_tasks),
            ("SESSION_IDLE_SECONDS", settings.session_idle),
        )
        if value is None
    ]
    if off:
        yield warning("limits", f"nothing bounds {', '.join(f'MCPFLEET_{name}' for name in off)}: give each a number")
    else:
        yield fine("limits", "every cap and expiry is set")
    cores = os.cpu_count() or 1
    if settings.workers > 2 * cores:
        yield warning(
            "workers",
            f"MCPFLEET_WORKERS={settings.workers} processes share {cores} cores: one or two a core serve best",
        )


def _times(settings: Settings) -> Iterator[Finding]:
    if settings.keepalive is None or settings.keepalive > 55:
        yield warning(
            "streams",
            "proxies often cut what is silent for 60 seconds: set MCPFLEET_KEEPALIVE_SECONDS below that, such as 15",
        )
    if settings.lease < 3 * settings.command:
        yield fault(
            "lease",
            f"MCPFLEET_LEASE_SECONDS={settings.lease:g} leaves no time for a renewal that takes "
            f"MCPFLEET_COMMAND_SECONDS={settings.command:g}: make it at least three times as long",
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
