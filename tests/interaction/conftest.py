"""Fleets of the servers that one part of the interaction tests needs."""

from collections.abc import Iterator

import pytest

from tests.fleets import SHAPES, Fleet, standing_fleet
from tests.processes import python
from tests.redis_server import SharedRedis, fresh_namespace


@pytest.fixture(scope="session", params=SHAPES, ids=str)
def asking_fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet whose tools ask their clients."""
    with standing_fleet(request, tmp_path_factory, "tests.servers.inquisitive:server") as started:
        yield started


@pytest.fixture(scope="session", params=SHAPES, ids=str)
def featured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet whose tools tell what they know of their requests."""
    with standing_fleet(request, tmp_path_factory, "tests.servers.featured:server") as started:
        yield started


@pytest.fixture(scope="session", params=SHAPES, ids=str)
def lengthy_fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet whose calls may become tasks."""
    with standing_fleet(request, tmp_path_factory, "tests.servers.lengthy:server") as started:
        yield started


@pytest.fixture(scope="session", params=SHAPES, ids=str)
def skilled_fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet with skills."""
    with standing_fleet(request, tmp_path_factory, "tests.servers.skilled:server") as started:
        yield started


@pytest.fixture(scope="module")
def guarded(redis_server: SharedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two processes that serve whoever shows a known token."""
    command = python("-m", "tests.servers.tokens")
    with fresh_namespace(redis_server) as namespace:
        settings = {"REDIS_URL": redis_server.url, "NAMESPACE": namespace}
        with Fleet(tmp_path_factory.mktemp("guarded"), 2, settings, command=command) as fleet:
            yield fleet
