"""A new version is rolled out under load behind the proxies of the chart's Ingress, and no client loses anything."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.chart.helm import CHART, installed
from tests.chart.manifests import of_kind
from tests.redis_server import RedisServer
from tests.rehearsal.run import NEW, OLD, PROXIES, rehearse

SHORT: Final = ("preStopSeconds=1", "drainDelaySeconds=2", "drainSeconds=8", "keepaliveSeconds=1")
"""What the chart waits for, made short: the balance of it is what counts."""


def rendered(proxy: str, *more: str) -> list[dict[str, Any]]:
    """The chart for the controller of this proxy."""
    return installed(4).rendered(CHART / "ci" / f"{proxy}-values.yaml", *SHORT, *more)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("proxy", PROXIES)
async def test_a_new_version_is_rolled_out_and_nothing_is_lost(
    proxy: str, own_redis: RedisServer, tmp_path: Path
) -> None:
    rehearsed = await rehearse(rendered(proxy), proxy, tmp_path, own_redis)
    told = "\n".join(rehearsed.lines())
    print(told)
    assert rehearsed.findings == [], told
    assert rehearsed.versions == {OLD, NEW}
    assert told.endswith("lost 0 duplicated 0 disordered 0 hung 0 leaked 0")
    assert len(rehearsed.ledger.calls) > 100, told
    assert any(call.resumed for call in rehearsed.ledger.calls), f"no stream was taken up again:\n{told}"


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("proxy", "annotation", "value"),
    [
        ("nginx", "nginx.ingress.kubernetes.io/proxy-read-timeout", "1"),
        ("haproxy", "haproxy.org/timeout-server", "200ms"),
    ],
)
async def test_an_annotation_that_is_wrong_shows(
    proxy: str, annotation: str, value: str, own_redis: RedisServer, tmp_path: Path
) -> None:
    manifests = rendered(proxy, "keepaliveSeconds=5")
    (ingress,) = of_kind(manifests, "Ingress")
    ingress["metadata"]["annotations"][annotation] = value
    rehearsed = await rehearse(manifests, proxy, tmp_path, own_redis, seconds=5.0)
    assert rehearsed.findings, "\n".join(rehearsed.lines())
