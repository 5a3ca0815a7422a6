"""The Helm chart, rendered by the real Helm for each of its sample values, and held to what the fleet needs."""

from base64 import b64decode
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # it brings none
import kubernetes_validate  # type: ignore[import-untyped]  # it brings none
import pytest
import yaml

from mcpfleet_service.settings import Settings
from tests.chart.custom import CUSTOM
from tests.chart.helm import CHART, Helm, Refused
from tests.chart.manifests import environment, of_kind, part, pods

SAMPLES: Final = sorted(CHART.glob("ci/*-values.yaml"))
INGRESS: Final = [each for each in SAMPLES if each.name.startswith(("alb", "haproxy", "nginx"))]
KUBERNETES: Final = ("1.27", "1.30", "1.37")

every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name.removesuffix("-values.yaml"))
every_ingress = pytest.mark.parametrize("sample", INGRESS, ids=lambda sample: sample.name.removesuffix("-values.yaml"))


def values(sample: Path) -> dict[str, Any]:
    """The values of a sample over those of the chart, one level deep."""
    merged: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    for name, value in yaml.safe_load(sample.read_text()).items():
        merged[name] = {**merged[name], **value} if isinstance(value, dict) else value
    return merged


@every_sample
def test_helm_finds_nothing_wrong(helm: Helm, sample: Path) -> None:
    assert "0 chart(s) failed" in helm.lint(sample)


@every_sample
@pytest.mark.parametrize("version", KUBERNETES)
def test_every_manifest_is_what_kubernetes_takes(helm: Helm, sample: Path, version: str) -> None:
    manifests = helm.rendered(sample, kubernetes=f"{version}.0")
    assert manifests
    for manifest in manifests:
        if manifest["kind"] in CUSTOM:
            jsonschema.validate(manifest, CUSTOM[manifest["kind"]])
        else:
            kubernetes_validate.validate(manifest, version, strict=True)


@every_sample
def test_names_are_unique_and_of_the_release(helm: Helm, sample: Path) -> None:
    named = [(each["kind"], each["metadata"]["name"]) for each in helm.rendered(sample)]
    assert len(set(named)) == len(named)
    assert all(name.startswith("trial-mcpfleet") for _, name in named)


@every_sample
def test_a_pod_is_given_longer_than_all_it_does_before_it_ends(helm: Helm, sample: Path) -> None:
    manifests = helm.rendered(sample)
    for component in ("server", "worker"):
        if (deployment := part(manifests, component)) is None:
            continue
        told, spec = environment(deployment), deployment["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        (_, sleeps) = container["lifecycle"]["preStop"]["exec"]["command"]
        needs = int(sleeps) + float(told["MCPFLEET_DRAIN_DELAY"]) + float(told["MCPFLEET_DRAIN_SECONDS"])
        assert spec["terminationGracePeriodSeconds"] > needs + 5  # which the web server takes to cut what is left


@every_sample
def test_what_a_process_is_told_is_what_it_takes(helm: Helm, sample: Path) -> None:
    manifests = helm.rendered(sample)
    for component in ("server", "worker"):
        if (deployment := part(manifests, component)) is None:
            continue
        given = {name: value for name, value in environment(deployment).items() if isinstance(value, str)}
        read = Settings.from_environment({**given, "MCPFLEET_KEY_ENCRYPTION_KEY": ""})
        assert read.namespace == "trial-mcpfleet"
        assert read.keepalive == values(sample)["keepaliveSeconds"]
        assert read.max_body == values(sample)["maxBodyBytes"]


@every_sample
def test_both_parts_share_the_namespace_the_store_and_the_key(helm: Helm, sample: Path) -> None:
    manifests = helm.rendered(sample)
    server, worker = part(manifests, "server"), part(manifests, "worker")
    assert server is not None
    key = environment(server)["MCPFLEET_KEY_ENCRYPTION_KEY"]["secretKeyRef"]
    made = [each["metadata"]["name"] for each in of_kind(manifests, "Secret")]
    assert made == ([] if values(sample)["keyEncryptionKey"]["existingSecret"] else [key["name"]])
    if worker is not None:
        shared = ("MCPFLEET_REDIS_URL", "MCPFLEET_NAMESPACE", "MCPFLEET_KEY_ENCRYPTION_KEY")
        assert [environment(server)[name] for name in shared] == [environment(worker)[name] for name in shared]


@every_sample
def test_no_pod_can_do_more_than_it_must(helm: Helm, sample: Path) -> None:
    for spec in pods(helm.rendered(sample)):
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


@every_sample
def test_a_pod_takes_requests_while_it_is_ready_and_is_replaced_when_it_is_dead(helm: Helm, sample: Path) -> None:
    manifests = helm.rendered(sample)
    for component in ("server", "worker"):
        if (deployment := part(manifests, component)) is None:
            continue
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
        paths = {name: probe["path"] for name, probe in probes.items()}
        assert paths == {"startup": "/livez", "liveness": "/livez", "readiness": "/readyz"}
        assert {probe["port"] for probe in probes.values()} == {"admin"}
        (admin,) = [port["containerPort"] for port in container["ports"] if port["name"] == "admin"]
        assert environment(deployment)["MCPFLEET_ADMIN_PORT"] == str(admin)
        drain_delay = float(environment(deployment)["MCPFLEET_DRAIN_DELAY"])
        assert container["readinessProbe"]["periodSeconds"] < drain_delay, "a pod would drain before anybody knew"
        assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}


