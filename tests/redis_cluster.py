"""The real Cluster of all tests: three masters of local binaries, and slots that can be moved between them."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import redis

from mcpfleet.backplane.topology import SLOTS, slot_of
from tests.redis_server import RedisServer, SharedRedis, free_port

MASTERS: Final = 3
FORM_SECONDS: Final = 30.0


class RedisCluster:
    """Running servers as the masters of one Cluster, with the slots in equal shares.

    A dead master's slots are away and the others are served all the same. Every method returns when it has happened.
    """

    def __init__(self, masters: tuple[RedisServer, ...]) -> None:
        self.masters = masters
        self._clients = {master: master.client() for master in masters}
        share = -(-SLOTS // len(masters))
        for number, client in enumerate(self._clients.values()):
            first = number * share
            _said(client, "CLUSTER ADDSLOTSRANGE", first, min(first + share, SLOTS) - 1)
            _said(client, "CLUSTER SET-CONFIG-EPOCH", number + 1)
            for other in masters[:number]:
                _meet(client, other)
        self.await_whole()

    def close(self) -> None:
        """Close the connections to the masters."""
        for client in self._clients.values():
            client.close()

    @property
    def url(self) -> str:
        """Where clients find it: every master is a seed."""
        return f"redis+cluster://{','.join(f'127.0.0.1:{master.port}' for master in self.masters)}/0"

    @property
    def shared(self) -> SharedRedis:
        """The same for whoever may not break it."""
        return SharedRedis(self.url, tuple(master.url for master in self.masters))

    def scope_of(self, master: RedisServer) -> str:
        """The first of some scopes whose slot a master owns."""
        names = (f"scope-{number}" for number in range(10_000))
        return next(name for name in names if _owns(self._clients[master], slot_of(name)))

    def begin(self, scope: str) -> "Move":
        """Let the slot of a scope be on its way to the next master, with no key moved yet."""
        slot, clients = slot_of(scope), list(self._clients.values())
        source = next(client for master, client in self._clients.items() if master.running and _owns(client, slot))
        number = (clients.index(source) + 1) % len(clients)
        move = Move(slot, source, clients[number], self.masters[number].port, tuple(clients))
        move.begin()
        return move

    def move(self, scope: str) -> None:
        """Move the slot of a scope, with its keys, to another master."""
        move = self.begin(scope)
        move.carry()
        move.finish()

    def add_replica(self, master: RedisServer, replica: RedisServer) -> None:
        """Make a fresh node the replica of a master, and return when it is in step and everybody knows of it."""
        identity = _identity(self._clients[master])
        with replica.client() as its:
            _meet(its, master)
            _await(lambda: identity in _said(its, "CLUSTER", "NODES"), "the replica meets nobody")
            _said(its, "CLUSTER REPLICATE", identity)
            own = _identity(its)
            _await(
                lambda: all(_follows(client, own, identity) for client in self._clients.values()),
                "the replica is not known",
            )
            _await(
                lambda: bool(its.info("replication").get("master_link_status") == "up"),
                "the replica does not come in step",
            )

    def await_whole(self) -> None:
        """Return once every master knows of every slot that it is served."""
        _await(
            lambda: all(_serves(client, len(self.masters)) for client in self._clients.values()),
            "the Cluster does not form",
        )


@dataclass(frozen=True, slots=True)
class Move:
    """A slot on its way from one master to another."""

    slot: int
    source: redis.Redis
    target: redis.Redis
    port: int
    """The target's."""
    masters: tuple[redis.Redis, ...]

    def begin(self) -> None:
        """Tell both, whatever became of the last move."""
        for client in (self.source, self.target):
            _said(client, "CLUSTER SETSLOT", self.slot, "STABLE")
        _said(self.target, "CLUSTER SETSLOT", self.slot, "IMPORTING", _identity(self.source))
        _said(self.source, "CLUSTER SETSLOT", self.slot, "MIGRATING", _identity(self.target))

    def carry(self, count: int = 1000) -> int:
        """Move so many of its keys; return how many there were to move."""
        keys = _said(self.source, "CLUSTER GETKEYSINSLOT", self.slot, count)
        if keys:
            _said(self.source, "MIGRATE", "127.0.0.1", self.port, "", 0, 5000, "KEYS", *keys)
        return len(keys)

    def deny(self) -> None:
        """Let the target know nothing of it."""
        _said(self.target, "CLUSTER SETSLOT", self.slot, "STABLE")

    def finish(self) -> None:
        """Make the target the owner once no key is left behind, and tell everybody."""
        _await(lambda: not self.carry(), "some keys do not leave")  # as one that has expired, until it is removed
        owner = _identity(self.target)
        for client in (self.target, *(each for each in self.masters if each is not self.target)):
            _said(client, "CLUSTER SETSLOT", self.slot, "NODE", owner)
        _await(  # a claim that is still under way would else win over the next move's
            lambda: len({_epoch(client, owner) for client in self.masters}) == 1, "the masters do not agree on an epoch"
        )


