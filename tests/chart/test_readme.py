"""The chart's README tells of every value, as the chart has it."""

from collections.abc import Iterator
from typing import Any

import yaml

from tests.chart.helm import CHART, Helm
from tests.chart.readme import BEGIN, README, described, table
from tests.house import shown

OPEN = {"server.resources", "worker.resources", "redis.bundled.resources", "monitoring.dashboard.labels"}
"""Values that are described as a whole, although there is something in them."""


def leaves(values: Any, name: str = "") -> Iterator[str]:
    """The dotted name of each value."""
    if isinstance(values, dict) and values and name not in OPEN:
        for key, value in values.items():
            yield from leaves(value, f"{name}.{key}".lstrip("."))
    else:
        yield name


def test_every_value_is_described_once() -> None:
    names = [name for name, _ in described()]
    assert sorted(names) == sorted(leaves(yaml.safe_load((CHART / "values.yaml").read_text())))


def test_what_the_readme_shows_is_rendered(helm: Helm) -> None:
    _, *words = shown.command(
        "helm template fleet k8s/mcpfleet --set redis.bundled.enabled=true --set app=examples.weather:server"
    )
    assert "kind: StatefulSet" in helm.said(*words)


def test_the_table_is_what_the_values_say() -> None:
    assert README.read_text().partition(BEGIN)[2] == table(), "run: python -m tests.chart.readme"
