"""Connections to Redis: made by redis-py, which knows URLs, TLS and logging in, and used by us one command at a time.

What leaves this module has types of ours; of redis-py the rest of the backplane knows its exceptions only.
"""

import math
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

from hiredis import pack_command
from redis.asyncio.connection import Connection as TcpConnection
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, BusyLoadingError, RedisError, ResponseError

from mcpfleet.errors import SettingsError

Argument: TypeAlias = bytes | int
Reply: TypeAlias = bytes | int | list["Reply"] | None

URL_RULE: Final = (
    "it is redis://, rediss:// or unix://, for a Cluster redis+cluster:// or rediss+cluster:// and several hosts, for "
    "Sentinels redis+sentinel:// or rediss+sentinel://, several hosts and the name of the service as the path; "
    "hosts, ports and database number are what they say they are, and special characters of a user or password are "
    "percent-encoded"
)

REFUSALS: Final = (ResponseError, BusyLoadingError, AuthenticationError)
"""What redis-py raises for a reply that is an error; its other exceptions mean that there will be no reply."""


class Connection(Protocol):
    """The part of redis-py's connection that we use while it is open."""

    async def send_packed_command(self, command: Iterable[bytes], check_health: bool = True) -> None:
        """Write all pieces at once."""
        ...

    async def read_response(
        self, disable_decoding: bool = False, timeout: float | None = None, *, disconnect_on_error: bool = True
    ) -> Reply:
        """Wait for the next reply; raise it if it is an error."""
        ...


Dial: TypeAlias = Callable[[], AbstractAsyncContextManager[Connection]]
"""Connects, logs in and selects the database, for the time of a block. Whoever enters it has a deadline for that."""


class Dialer(Protocol):
    """Makes a `Dial` of one server for each of its uses, which the clients' name tells; see `dialer`."""

    def __call__(self, *, timeout: float, name: str) -> Dial: ...


def packed(*arguments: Argument) -> bytes:
    """A command as it goes over the wire."""
    command: bytes = pack_command(cast("Any", arguments))  # its stub asks for a tuple of exactly one
    return command


async def reply_on(connection: Connection) -> Reply:
    """The next reply, however long it takes; raise it if it is an error."""
    return await connection.read_response(disable_decoding=True, timeout=math.inf, disconnect_on_error=False)


async def exchange(connection: Connection, *commands: tuple[Argument, ...]) -> list[Reply | RedisError]:
    """Send commands in one write on a connection that nobody else uses; return the replies, errors among them."""
    await connection.send_packed_command([packed(*command) for command in commands], check_health=False)
    replies: list[Reply | RedisError] = []
    for _ in commands:
        try:
            replies.append(await reply_on(connection))
        except REFUSALS as refusal:
            replies.append(refusal)
    return replies


def code_and_text(refusal: RedisError) -> tuple[str, str]:
    """The first word of an error reply, which redis-py has cut off from those it knows, and its whole text."""
    text = str(refusal)
    known: object = getattr(refusal, "status_code", None)
    return (known, f"{known} {text}") if isinstance(known, str) else (text.partition(" ")[0], text)


def dialer(url: str, *, timeout: float, name: str) -> Dial:
    """Return a `Dial` for the server at a `redis://`, `rediss://` or `unix://` URL; its clients bear the name.

    Nothing is ever retried by redis-py, whatever the URL asks for: a command that is sent twice may happen twice.
    `timeout` bounds opening the socket, in seconds. A URL that cannot be used raises `SettingsError`.
    """
    try:
        options: dict[str, Any] = {**parse_url(url)}
    except ValueError:  # whose text may hold a part of the password
        raise SettingsError(f"the Redis URL cannot be used: {URL_RULE}") from None
    options.pop("max_connections", None)  # of a pool, which there is none
    connection_class = options.pop("connection_class", TcpConnection)
    database = urlsplit(url).path.strip("/")
    if "path" not in options and database and not database.isdecimal():  # redis-py would quietly take database 0
        raise SettingsError(f"the Redis URL cannot be used: {URL_RULE}")
    options |= {
        "client_name": name,
        "decode_responses": False,
        "health_check_interval": 0,
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "retry_on_error": [],
        "retry_on_timeout": False,
        "socket_connect_timeout": timeout,
        "socket_timeout": None,  # a deadline belongs to a command, not to a socket that many share
    }

    @asynccontextmanager
    async def dial() -> AsyncIterator[Connection]:
        connection = connection_class(**options)
        try:
            await connection.connect()
            yield cast("Connection", connection)
        finally:
            await connection.disconnect(nowait=True)

    try:
        connection_class(**options)
    except TypeError as error:
        raise SettingsError(f"the Redis URL has an option that cannot be used: {error}") from None
    return dial
