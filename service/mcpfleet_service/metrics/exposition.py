"""All metrics of one moment, in Prometheus's own format."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from mcpfleet.errors import BackplaneError
from mcpfleet.server.census import Census
from mcpfleet.server.engine import Engine
from mcpfleet_service.metrics.families import families
from mcpfleet_service.metrics.siblings import Siblings

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
CENSUS_SECONDS: Final = 2.0
"""How long the store may take to count."""


async def exposition(engine: Engine, siblings: Siblings) -> bytes:
    """Every metric now: of all processes behind the port, and of the fleet unless its store is away."""
    reports, census = await asyncio.gather(siblings.reports(), _census(engine))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once([*families(reports, census)]))
    return generate_latest(registry)


async def _census(engine: Engine) -> Census | None:
    try:
        async with asyncio.timeout(CENSUS_SECONDS):
            return await engine.census()
    except (BackplaneError, TimeoutError):
        return None


class _Once(Collector):
    """What was collected already."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families
