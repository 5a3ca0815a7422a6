"""The dashboard and the alert rules ask for metrics that there are, in words that Prometheus understands."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import promql_parser
import pytest
import yaml

from mcpfleet_service.metrics.families import OF_PROCESSES, OF_THE_FLEET
from tests.chart.helm import CHART, Helm
from tests.chart.manifests import of_kind

DASHBOARD: Final[dict[str, Any]] = json.loads((CHART / "monitoring" / "dashboard.json").read_text())
ALERTS: Final[dict[str, Any]] = yaml.safe_load((CHART / "monitoring" / "alerts.yaml").read_text())
ADDED: Final = {"namespace", "le", "process"}
"""Labels that whoever scrapes adds, or the format."""


def rules() -> list[dict[str, Any]]:
    """Every alert."""
    return [rule for group in ALERTS["groups"] for rule in group["rules"]]


def asked() -> Iterator[tuple[str, str]]:
    """Every expression, by where it is."""
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m").replace("$namespace", ".*")
    for rule in rules():
        yield rule["alert"], rule["expr"]


EXPRESSIONS: Final = [
    pytest.param(expression, id=f"{where} {number}") for number, (where, expression) in enumerate(asked())
]


def series() -> dict[str, set[str]]:
    """Every name that can be asked for, and its labels."""
    found = {name: {"queue"} if name.endswith("queue_depth") else set[str]() for name in OF_THE_FLEET}
    for each in OF_PROCESSES:
        suffixes = ("_bucket", "_count", "_sum") if each.kind == "histogram" else ("",)
        found.update({f"{each.shown}{suffix}": {*each.labels} for suffix in suffixes})
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_is_understood_and_asks_for_what_there_is(expression: str) -> None:
    promql_parser.parse(expression)
    names = set(re.findall(r"\bmcp[a-z_]+", expression))
    assert names
    assert names <= series().keys()
    labels = {
        label for found in re.findall(r"(?:by|without) \(([^)]*)\)", expression) for label in re.split(r", *", found)
    }
    labels |= set(re.findall(r"([a-z_]+)(?:=~|!=|!~|=)\"", expression))
    assert labels <= ADDED.union(*(series()[name] for name in names))


def test_the_dashboard_shows_every_metric_and_chooses_no_source_by_itself() -> None:
    text = " ".join(expression for _, expression in asked())
    for each in OF_PROCESSES:
        assert each.shown in text, each
    assert all(name in text for name in OF_THE_FLEET)
    assert {panel["datasource"]["uid"] for panel in DASHBOARD["panels"]} == {"${datasource}"}
    assert [each["name"] for each in DASHBOARD["templating"]["list"]] == ["datasource", "namespace"]
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_every_alert_says_what_to_do() -> None:
    for rule in rules():
        assert rule["annotations"]["remedy"].endswith(".")
    assert len({rule["alert"] for rule in rules()}) == len(rules())


def test_the_chart_hands_both_on_as_they_are(helm: Helm) -> None:
    manifests = helm.rendered(CHART / "ci" / "nginx-values.yaml")
    (given,) = of_kind(manifests, "PrometheusRule")
    assert given["spec"] == ALERTS
    (shown,) = [each for each in of_kind(manifests, "ConfigMap") if each["metadata"]["name"].endswith("-dashboard")]
    assert json.loads(shown["data"]["mcpfleet.json"]) == DASHBOARD


def test_workers_follow_each_of_their_queues(helm: Helm) -> None:
    (scaled,) = of_kind(helm.rendered(CHART / "ci" / "keda-values.yaml"), "ScaledObject")
    told = [trigger["metadata"]["valueLocation"] for trigger in scaled["spec"]["triggers"]]
    assert told == ['mcpfleet_queue_depth{queue="urgent"}', 'mcpfleet_queue_depth{queue="default"}']
