"""What every test shares: one event loop flavour, names that never change, and the real parts of fixtures."""

import os
import re

import pytest

pytest_plugins = [
    "tests.witness.plugin",
    "tests.redis_server",
    "tests.redis_cluster",
    "tests.redis_sentinel",
    "tests.redis_tls",
    "tests.fleets",
    "tests.wall_clock",
]

_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, the loop that the product runs on."""
    return "asyncio"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose name holds an address: processes that share out the tests would each know another name."""
    named = next((item.nodeid for item in items if _ADDRESS.search(item.nodeid)), None)
    if named is not None:
        raise pytest.UsageError(f"this test has another name in every process; give its parameters ids: {named}")


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """One process more than there are cores: a test that waits for time to pass needs none meanwhile."""
    given = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS")
    return None if given else (os.cpu_count() or 1) + 1
