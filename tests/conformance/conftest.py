"""The packages of the official suite."""

import os
from pathlib import Path

import pytest

from tests.node import NotInstalled, installed


@pytest.fixture(scope="session")
def suite_packages() -> Path:
    """Where they are installed; without them a test is skipped, but for continuous integration."""
    try:
        return installed(Path(__file__).parent) / "node_modules"
    except NotInstalled as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(f"the official suite cannot be installed: {missing}")
        pytest.skip(f"THE OFFICIAL SUITE DID NOT RUN, since it cannot be installed: {missing}")
