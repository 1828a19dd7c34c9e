"""Extended resources that claims back (KEP-5004). Pure.

A DeviceClass may have the name of an extended resource. A pod that asks for such a resource, on a node whose plugins do
not offer it, gets devices of that class: the scheduler makes a claim for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from config.values.quantity import QuantityError, parse_quantity

Json = Mapping[str, Any]
IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""With the name of a class, the resource that every class backs."""


def by_resource(classes: Mapping[str, Json]) -> dict[str, str]:
    """Resource -> class.

    Of several classes with one resource the newest counts, and then the first by name.
    """
    found: dict[str, str] = {}
    ages = {name: str(each["metadata"].get("creationTimestamp", "")) for name, each in classes.items()}
    for name in sorted(sorted(classes, reverse=True), key=lambda each: ages[each]):
        found[IMPLICIT + name] = name
        resource = (classes[name].get("spec") or {}).get("extendedResourceName")
        if resource:
            found[str(resource)] = name
    return found


def asked(pod_spec: Json, backed: Mapping[str, str]) -> frozenset[str]:
    """The resources of a pod that classes back."""
    if not backed:
        return frozenset()
    names = (name for container in _containers(pod_spec) for name in _requests(container))
    return frozenset(names) & backed.keys()


def special_claim(pod_spec: Json, resources: frozenset[str], backed: Mapping[str, str]) -> tuple[Json, list[Json]]:
    """The spec of the claim for these resources of the pod, and `requestMappings` for its status."""
    requests: list[Json] = []
    mappings: list[Json] = []
    for place, container in enumerate(_containers(pod_spec)):
        names = sorted(resources & _requests(container).keys())
        for number, resource in enumerate(names):
            count = _count(_requests(container)[resource])
            if count < 1:
                continue
            name = f"container-{place}-request-{number}"
            exactly = {"deviceClassName": backed[resource], "allocationMode": "ExactCount", "count": count}
            requests.append({"name": name, "exactly": exactly})
            mappings.append({"containerName": container["name"], "resourceName": resource, "requestName": name})
    return {"devices": {"requests": requests}}, mappings


def _containers(pod_spec: Json) -> list[Json]:
    return [*(pod_spec.get("initContainers") or ()), *(pod_spec.get("containers") or ())]


def _requests(container: Json) -> Mapping[str, Any]:
    return (container.get("resources") or {}).get("requests") or {}


def _count(text: Any) -> int:
    try:
        return parse_quantity(str(text)).value()
    except QuantityError:
        return 0
