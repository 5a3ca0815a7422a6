"""The URL of a Cluster: some of its nodes, any of which tells where the others are.

`redis+cluster://user:password@a:6379,b:6379/0?option=value`, or `rediss+cluster://` for TLS. Whatever is not a host
holds for every node, those that only the Cluster names included.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from mcpfleet.backplane.dial import URL_RULE
from mcpfleet.backplane.topology import Address
from mcpfleet.errors import SettingsError

DEFAULT_PORT: Final = 6379

_URL = re.compile(
    r"(?P<scheme>rediss?)\+cluster://(?P<user>(?:[^/?#]*@)?)(?P<hosts>[^/?#@]+)/?0?(?P<options>(?:\?.*)?)"
)


@dataclass(frozen=True, slots=True)
class Seeds:
    """What the URL of a Cluster says."""

    addresses: tuple[Address, ...]
    _before: str
    _after: str

    @classmethod
    def named(cls, url: str) -> bool:
        """Whether the URL is one of a Cluster."""
        return url.startswith(("redis+cluster://", "rediss+cluster://"))

    @classmethod
    def parse(cls, url: str) -> "Seeds":
        """Read it; `SettingsError` if it cannot be used. A Cluster has no database but 0."""
        parts = _URL.fullmatch(url)
        if parts is None:
            raise SettingsError(f"the Redis URL cannot be used: {URL_RULE}")
        return cls(
            addresses_in(parts["hosts"], DEFAULT_PORT), f"{parts['scheme']}://{parts['user']}", f"/0{parts['options']}"
        )

    def url(self, node: Address) -> str:
        """The URL of one node, with everything that holds for all."""
        return f"{self._before}{node}{self._after}"


def addresses_in(hosts: str, default_port: int) -> tuple[Address, ...]:
    """Read hosts that are separated by commas; `SettingsError` if one of them is none."""
    return tuple(_address(host, default_port) for host in hosts.split(","))


def _address(host: str, default_port: int) -> Address:
    try:
        parts = urlsplit(f"redis://{host}")
        name, port = parts.hostname, parts.port
    except ValueError:
        name = None
    if not name:
        raise SettingsError(f"the Redis URL cannot be used: {URL_RULE}")
    return Address(name, port or default_port)
