"""The `StoreControl` of one namespace in Redis, for tests."""

import asyncio
from dataclasses import dataclass
from typing import Final

from mcpfleet.backplane.redis import RedisBackplane

_AGE: Final = b"""#!lua
-- KEYS: any   ARGV: milliseconds that pass
if redis.call('TYPE', KEYS[1]).ok == 'zset' then
  for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    redis.call('ZINCRBY', KEYS[1], -ARGV[1], member)
  end
end
local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then redis.call('PEXPIREAT', KEYS[1], ends - ARGV[1]) end
"""


@dataclass(frozen=True, slots=True)
class SavedKey:
    """One key as DUMP gives it, and the Unix time in milliseconds at which it ends."""

    name: bytes
    value: bytes
    ends: int


class RedisControl:
    """Works through the first of some backplanes of one namespace; all of them ring after a `restore`."""

    def __init__(self, backplane: RedisBackplane, *others: RedisBackplane) -> None:
        self._backplanes = (backplane, *others)
        self._servers = backplane.servers
        self._pattern = f"{backplane.layout.prefix}*".encode()

    async def save(self) -> list[SavedKey]:
        """See `StoreControl.save`."""
        return [saved for key in await self._keys() if (saved := await self._save(key))]

    async def restore(self, state: list[SavedKey]) -> None:
        """See `StoreControl.restore`."""
        for key in await self._keys():
            await self._servers.submit(key, b"DEL", key)
        for saved in state:
            await self._servers.submit(saved.name, b"RESTORE", saved.name, saved.ends, saved.value, b"ABSTTL")
        for backplane in self._backplanes:
            backplane.reconnect()

    async def age(self, seconds: float) -> None:
        """See `StoreControl.age`."""
        passed = round(seconds * 1000)
        for key in await self._keys():
            await self._servers.submit(key, b"EVAL", _AGE, 1, key, passed)

    async def names(self) -> list[str]:
        """See `StoreControl.names`."""
        return sorted(key.decode() for key in await self._keys())

    async def _keys(self) -> list[bytes]:
        found: set[bytes] = set()
        for node in self._servers.nodes:
            cursor = b"0"
            while True:
                match await node.link.submit(b"SCAN", cursor, b"MATCH", self._pattern, b"COUNT", 1000):
                    case [bytes(cursor), list(page)]:
                        found.update(key for key in page if isinstance(key, bytes))
                if cursor == b"0":
                    break
        return sorted(found)

    async def _save(self, key: bytes) -> SavedKey | None:
        value, ends = await asyncio.gather(
            self._servers.submit(key, b"DUMP", key), self._servers.submit(key, b"PEXPIRETIME", key)
        )
        if isinstance(value, bytes) and isinstance(ends, int):
            return SavedKey(key, value, max(0, ends))
        return None