@every_sample
def test_the_fleet_knows_how_many_processes_there_may_be(helm: Helm, sample: Path) -> None:
    manifests = helm.rendered(sample)
    most, told = 0, set()
    for component in ("server", "worker"):
        if (deployment := part(manifests, component)) is not None:
            name = deployment["metadata"]["name"]
            told.add(environment(deployment)["MCPFLEET_MAX_PROCESSES"])
            scaled = [each["spec"] for each in of_kind(manifests, "HorizontalPodAutoscaler", "ScaledObject")]
            limits = [
                each.get("maxReplicas", each.get("maxReplicaCount"))
                for each in scaled
                if each["scaleTargetRef"]["name"] == name
            ]
            most += (limits[0] if limits else deployment["spec"]["replicas"]) + 1  # one more while they are replaced
    assert told == {str(most)}


@every_sample
def test_the_port_for_operators_is_no_way_in_for_clients(helm: Helm, sample: Path) -> None:
    manifests = helm.rendered(sample)
    services = {each["metadata"]["name"]: each["spec"] for each in of_kind(manifests, "Service")}
    for name, service in services.items():
        opened = {port["targetPort"] for port in service["ports"]}
        assert opened == ({"admin"} if name.endswith("-admin") else {"redis"} if name.endswith("-redis") else {"http"})
        assert service.get("type") == "ClusterIP" or not name.endswith("-admin")
    for ingress in of_kind(manifests, "Ingress"):
        for rule in ingress["spec"]["rules"]:
            assert {each["backend"]["service"]["port"]["name"] for each in rule["http"]["paths"]} == {"http"}


@every_sample
def test_only_the_endpoint_and_its_metadata_are_routed_and_those_hosts_are_allowed(helm: Helm, sample: Path) -> None:
    manifests = helm.rendered(sample)
    server = part(manifests, "server")
    assert server is not None
    path = environment(server).get("MCPFLEET_PATH", "/mcp")
    hosts: set[str] = set()
    for ingress in of_kind(manifests, "Ingress"):
        for rule in ingress["spec"]["rules"]:
            hosts.add(rule["host"])
            assert [each["path"] for each in rule["http"]["paths"]] == [path, "/.well-known"]
    for route in of_kind(manifests, "HTTPRoute"):
        hosts.update(route["spec"]["hostnames"])
        (rule,) = route["spec"]["rules"]
        assert [each["path"]["value"] for each in rule["matches"]] == [path, "/.well-known"]
        assert rule["timeouts"] == {"request": "0s", "backendRequest": "0s"}
        assert "retry" not in rule
    allowed = set(environment(server)["MCPFLEET_ALLOWED_HOSTS"].split(","))
    assert allowed == (
        hosts | set(values(sample)["allowedHosts"])
        or {
            "trial-mcpfleet",
            "trial-mcpfleet.fleet",
            "trial-mcpfleet.fleet.svc",
            "trial-mcpfleet.fleet.svc.cluster.local",
        }
    )


