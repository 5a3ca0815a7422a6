"""What a Redis server says of itself, and whether it will do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from mcpfleet.errors import SettingsError

OLDEST: Final = {"redis": (7, 0), "valkey": (7, 2)}
WAITAOF_SINCE: Final = {"redis": (7, 2), "valkey": (7, 2)}


@dataclass(frozen=True, slots=True)
class Durability:
    """How durable `settle` makes what was written: on so many replicas, or on the server's disk, or neither."""

    replicas: int = 0
    fsync: bool = False

    @classmethod
    def parse(cls, text: str) -> "Durability":
        """Read `none`, `replicas:N` or `fsync`; `SettingsError` for anything else."""
        kind, _, count = text.partition(":")
        match kind, count:
            case "none", "":
                return cls()
            case "fsync", "":
                return cls(fsync=True)
            case "replicas", _ if count.isascii() and count.isdecimal() and 1 <= int(count[:4]) <= 99:
                return cls(replicas=int(count))
        raise SettingsError(f"durability is none, replicas:N or fsync, not {text!r}")

    def __bool__(self) -> bool:
        return bool(self.replicas) or self.fsync


Kind: TypeAlias = Literal["redis", "valkey"]


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The part of INFO that decides whether, and how well, a server can be a backplane."""

    kind: Kind
    version: tuple[int, int]
    run_id: str
    role: str
    policy: str
    aof: bool
    cluster: bool

    @classmethod
    def parse(cls, info: bytes) -> "ServerInfo":
        """Read the reply to INFO; what it does not say is empty, and a version that it does not say is 0.0."""
        told = facts(info)
        kind: Kind = "valkey" if "valkey_version" in told else "redis"
        return cls(
            kind=kind,
            version=_version(told.get(f"{kind}_version", "")),
            run_id=told.get("run_id", ""),
            role=told.get("role", ""),
            policy=told.get("maxmemory_policy", ""),
            aof=told.get("aof_enabled") == "1",
            cluster=told.get("cluster_enabled") == "1",
        )

    def objection(self, durability: Durability, *, cluster: bool = False) -> str | None:
        """Why this server cannot be used as configured, by itself or as a node of a Cluster, if so."""
        if _older(self, OLDEST):
            return f"{self} is too old: Redis 7.0 or Valkey 7.2 is the oldest that will do"
        if self.cluster and not cluster:
            return f"{self} is a node of a Cluster: its URL begins with redis+cluster:// or rediss+cluster://"
        if cluster and not self.cluster:
            return f"{self} is not a node of a Cluster: its URL begins with redis:// or rediss://"
        if durability.fsync and _older(self, WAITAOF_SINCE):
            return f"durability fsync needs WAITAOF, which {self} does not have: Redis 7.2 or Valkey 7.2 is needed"
        if durability.fsync and not self.aof:
            return f"durability fsync needs an append-only file, and {self} has none (appendonly no)"
        return None

    def voided(self) -> str | None:
        """Which promises its eviction policy makes void, if any."""
        if self.policy in ("", "noeviction"):
            return None
        return (
            f"{self} evicts keys when it is full (maxmemory-policy {self.policy}): sessions, leases, single use and "
            "quotas may then be forgotten at any time; set noeviction"
        )

    def __str__(self) -> str:
        return f"{self.kind.capitalize()} {'.'.join(map(str, self.version))}"


def facts(info: bytes) -> Mapping[str, str]:
    """All that the reply to INFO says, by name."""
    return dict(line.split(":", 1) for line in info.decode(errors="replace").splitlines() if ":" in line)


def _version(text: str) -> tuple[int, int]:
    major, minor, *_ = [*(int(part) for part in text.split(".") if part.isdecimal()), 0, 0]
    return major, minor


def _older(server: ServerInfo, needed: Mapping[str, tuple[int, int]]) -> bool:
    return server.version < needed[server.kind]
