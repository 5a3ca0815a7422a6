import pytest

from mcpfleet.backplane.serverinfo import Durability, ServerInfo


def info(**facts: str) -> ServerInfo:
    """What a server with these lines in its INFO is."""
    return ServerInfo.parse(b"# Server\r\n" + "".join(f"{k}:{v}\r\n" for k, v in facts.items()).encode())


@pytest.mark.parametrize(
    ("server", "fits"),
    [
        (info(redis_version="6.2.14"), False),
        (info(redis_version="7.0.0"), True),
        (info(redis_version="8.2.3"), True),
        (info(redis_version="10.0"), True),
        (info(redis_version="7.2.4", valkey_version="7.2.5"), True),
        (info(redis_version="7.2.4", valkey_version="9.1.2"), True),
        (info(redis_version="255.255.255"), True),
        (info(), False),
        (info(redis_version="unstable"), False),
    ],
)
def test_servers_older_than_the_oldest_are_refused(server: ServerInfo, fits: bool) -> None:
    objection = server.objection(Durability())
    assert (objection is None) == fits
    assert fits or "too old" in str(objection)


@pytest.mark.parametrize(
    ("server", "objection"),
    [
        (info(redis_version="7.0.15", aof_enabled="1"), "WAITAOF"),
        (info(redis_version="7.2.0", aof_enabled="0"), "append-only"),
        (info(redis_version="7.2.0", aof_enabled="1"), None),
        (info(redis_version="7.2.4", valkey_version="8.0.0", aof_enabled="1"), None),
    ],
)
def test_durability_on_disk_needs_a_server_that_can_say_so(server: ServerInfo, objection: str | None) -> None:
    found = server.objection(Durability(fsync=True))
    assert found is None if objection is None else objection in str(found)
    assert server.objection(Durability(replicas=2)) is None


def test_a_node_of_a_cluster_is_refused() -> None:
    assert "Cluster" in str(info(redis_version="7.0.15", cluster_enabled="1").objection(Durability()))
    assert info(redis_version="7.0.15", cluster_enabled="0").objection(Durability()) is None


def test_a_node_of_a_cluster_is_welcome_and_another_server_refused_where_a_cluster_is_expected() -> None:
    assert info(redis_version="7.0.15", cluster_enabled="1").objection(Durability(), cluster=True) is None
    alone = info(redis_version="7.0.15", cluster_enabled="0").objection(Durability(), cluster=True)
    assert "not a node of a Cluster" in str(alone)


def test_any_eviction_policy_but_none_voids_promises() -> None:
    assert info(redis_version="7.0", maxmemory_policy="noeviction").voided() is None
    for policy in ("allkeys-lru", "volatile-ttl"):
        assert policy in str(info(redis_version="7.0", maxmemory_policy=policy).voided())


def test_durability_is_none_replicas_or_fsync() -> None:
    assert not Durability.parse("none")
    assert Durability.parse("fsync") == Durability(fsync=True)
    assert Durability.parse("replicas:2") == Durability(replicas=2)
