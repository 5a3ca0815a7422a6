"""Any history at all: hypothesis chooses verbs and faults, and each backplane must answer as the reference does."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.backplane.rediscontrol import RedisControl
from mcpfleet.backplane.storecontrol import MemoryControl
from tests.backplane.conftest import Pair
from tests.backplane.machine import Machine, Subject, Subjects
from tests.redis_server import RedisServer, SharedRedis, connect, fresh_namespace


def _hold_to_the_reference(subject: Subjects, examples: int) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=60,
        derandomize=True,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(lambda: Machine(subject), settings=chosen)  # type: ignore[arg-type]  # any maker will do


@asynccontextmanager
async def _in_memory() -> AsyncIterator[Subject]:
    store = MemoryStore(clock=lambda: 1000.0)
    yield Subject(Pair(MemoryBackplane(store), MemoryBackplane(store), MemoryControl(store)))


@asynccontextmanager
async def _at(shared: SharedRedis, *faults: Callable[[], object]) -> AsyncIterator[Subject]:
    with fresh_namespace(shared) as namespace:
        async with (
            RedisBackplane.at(shared.url, namespace=namespace, backoff=_soon) as here,
            RedisBackplane.at(shared.url, namespace=namespace, backoff=_soon) as there,
        ):
            yield Subject(Pair(here, there, RedisControl(here, there)), faults)


def _soon() -> Backoff:
    return Backoff(0.01, 0.02)


def test_memory_answers_as_the_reference_does_in_any_history() -> None:
    _hold_to_the_reference(_in_memory, 150)


def test_redis_answers_as_the_reference_does_in_any_history(own_redis: RedisServer) -> None:
    def cut_bells() -> None:
        with connect(own_redis.url) as client:
            client.client_kill_filter(_type="pubsub")

    _hold_to_the_reference(lambda: _at(SharedRedis(own_redis.url), own_redis.restart, cut_bells), 30)


def test_a_cluster_answers_as_the_reference_does_in_any_history(redis_cluster: SharedRedis) -> None:
    _hold_to_the_reference(lambda: _at(redis_cluster), 20)
