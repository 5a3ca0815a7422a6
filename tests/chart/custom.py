"""What the kinds that are no part of Kubernetes take, as far as the chart has them, and nothing beside it."""

from typing import Any, Final

Schema = dict[str, Any]


def _object(required: dict[str, Schema], **optional: Schema) -> Schema:
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


def _manifest(version: str, kind: str, spec: Schema) -> Schema:
    named = _object({"name": TEXT}, labels=WORDS, annotations=WORDS)
    return _object({"apiVersion": {"const": version}, "kind": {"const": kind}, "metadata": named, "spec": spec})


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of, "minItems": 1}


TEXT: Final[Schema] = {"type": "string", "minLength": 1}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
WORDS: Final[Schema] = {"type": "object", "additionalProperties": {"type": "string"}}
DURATION: Final[Schema] = {"type": "string", "pattern": "^([0-9]+(ms|[smhdwy]))+$"}
PATH: Final[Schema] = _object({"type": {"enum": ["Exact", "PathPrefix", "RegularExpression"]}, "value": TEXT})
PORT: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 65535}

CUSTOM: Final = {
    "HTTPRoute": _manifest(
        "gateway.networking.k8s.io/v1",
        "HTTPRoute",
        _object(
            {
                "parentRefs": _list(_object({"name": TEXT}, namespace=TEXT, sectionName=TEXT)),
                "rules": _list(
                    _object(
                        {
                            "matches": _list(_object({"path": PATH})),
                            "backendRefs": _list(_object({"name": TEXT, "port": PORT})),
                        },
                        timeouts=_object({"request": DURATION, "backendRequest": DURATION}),
                    )
                ),
            },
            hostnames=_list(TEXT),
        ),
    ),
    "ScaledObject": _manifest(
        "keda.sh/v1alpha1",
        "ScaledObject",
        _object(
            {
                "scaleTargetRef": _object({"name": TEXT}, apiVersion=TEXT, kind=TEXT),
                "triggers": _list(
                    _object(
                        {
                            "type": {"const": "metrics-api"},
                            "metadata": _object(
                                {
                                    "url": {"type": "string", "pattern": "^http://[a-z0-9.-]+:[0-9]+/metrics$"},
                                    "format": {"const": "prometheus"},
                                    "valueLocation": TEXT,
                                    "targetValue": {"type": "string", "pattern": "^[0-9]+$"},
                                }
                            ),
                        }
                    )
                ),
            },
            minReplicaCount=COUNT,
            maxReplicaCount=COUNT,
            pollingInterval=COUNT,
            cooldownPeriod=COUNT,
        ),
    ),
    "ServiceMonitor": _manifest(
        "monitoring.coreos.com/v1",
        "ServiceMonitor",
        _object(
            {
                "selector": _object(
                    {"matchLabels": WORDS},
                    matchExpressions=_list(
                        _object({"key": TEXT, "operator": {"enum": ["In", "NotIn"]}, "values": _list(TEXT)})
                    ),
                ),
                "endpoints": _list(_object({"port": TEXT, "path": TEXT, "interval": DURATION})),
            },
            namespaceSelector=_object({"matchNames": _list(TEXT)}),
        ),
    ),
    "PrometheusRule": _manifest(
        "monitoring.coreos.com/v1",
        "PrometheusRule",
        _object(
            {
                "groups": _list(
                    _object(
                        {
                            "name": TEXT,
                            "rules": _list(
                                _object(
                                    {
                                        "alert": {"type": "string", "pattern": "^Mcpfleet[A-Za-z]+$"},
                                        "expr": TEXT,
                                        "for": DURATION,
                                        "labels": _object({"severity": {"enum": ["critical", "warning"]}}),
                                        "annotations": _object({"summary": TEXT, "remedy": TEXT}),
                                    }
                                )
                            ),
                        }
                    )
                )
            }
        ),
    ),
}
"""By kind."""
