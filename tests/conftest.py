"""What every test shares: one event loop flavour, and the real parts that fixtures start."""

import pytest

pytest_plugins = ["tests.redis_server", "tests.fleets"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, the loop that the product runs on."""
    return "asyncio"