@every_ingress
def test_an_ingress_keeps_streams_open_and_unbuffered_and_sends_nothing_twice(helm: Helm, sample: Path) -> None:
    (ingress,) = of_kind(helm.rendered(sample), "Ingress")
    annotations, keepalive = ingress["metadata"]["annotations"], values(sample)["keepaliveSeconds"]
    match values(sample)["ingress"].get("controller", "nginx"):
        case "nginx":
            prefix = "nginx.ingress.kubernetes.io/"
            assert annotations[f"{prefix}proxy-buffering"] == "off"
            assert annotations[f"{prefix}proxy-request-buffering"] == "off"
            assert annotations[f"{prefix}proxy-next-upstream"] == "off"
            assert annotations[f"{prefix}proxy-http-version"] == "1.1"
            assert int(annotations[f"{prefix}proxy-read-timeout"]) > 2 * keepalive
            assert int(annotations[f"{prefix}proxy-body-size"]) == values(sample)["maxBodyBytes"]
        case "haproxy":
            assert int(annotations["haproxy.org/timeout-server"].removesuffix("s")) > 2 * keepalive
            assert "retries 0" in annotations["haproxy.org/backend-config-snippet"]
            assert "http-no-delay" in annotations["haproxy.org/backend-config-snippet"]
        case "alb":
            attribute = annotations["alb.ingress.kubernetes.io/load-balancer-attributes"]
            assert 2 * keepalive < int(attribute.removeprefix("idle_timeout.timeout_seconds=")) <= 4000
            assert annotations["alb.ingress.kubernetes.io/target-type"] == "ip"


@every_sample
def test_pods_are_reached_by_what_they_serve_alone(helm: Helm, sample: Path) -> None:
    policies = of_kind(helm.rendered(sample), "NetworkPolicy")
    for policy in policies:
        component = policy["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        opened = [port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]]
        assert opened == {"server": ["http", "admin"], "worker": ["admin"], "redis": ["redis"]}[component]


@every_sample
def test_disruptions_are_held_back_where_more_than_one_pod_serves(helm: Helm, sample: Path) -> None:
    manifests = helm.rendered(sample)
    named = {each["metadata"]["name"] for each in of_kind(manifests, "PodDisruptionBudget")}
    scaled = {each["metadata"]["name"] for each in of_kind(manifests, "HorizontalPodAutoscaler", "ScaledObject")}
    for deployment in of_kind(manifests, "Deployment"):
        name = deployment["metadata"]["name"]
        assert (name in scaled) == ("replicas" not in deployment["spec"])
        assert (name in named) == (name in scaled or deployment["spec"]["replicas"] > 1)


@pytest.mark.parametrize(
    ("setting", "words"),
    {
        "a value that does not exist": ('redis={"url":"redis://r/0","urls":[]}', "urls"),
        "a URL of another kind": ('redis.url="http://r/0"', r"redis[./]url"),
        "a controller that is not known": ('ingress.controller="apache"', "controller"),
        "a host with a path": ('ingress.hosts=["example.com/mcp"]', "hosts"),
        "fewer than no pods": ("worker.replicas=-1", "replicas"),
        "a setting that the chart has its own value for": ('settings={"DRAIN_SECONDS":1}', "DRAIN_SECONDS"),
        "a port for operators that is the clients' own": ("adminPort=8000", "adminPort"),
        "two that set the number of workers": (
            'worker={"keda":{"enabled":true},"autoscaling":{"enabled":true}}',
            "worker.keda",
        ),
        "an interval that is none": ('monitoring.serviceMonitor.interval="often"', "interval"),
        "a queue without a name": ("worker.queues=[]", "queues"),
        "two stores": ("redis.bundled.enabled=true", "exactly one of redis.url"),
        "a stream that would be cut while it is silent": (
            'ingress={"enabled":true,"hosts":["a.example"],"readTimeoutSeconds":10}',
            "readTimeoutSeconds",
        ),
        "an Ingress without a host": ("ingress.enabled=true", "at least one host"),
        "a route without a Gateway": ("gateway.enabled=true", "at least one Gateway"),
    }.values(),
)
def test_a_value_that_cannot_work_is_refused_by_its_name(helm: Helm, setting: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        helm.rendered(None, 'redis.url="redis://r/0"', setting)


def test_without_a_store_nothing_is_rendered(helm: Helm) -> None:
    with pytest.raises(Refused, match=r"exactly one of redis\.url"):
        helm.rendered()


def test_a_key_is_made_of_32_bytes_and_outlives_the_release(helm: Helm) -> None:
    (secret,) = of_kind(helm.rendered(CHART / "ci" / "trial-values.yaml"), "Secret")
    assert secret["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    (key,) = secret["data"].values()
    assert Settings(key_encryption_key=b64decode(key).decode()).wrapping_key is not None


def test_the_versions_are_those_that_are_meant(helm: Helm) -> None:
    assert helm.version().startswith(f"v{helm.major}.")
