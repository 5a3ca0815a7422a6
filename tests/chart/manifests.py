"""What is in rendered manifests, found by what it is."""

from collections.abc import Iterable, Iterator
from typing import Any

Manifest = dict[str, Any]


def of_kind(manifests: Iterable[Manifest], *kinds: str) -> list[Manifest]:
    """All of some kinds."""
    return [each for each in manifests if each["kind"] in kinds]


def part(manifests: Iterable[Manifest], component: str) -> Manifest | None:
    """The Deployment of one part."""
    for each in of_kind(manifests, "Deployment"):
        if each["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"] == component:
            return each
    return None


def pods(manifests: Iterable[Manifest]) -> Iterator[Manifest]:
    """The specification of every pod, whatever makes it."""
    for each in manifests:
        if each["kind"] in ("Deployment", "StatefulSet"):
            yield each["spec"]["template"]["spec"]
        elif each["kind"] == "Pod":
            yield each["spec"]


def environment(deployment: Manifest) -> dict[str, Any]:
    """What its one container is told: values, or where they come from."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}
