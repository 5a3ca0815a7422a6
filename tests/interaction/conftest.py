"""Fleets of the servers that one part of the interaction tests needs."""

from collections.abc import Iterator

import pytest

from tests.fleets import SHAPES, Fleet, standing_fleet


@pytest.fixture(scope="session", params=SHAPES, ids=str)
def asking_fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet whose tools ask their clients."""
    with standing_fleet(request, tmp_path_factory, "tests.servers.inquisitive:server") as started:
        yield started
