"""What is said on a new connection before it is used: who are you, will you do, and here are the scripts."""

import asyncio
import logging
import math
import secrets
from collections.abc import Iterable

from redis.exceptions import RedisError

from mcpfleet.backplane.dial import Connection, exchange
from mcpfleet.backplane.scripts import Script
from mcpfleet.backplane.serverinfo import Durability, ServerInfo
from mcpfleet.errors import Unavailable

_log = logging.getLogger(__name__)


class Greeting:
    """Greets each new connection of one kind, and remembers the server that answered.

    The scripts are loaded each time, before the first command: a server that was restarted would else refuse those of
    two appends in the order they came, and take them in another.
    """

    def __init__(self, durability: Durability, scripts: Iterable[Script] = (), *, cluster: bool = False) -> None:
        self._durability = durability
        self._cluster = cluster
        self._scripts = tuple(scripts)
        self.objection: str | None = None
        """Why the server cannot be used as configured, if so."""
        self.run_id = ""
        """The run of the server that was greeted last; a restart or failover changes it."""
        self.changed_at = -math.inf
        """When (the loop's time) another run than before was greeted."""

    async def __call__(self, connection: Connection) -> None:
        """Greet; raise `Unavailable` or redis-py's error if this connection cannot be used."""
        loading = [(b"SCRIPT", b"LOAD", script.text) for script in self._scripts]
        info, *loaded = await exchange(connection, (b"INFO",), *loading)
        for refusal in loaded:
            if isinstance(refusal, RedisError):
                raise refusal
        if isinstance(info, bytes):
            self._judge(ServerInfo.parse(info))
        else:
            _log.warning(
                "Redis does not answer INFO, so neither its version nor its eviction policy is known: %s", info
            )
            self._met(secrets.token_hex(8))

    def _judge(self, server: ServerInfo) -> None:
        self.objection = server.objection(self._durability, cluster=self._cluster)
        if self.objection:
            raise Unavailable(self.objection)
        if server.role == "slave":
            raise Unavailable("this Redis is a replica")
        if self._met(server.run_id) and (voided := server.voided()):
            _log.warning("%s", voided)

    def _met(self, run_id: str) -> bool:
        known, self.run_id = self.run_id, run_id
        if known and known != run_id:
            self.changed_at = asyncio.get_running_loop().time()
        return known != run_id
