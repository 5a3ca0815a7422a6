"""What the engine's tests run over: two views of one store, and whole processes over one."""

import pytest

from tests.backplane.conftest import pair
from tests.server.world import memory, world

__all__ = ["memory", "pair", "world"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what needs two views of a store on each kind of store that an engine may have."""
    if "pair" in metafunc.fixturenames:
        metafunc.parametrize("pair", ["memory", "redis"], indirect=True)
