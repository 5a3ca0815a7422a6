"""A quota over real processes: exact, and kept through a failover to a host whose clock is wrong."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import pytest

from mcpfleet_service.tether import tethered
from tests.redis_server import RedisServer
from tests.wall_clock import WallClock

PROCESSES: Final = 4
TIMES: Final = 50
LIMIT: Final = 70
WINDOW: Final = 600.0


@contextmanager
def spender(url: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is ready to spend."""
    command = [sys.executable, "-m", "tests.backplane.spender", url, str(TIMES), str(LIMIT), str(WINDOW)]
    with subprocess.Popen(tethered(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def spent(url: str) -> tuple[int, float]:
    """How many events four processes at once were allowed, and how long the others are to wait at most."""
    with ExitStack() as held:
        processes = [held.enter_context(spender(url)) for _ in range(PROCESSES)]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        told = [process.communicate(timeout=30)[0].split() for process in processes]
    return sum(int(allowed) for allowed, _ in told), max(float(wait) for _, wait in told)


def test_four_processes_at_once_spend_exactly_the_limit(own_redis: RedisServer) -> None:
    allowed, wait = spent(own_redis.url)
    assert allowed == LIMIT
    assert WINDOW - 60 < wait <= WINDOW


@pytest.mark.parametrize("skew", [30, -30])
def test_a_replica_whose_clock_is_wrong_goes_on_with_the_same_quota(
    launch_redis: Callable[..., RedisServer], wall_clock: WallClock, skew: int
) -> None:
    master, replica = launch_redis(), launch_redis(**wall_clock.environ)
    wall_clock.set(skew)
    with replica.client() as client:
        client.replicaof("127.0.0.1", str(master.port))
    assert spent(master.url)[0] == LIMIT
    with master.client() as client:
        client.set("replicated", "so far", px=60_000)
        assert client.wait(1, 10_000) == 1
    master.kill()
    with replica.client() as client:
        client.replicaof("NO", "ONE")
    allowed, wait = spent(replica.url)
    assert allowed == 0, "the failover gave the quota away again"
    assert WINDOW - skew - 60 < wait <= WINDOW - skew
