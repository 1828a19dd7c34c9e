"""LimitRanges: defaults for containers, and bounds for containers, pods and claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from config.values.quantity import Quantity
from simulation.quotas.pod_totals import container_amounts, pod_total
from simulation.quotas.resource_lists import Amounts, read

Json: TypeAlias = dict[str, Any]
Item: TypeAlias = Mapping[str, Any]
"""One of `spec.limits` of a LimitRange."""

_KINDS = (("containers", "container"), ("initContainers", "init container"))
_LARGEST_MILLI = (2**63 - 1) // 1000
"""Larger amounts are compared in whole units."""


def completed(item: Item) -> Json:
    """The item with its own defaults: the maximum as the limit, and the limit or minimum as the request."""
    if item.get("type") != "Container":
        return dict(item)
    limits = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
    found = {"default": limits, "defaultRequest": requests}
    return {**item, **{name: values for name, values in found.items() if values}}


def with_defaults(items: Sequence[Item], spec: Json) -> tuple[Json, str]:
    """The spec of a pod with the defaults of a LimitRange, and what was set, in words; "" for nothing."""
    defaults: dict[str, Json] = {"requests": {}, "limits": {}}
    for item in items:
        if item.get("type") == "Container":
            defaults["requests"] |= item.get("defaultRequest") or {}
            defaults["limits"] |= item.get("default") or {}
    changed, said = dict(spec), []
    for field, kind in _KINDS:
        containers = []
        for container in spec.get(field) or ():
            resources = dict(container.get("resources") or {})
            for which, word in (("requests", "request"), ("limits", "limit")):
                own = resources.get(which) or {}
                missing = {name: text for name, text in defaults[which].items() if name not in own}
                if missing:
                    resources[which] = {**own, **missing}
                    said.append(f"{', '.join(sorted(missing))} {word} for {kind} {container['name']}")
            containers.append({**container, "resources": resources} if resources else container)
        if containers:
            changed[field] = containers
    return (changed, "; ".join(said)) if said else (spec, "")


def faults_of_pod(items: Sequence[Item], spec: Json) -> list[str]:
    """How a pod breaks a LimitRange."""
    faults: list[str] = []
    for item in items:
        if item.get("type") == "Container":
            for field, _ in _KINDS:
                for container in spec.get(field) or ():
                    both = container_amounts(container, "requests"), container_amounts(container, "limits")
                    faults += _faults(item, *both)
        elif item.get("type") == "Pod":
            faults += _faults(item, pod_total(spec, "requests"), pod_total(spec, "limits"))
    return list(dict.fromkeys(faults))


def faults_of_claim(items: Sequence[Item], spec: Json) -> list[str]:
    """How a claim for a volume breaks a LimitRange. Its requests count alone."""
    requests = read((spec.get("resources") or {}).get("requests"))
    faults: list[str] = []
    for item in items:
        if item.get("type") == "PersistentVolumeClaim":
            faults += _below(item, requests, {})
            faults += _above(item, requests, requests, "request")
    return list(dict.fromkeys(faults))


def _faults(item: Item, requests: Amounts, limits: Amounts) -> Iterator[str]:
    yield from _below(item, requests, limits)
    yield from _above(item, requests, limits, "limit")
    yield from _too_far_apart(item, requests, limits)


def _below(item: Item, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, least in sorted(read(item.get("min")).items()):
        rule = f"minimum {name} usage per {item['type']} is {least}"
        if name not in requests:
            yield f"{rule}.  No request is specified"
        elif _is_less(requests[name], least):
            yield f"{rule}, but request is {requests[name]}"
        elif name in limits and _is_less(limits[name], least):
            yield f"{rule}, but limit is {limits[name]}"


def _above(item: Item, requests: Amounts, bounded: Amounts, word: str) -> Iterator[str]:
    """`bounded`: the amounts that must be there, called `word`."""
    for name, most in sorted(read(item.get("max")).items()):
        rule = f"maximum {name} usage per {item['type']} is {most}"
        if name not in bounded:
            yield f"{rule}.  No {word} is specified"
        elif _is_less(most, bounded[name]):
            yield f"{rule}, but {word} is {bounded[name]}"
        elif name in requests and _is_less(most, requests[name]):
            yield f"{rule}, but request is {requests[name]}"


def _too_far_apart(item: Item, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, most in sorted(read(item.get("maxLimitRequestRatio")).items()):
        rule = f"{name} max limit to request ratio per {item['type']} is {most}"
        if name not in requests or requests[name].is_zero():
            yield f"{rule}, but no request is specified or request is 0"
        elif name not in limits or limits[name].is_zero():
            yield f"{rule}, but no limit is specified or limit is 0"
        else:
            ratio = limits[name].nanos / requests[name].nanos
            if ratio * 1000 > most.milli_value():
                yield f"{rule}, but provided ratio is {ratio:.6f}"


def _is_less(one: Quantity, other: Quantity) -> bool:
    """Compared in thousandths, rounded up, as far as those fit into 64 bits."""
    if max(one.value(), other.value()) <= _LARGEST_MILLI:
        return one.milli_value() < other.milli_value()
    return one.value() < other.value()
