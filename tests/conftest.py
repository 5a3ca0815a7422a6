"""What every test shares: one event loop flavour."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, the loop that the product runs on."""
    return "asyncio"
