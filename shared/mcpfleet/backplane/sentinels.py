"""The URL of Sentinels, which tell where the master of a service is; each new connection asks them anew.

`redis+sentinel://user:password@a:26379,b:26379/service/0?option=value`, or `rediss+sentinel://` for TLS. User,
password, database and options are the master's. TLS and its options hold for the Sentinels too; to log in at them there
are the options `sentinel_username` and `sentinel_password`.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import SystemRandom
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from redis.exceptions import RedisError

from mcpfleet.backplane.dial import URL_RULE, Connection, Dial, dialer, exchange
from mcpfleet.backplane.seeds import addresses_in
from mcpfleet.backplane.topology import Address
from mcpfleet.errors import SettingsError, Unavailable

DEFAULT_PORT: Final = 26379

_URL = re.compile(
    r"(?P<scheme>rediss?)\+sentinel://(?P<user>(?:[^/?#]*@)?)(?P<hosts>[^/?#@]+)"
    r"/(?P<service>[^/?#]+)(?P<database>(?:/[^/?#]*)?)(?:\?(?P<options>[^#]*))?"
)

_random: Final = SystemRandom()


@dataclass(frozen=True, slots=True)
class Sentinels:
    """What the URL says: how to reach each Sentinel, the name of the service, and how to reach its master."""

    urls: tuple[str, ...]
    service: str
    _before: str
    _after: str

    @classmethod
    def named(cls, url: str) -> bool:
        """Whether the URL is one of Sentinels."""
        return url.startswith(("redis+sentinel://", "rediss+sentinel://"))

    @classmethod
    def parse(cls, url: str) -> "Sentinels":
        """Read it; `SettingsError` if it cannot be used."""
        parts = _URL.fullmatch(url)
        if parts is None:
            raise SettingsError(f"the Redis URL cannot be used: {URL_RULE}")
        scheme, options = f"{parts['scheme']}://", dict(parse_qsl(parts["options"] or "", keep_blank_values=True))
        login = _login(options.pop("sentinel_username", ""), options.pop("sentinel_password", ""))
        tls = urlencode({name: value for name, value in options.items() if name.startswith("ssl_")})
        hosts = addresses_in(parts["hosts"], DEFAULT_PORT)
        return cls(
            tuple(f"{scheme}{login}{host}?{tls}" for host in hosts),
            unquote(parts["service"]),
            f"{scheme}{parts['user']}",
            f"{parts['database']}?{urlencode(options)}",
        )

    def url(self, master: Address) -> str:
        """The URL of the server that is the master."""
        return f"{self._before}{master}{self._after}"

    def dialer(self, *, timeout: float, name: str) -> Dial:
        """Return a `Dial` for whichever server is the master when it is used; see `dial.dialer`.

        No more than half of `timeout` is spent on asking, an equal share of it for each Sentinel.
        """
        share = timeout / 2 / len(self.urls)
        sentinels = [dialer(url, timeout=share, name=name) for url in self.urls]
        dialer(self.url(Address("sentinel-knows", 1)), timeout=timeout, name=name)  # which refuses what cannot be used

        @asynccontextmanager
        async def dial() -> AsyncIterator[Connection]:
            master = await _master(self.service, sentinels, share)
            async with dialer(self.url(master), timeout=timeout, name=name)() as connection:
                yield connection

        return dial


def _login(user: str, password: str) -> str:
    return f"{quote(user, safe='')}:{quote(password, safe='')}@" if user or password else ""


async def _master(service: str, sentinels: list[Dial], share: float) -> Address:
    """Where the first that knows says the master is; in no fixed order, so that none misleads us time and again."""
    failure = f"no Sentinel knows {service!r}"
    for sentinel in _random.sample(sentinels, len(sentinels)):
        try:
            async with asyncio.timeout(share), sentinel() as connection:
                [reply] = await exchange(connection, (b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", service.encode()))
        except (RedisError, OSError) as error:
            failure = f"a Sentinel does not answer: {str(error) or 'not in time'}"
            continue
        match reply:
            case [bytes(host), bytes(port)]:
                return Address(host.decode(), int(port))
            case RedisError():
                failure = f"a Sentinel does not tell where {service!r} is: {reply}"
    raise Unavailable(failure)
