"""The Redis that the settings name: what it is, what it allows, what it would lose, and what time it has."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Final

from mcpfleet.backplane.base import ABSENT, Backplane, Plan, Put, Remove, Unplan, mint
from mcpfleet.backplane.dial import Reply
from mcpfleet.backplane.keyring import Keyring
from mcpfleet.backplane.node import Node
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.backplane.serverinfo import ServerInfo, facts
from mcpfleet.errors import BackplaneError, KeyRefused, SettingsError, Unavailable
from mcpfleet_service.doctor.finding import Finding, fault, fine, warning
from mcpfleet_service.settings import Settings
from mcpfleet_service.store import redis_of

TTL: Final = 30.0
"""How long what was written for a look lives at most."""
SKEW_SECONDS: Final = 1.0
"""By how much two clocks may differ before somebody is told."""
SLOW_SECONDS: Final = 0.05
COMMANDS: Final = (
    *("CLIENT", "DEL", "EVAL", "EVALSHA", "GET", "GETEX", "HELLO", "HINCRBY", "HMGET", "HSET", "INFO", "PEXPIRE"),
    *("PING", "PTTL", "SCRIPT", "SELECT", "SET", "SPUBLISH", "SSUBSCRIBE", "SUNSUBSCRIBE", "TIME", "XADD", "XRANGE"),
    *("ZADD", "ZCARD", "ZCOUNT", "ZRANGE", "ZREM", "ZREMRANGEBYSCORE", "ZSCORE"),
)
"""What a server is sent, and what scripts call there; with a durability WAIT or WAITAOF too, in a Cluster CLUSTER."""


async def examined(settings: Settings, name: str | None) -> Sequence[Finding]:
    """What was found of the store, under the names of the server that is called so."""
    if settings.redis_url is None:
        return [
            warning(
                "redis",
                "MCPFLEET_REDIS_URL is not set: one process keeps everything in memory, and its end is the end of it",
            )
        ]
    try:
        async with redis_of(name or "mcpfleet", settings.redis_url, settings) as backplane:
            if not isinstance(backplane, RedisBackplane):
                raise TypeError("a URL of Redis has led to another store")
            of_servers = [each for node in backplane.servers.nodes for each in await _of_server(node)]
            return [*of_servers, await _verbs(backplane), await _keys(backplane, settings)]
    except (SettingsError, Unavailable) as error:
        return [fault("redis", f"it cannot be used: {error}")]


async def _of_server(node: Node) -> Sequence[Finding]:
    asked, wall = time.monotonic(), time.time()
    told = await node.link.submit(b"TIME")
    took = time.monotonic() - asked
    text = await node.link.submit(b"INFO")
    if not isinstance(text, bytes):
        return [warning("redis", "INFO is not answered, so nothing of it is known: allow the command")]
    server, told_of = ServerInfo.parse(text), facts(text)
    return [
        fine("redis", f"{server} answers in {1000 * took:.1f} ms")
        if took < SLOW_SECONDS
        else warning("redis", f"{server} answers in {1000 * took:.0f} ms: each legacy request waits for it once"),
        _eviction(server),
        _disk(server, told_of),
        *_replication(told_of, await _config(node, b"min-replicas-to-write")),
        _clock(told, wall + took / 2),
    ]


def _eviction(server: ServerInfo) -> Finding:
    voided = server.voided()
    return fine("eviction", "maxmemory-policy noeviction") if voided is None else fault("eviction", voided)


def _disk(server: ServerInfo, told: Mapping[str, str]) -> Finding:
    if not server.aof:
        return warning(
            "disk",
            "appendonly no: a restart forgets sessions, calls and tasks; set appendonly yes, with appendfsync always "
            "where nothing acknowledged may be lost",
        )
    if told.get("aof_last_write_status", "ok") != "ok":
        return fault("disk", "the append-only file cannot be written: see the log of Redis")
    return fine("disk", "appendonly yes")


def _replication(told: Mapping[str, str], needed: str | None) -> Iterator[Finding]:
    replicas = int(told.get("connected_slaves", "0"))
    if replicas and needed == "0":
        yield warning(
            "replicas",
            f"{replicas} replicas, and min-replicas-to-write 0: a master that is cut off from them goes on taking "
            "writes that a failover then loses; set it to 1",
        )
    elif replicas:
        yield fine("replicas", f"{replicas} in step")


def _clock(told: Reply, wall: float) -> Finding:
    match told:
        case [bytes(seconds), bytes(microseconds)]:
            skew = int(seconds) + int(microseconds) / 1e6 - wall
            if abs(skew) <= SKEW_SECONDS:
                return fine("clock", f"within {SKEW_SECONDS:g} s of this machine's")
            how = "ahead of" if skew > 0 else "behind"
            return warning(
                "clock",
                f"it is {abs(skew):.1f} s {how} this machine's: the times that clients are told will be wrong; run NTP "
                "on both",
            )
    return warning("clock", "TIME is not answered: allow the command")


async def _verbs(backplane: Backplane) -> Finding:
    """Do once whatever the fleet will do, in a scope of its own."""
    for verb, act in _steps(backplane, f"doctor-{mint()}"):
        try:
            await act()
        except BackplaneError as error:
            return fault("access", f"{verb} fails: {error}; its user needs the commands {', '.join(COMMANDS)}")
    return fine("access", "every command is allowed")


def _steps(backplane: Backplane, scope: str) -> Iterator[tuple[str, Callable[[], Awaitable[object]]]]:
    cell, log, agenda, pool = f"{scope}/cell", f"{scope}/log", f"{scope}/agenda", f"{scope}/pool"
    yield "put", lambda: backplane.put(cell, b"1", ttl=TTL, expect=ABSENT)
    yield "put", lambda: backplane.put(cell, b"2", ttl=TTL, expect=b"1")
    yield "get", lambda: backplane.get(cell, ttl=TTL)
    yield "open", lambda: backplane.open(log, ttl=TTL)
    yield "watch", lambda: _heard(backplane, log)
    yield (
        "commit",
        lambda: backplane.commit(
            Put(f"{scope}/other", b"", TTL), Plan(agenda, "a", 0, TTL), expect={cell: b"2"}, ring=(log,)
        ),
    )
    yield "take", lambda: backplane.take(agenda, hold=TTL)
    yield "admit", lambda: backplane.admit(pool, "a", ttl=TTL, cap=1)
    yield "admit", lambda: backplane.admit(pool, "a", ttl=0, cap=1)
    yield "commit", lambda: backplane.commit(Remove(f"{scope}/other"), Unplan(agenda, "a"), expect={})
    yield "delete", lambda: backplane.delete(log)
    yield "delete", lambda: backplane.delete(cell)


async def _heard(backplane: Backplane, log: str) -> None:
    """Read what was appended once its bell has rung; `Unavailable` if it does not."""
    start = await backplane.open(log, ttl=TTL)
    try:
        async with asyncio.timeout(2.0), backplane.watch(log, poll=60.0) as bell:
            await bell.rung()  # that of the subscription itself
            await backplane.append(log, b"", ttl=TTL, keep=1)
            await bell.rung()
    except TimeoutError:
        raise Unavailable(
            "nothing is heard on the channel that a write is announced on (SPUBLISH, SSUBSCRIBE)"
        ) from None
    await backplane.read(log, after=start)


async def _keys(backplane: Backplane, settings: Settings) -> Finding:
    ring = Keyring(backplane, wrapping=settings.wrapping_key)
    kept = [key_id for key_id, is_kept in await ring.listed() if is_kept]
    try:
        for key_id in kept:
            await ring.find(key_id)
    except KeyRefused as refused:
        return fault("keys", f"{refused}: MCPFLEET_KEY_ENCRYPTION_KEY must be the same for all processes")
    if settings.wrapping_key is None:
        return warning(
            "keys",
            "MCPFLEET_KEY_ENCRYPTION_KEY is not set: who can read Redis can read the keys that seal requestState",
        )
    return fine("keys", f"{len(kept)} in the ring, wrapped")


async def _config(node: Node, name: bytes) -> str | None:
    """A setting of the server, None where it does not tell, as managed ones do."""
    try:
        match await node.link.submit(b"CONFIG", b"GET", name):
            case [_, bytes(value)]:
                return value.decode()
    except BackplaneError:
        pass
    return None