def _said(client: redis.Redis, *words: str | bytes | int) -> Any:
    return client.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py has no types for it


def _await(true: Callable[[], bool], complaint: str) -> None:
    deadline = time.monotonic() + FORM_SECONDS
    while not true():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.002)


def _identity(client: redis.Redis) -> bytes:
    return bytes(_said(client, "CLUSTER", "MYID"))


def _epoch(client: redis.Redis, master: bytes) -> bytes:
    """The configuration epoch of a master, as another knows it."""
    lines = _said(client, "CLUSTER", "NODES").splitlines()
    return next(bytes(fields[6]) for fields in map(bytes.split, lines) if fields[0] == master)


def _meet(client: redis.Redis, other: RedisServer) -> None:
    with other.client() as its:
        bus = its.config_get("cluster-port")["cluster-port"]
    _said(client, "CLUSTER MEET", "127.0.0.1", other.port, bus)


def _follows(client: redis.Redis, replica: bytes, master: bytes) -> bool:
    lines = _said(client, "CLUSTER", "NODES").splitlines()
    return any(fields[0] == replica and fields[3] == master for fields in map(bytes.split, lines))


def _serves(client: redis.Redis, masters: int) -> bool:
    """Whether a master is ready, and knows of so many that own all slots together."""
    facts = _said(client, "CLUSTER", "INFO").decode()
    return {"cluster_state:ok", f"cluster_size:{masters}", f"cluster_slots_ok:{SLOTS}"} <= set(facts.split())


def _owns(client: redis.Redis, slot: int) -> bool:
    lines = _said(client, "CLUSTER", "NODES").decode().splitlines()
    fields = next(fields for line in lines if "myself" in (fields := line.split())[2])
    ranges = (part.partition("-") for part in fields[8:] if not part.startswith("["))  # which is a slot on its way
    return any(int(first) <= slot <= int(last or first) for first, _, last in ranges)


def node_options() -> tuple[str, ...]:
    """What makes a server a node."""
    return (
        *("--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--cluster-node-timeout", "1000"),
        *("--cluster-require-full-coverage", "no"),
    )


@pytest.fixture(scope="session")
def running_cluster(redis_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    """The Cluster that tests share; slots may be moved, and nothing broken."""
    masters: list[RedisServer] = []
    try:
        for _ in range(MASTERS):
            options = (*node_options(), "--appendfsync", "everysec")
            masters.append(RedisServer(redis_binary, tmp_path_factory.mktemp("node"), *options))
            masters[-1].start()
        with closing(RedisCluster(tuple(masters))) as cluster:
            yield cluster
    finally:
        for master in masters:
            master.kill()


@pytest.fixture
def redis_cluster(running_cluster: RedisCluster) -> SharedRedis:
    """The same as something like one server."""
    return running_cluster.shared


@pytest.fixture
def own_cluster(launch_redis: Callable[..., RedisServer]) -> Iterator[RedisCluster]:
    """A Cluster of the test's own, to be broken."""
    with closing(RedisCluster(tuple(launch_redis(*node_options()) for _ in range(MASTERS)))) as cluster:
        yield cluster
