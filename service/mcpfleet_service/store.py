"""The Redis that the settings name, under the names of one server."""

import hashlib
import re
from contextlib import AbstractAsyncContextManager

from mcpfleet.backplane.base import Backplane
from mcpfleet.errors import SettingsError
from mcpfleet_service.settings import Settings
from mcpfleet_service.target import find_server


def redis_of(server_name: str, url: str, settings: Settings) -> AbstractAsyncContextManager[Backplane]:
    """A connection to the store of the server's fleet, for the time of a block."""
    from mcpfleet.backplane.redis import RedisBackplane  # noqa: PLC0415 - an extra that one process alone can do without

    return RedisBackplane.at(
        url,
        namespace=settings.namespace or namespace_of(server_name),
        durability=settings.durability or "none",
        command_timeout=settings.command,
    )


def store_of_fleet(settings: Settings, kept: str) -> AbstractAsyncContextManager[Backplane]:
    """The store of a running fleet, for whoever operates it; `SettingsError` where there is none to keep what is meant.

    `kept` says what that is, for the error.
    """
    if settings.redis_url is None:
        raise SettingsError(f"MCPFLEET_REDIS_URL is not set: a process without Redis keeps its {kept} to itself")
    name = "" if settings.namespace is not None else find_server(settings).name
    return redis_of(name, settings.redis_url, settings)


def namespace_of(name: str) -> str:
    """A server's name as a namespace; where that changes it, with a digest, so that no two names share one."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:64]
    return plain if plain == name else f"{plain[:47]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
