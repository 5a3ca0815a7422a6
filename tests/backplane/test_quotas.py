"""A quota over four real processes: exact, also when commands are sent twice and after a failover to a wrong clock."""

import subprocess
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from mcpfleet_service.tether import tethered
from tests.processes import ROOT, environment, python
from tests.redis_server import RedisServer
from tests.wall_clock import WallClock

PROCESSES: Final = 4
TIMES: Final = 80
"""What each process asks for at once: more than the limit."""
LIMIT: Final = 70
WINDOW: Final = 600.0


class Spenders:
    """The processes, each told the same at the same time."""

    def __init__(self) -> None:
        command, environ = tethered(python("-m", "tests.backplane.spender")), environment({})
        self._processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ, cwd=ROOT)
            for _ in range(PROCESSES)
        ]

    def join(self, url: str, *, told: int = PROCESSES, resent: bool = False) -> None:
        """Share a quota, of which each process is told how many share it."""
        self._tell(f"join {url} {LIMIT} {WINDOW} {told}{' resent' * resent}")

    def leave(self) -> None:
        self._tell("leave")

    def spend(self) -> tuple[int, float]:
        """How many events all were allowed, and how long the others are to wait at most."""
        answers = [answer.split() for answer in self._tell(f"spend {TIMES}")]
        return sum(int(allowed) for allowed, _ in answers), max(float(wait) for _, wait in answers)

    def end(self) -> None:
        for process in self._processes:
            with process:
                process.kill()

    def _tell(self, line: str) -> list[str]:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
        return [process.stdout.readline() for process in self._processes if process.stdout is not None]


@pytest.fixture(scope="module")
def running() -> Iterator[Spenders]:
    """Four processes that spend nothing yet."""
    spenders = Spenders()
    try:
        yield spenders
    finally:
        spenders.end()


@pytest.fixture
def spenders(running: Spenders) -> Iterator[Spenders]:
    """The same four processes, and at the end of the test nothing is left of what they joined."""
    yield running
    running.leave()


@pytest.mark.parametrize("resent", [False, True])
def test_four_processes_at_once_spend_exactly_the_limit(
    own_redis: RedisServer, spenders: Spenders, *, resent: bool
) -> None:
    spenders.join(own_redis.url, resent=resent)
    allowed, wait = spenders.spend()
    assert allowed == LIMIT
    assert WINDOW - 60 < wait <= WINDOW
    assert spenders.spend()[0] == 0


@pytest.mark.parametrize("skew", [30, -30])
def test_a_replica_whose_clock_is_wrong_goes_on_with_the_same_quota(
    launch_redis: Callable[..., RedisServer], wall_clock: WallClock, spenders: Spenders, skew: int
) -> None:
    master, replica = launch_redis("--repl-diskless-sync-delay", "0"), launch_redis(**wall_clock.environ)
    wall_clock.set(skew)
    with replica.client() as client:
        client.replicaof("127.0.0.1", str(master.port))
    spenders.join(master.url)
    assert spenders.spend()[0] == LIMIT
    with master.client() as client:
        client.set("replicated", "so far", px=60_000)
        assert client.wait(1, 10_000) == 1
    master.kill()
    with replica.client() as client:
        client.replicaof("NO", "ONE")
    spenders.leave()
    spenders.join(replica.url)
    allowed, wait = spenders.spend()
    assert allowed == 0, "the failover gave the quota away again"
    assert WINDOW - skew - 60 < wait <= WINDOW - skew


@pytest.mark.parametrize(
    ("told", "alone"),
    [
        pytest.param(PROCESSES, LIMIT // PROCESSES * PROCESSES, id="known"),
        pytest.param(2 * PROCESSES, LIMIT // (2 * PROCESSES) * PROCESSES, id="configured for twice as many"),
        pytest.param(1, LIMIT * PROCESSES, id="unknown"),
    ],
)
def test_without_redis_each_process_allows_its_share_of_as_many_as_it_knows_of(
    own_redis: RedisServer, spenders: Spenders, told: int, alone: int
) -> None:
    spenders.join(own_redis.url, told=told)
    assert spenders.spend()[0] == LIMIT
    own_redis.kill()
    assert spenders.spend()[0] == alone  # counted anew, whatever was spent before
    assert spenders.spend()[0] == 0
    own_redis.start()
    assert spenders.spend()[0] == 0
