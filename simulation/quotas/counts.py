"""How much of a quota an object uses, by its kind.

A quota names what it limits: `pods`, `limits.cpu`, `gold.storageclass.storage.k8s.io/requests.storage`,
`count/jobs.batch`. Each kind knows which of these names are about it, and which scopes of a quota an object is in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from config.values.quantity import ZERO, of_value
from simulation.quotas.pod_totals import HUGE_PAGES, container_amounts, has_own_resources, total_in_use
from simulation.quotas.resource_lists import Amounts, added, greater, read

Json: TypeAlias = Mapping[str, Any]
ONE = of_value(1)
CREATE, UPDATE = "CREATE", "UPDATE"

_COUNT = "count/"
_REQUESTS = "requests."
_MEASURED = ("cpu", "memory", "ephemeral-storage")
_NEEDED = frozenset(f"{part}{name}" for part in ("", _REQUESTS, "limits.") for name in ("cpu", "memory"))
"""Once a quota limits one of these, every container must say it."""
_OF_PODS = _NEEDED | {f"{part}ephemeral-storage" for part in ("", _REQUESTS, "limits.")} | {"pods", "count/pods"}
_OF_STORAGE = ("persistentvolumeclaims", "requests.storage")
_STORAGE_CLASS = ".storageclass.storage.k8s.io/"
_DEVICE_CLASS = ".deviceclass.resource.k8s.io/devices"
_IMPLICIT_DEVICES = "deviceclass.resource.kubernetes.io/"
_ALL_DEVICES = 32
"""What a request for all devices of a class counts: no claim gets more."""
_ALIASES = frozenset({"configmaps", "replicationcontrollers", "resourcequotas", "secrets"})
"""Kinds that a quota may also name without `count/`."""
_ENDED = ("Failed", "Succeeded")


class Change(msgspec.Struct, frozen=True):
    """A request that may use more of a quota. `part`: the subresource, or ""."""

    operation: str
    part: str
    old: Json | None
    new: Json


class Count:
    """How objects of one kind are counted. This one counts their number alone."""

    def __init__(self, resource: str) -> None:
        self._names = frozenset({_COUNT + resource}) | (_ALIASES & {resource})

    def matching(self, names: Iterable[str]) -> set[str]:
        """Which of the names of a quota are about this kind."""
        return {name for name in names if name in self._names}

    def handles(self, change: Change) -> bool:
        """Whether the request may use more."""
        return change.operation == CREATE and not change.part

    def usage(self, value: Json, now_s: float) -> Amounts:
        """What the object uses, by the names that a quota has for it."""
        return dict.fromkeys(self._names, ONE)

    def is_in_scope(self, selector: Json, value: Json) -> bool:
        """Whether the object is in that scope of a quota."""
        return False

    def missing(self, names: set[str], value: Json) -> str:
        """What the object has to say once a quota limits these names; "" for nothing."""
        return ""


class PodCount(Count):
    """Pods by their requests and limits. Those that have ended count as objects alone."""

    def matching(self, names: Iterable[str]) -> set[str]:
        return {name for name in names if name in _OF_PODS or _is_extended(name)}

    def handles(self, change: Change) -> bool:
        if change.part == "resize":
            return change.operation == UPDATE
        if change.part:
            return False
        return change.old is None or _has_deadline(change.old) != _has_deadline(change.new)

    def usage(self, value: Json, now_s: float) -> Amounts:
        if not _is_charged(value, now_s):
            return {"count/pods": ONE}
        measured = _measured(total_in_use(value, "requests"), total_in_use(value, "limits"))
        return {"count/pods": ONE, "pods": ONE, **measured}

    def is_in_scope(self, selector: Json, value: Json) -> bool:
        spec, scope = value["spec"], selector.get("scopeName")
        is_best_effort = (value.get("status") or {}).get("qosClass") == "BestEffort"
        if scope == "PriorityClass":
            return _selects(selector, [spec.get("priorityClassName")] if spec.get("priorityClassName") else [])
        facts = {
            "Terminating": _has_deadline(value),
            "NotTerminating": not _has_deadline(value),
            "BestEffort": is_best_effort,
            "NotBestEffort": not is_best_effort,
            "CrossNamespacePodAffinity": _looks_elsewhere(spec.get("affinity") or {}),
        }
        return facts.get(str(scope), False)

    def missing(self, names: set[str], value: Json) -> str:
        spec, lacking = value["spec"], defaultdict[str, set[str]](set)
        if has_own_resources(spec):
            return ""
        for container in (*spec["containers"], *(spec.get("initContainers") or ())):
            said = _measured(container_amounts(container, "requests"), container_amounts(container, "limits"))
            for name in sorted((names & _NEEDED) - said.keys()):
                lacking[name].add(container["name"])
        whose = "; ".join(f"{name} for: {','.join(sorted(those))}" for name, those in sorted(lacking.items()))
        return f"must specify {whose}" if whose else ""


class ServiceCount(Count):
    """Services by their type. Load balancers have node ports, too."""

    def matching(self, names: Iterable[str]) -> set[str]:
        known = ("count/services", "services", "services.nodeports", "services.loadbalancers")
        return {name for name in names if name in known}

    def handles(self, change: Change) -> bool:
        return not change.part

    def usage(self, value: Json, now_s: float) -> Amounts:
        spec = value["spec"]
        kind, ports = spec.get("type"), spec.get("ports") or ()
        if kind not in ("NodePort", "LoadBalancer"):
            ports = ()
        elif kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
            ports = [port for port in ports if port.get("nodePort")]
        return {
            "count/services": ONE,
            "services": ONE,
            "services.nodeports": of_value(len(ports)),
            "services.loadbalancers": ONE if kind == "LoadBalancer" else ZERO,
        }


class ClaimCount(Count):
    """Claims for volumes by the storage they request, also by storage class."""

    def matching(self, names: Iterable[str]) -> set[str]:
        ends = tuple(_STORAGE_CLASS + name for name in _OF_STORAGE)
        return {one for one in names if one in (*_OF_STORAGE, "count/persistentvolumeclaims") or one.endswith(ends)}

    def handles(self, change: Change) -> bool:
        return change.part in ("", "status")

    def usage(self, value: Json, now_s: float) -> Amounts:
        spec, status = value["spec"], value.get("status") or {}
        used = {"persistentvolumeclaims": ONE}
        requested = read((spec.get("resources") or {}).get("requests"))
        if "storage" in requested:
            storage = greater(requested, read(status.get("allocatedResources")))["storage"]
            used["requests.storage"] = of_value(storage.value(), storage.suffixes)
        annotations = value["metadata"].get("annotations") or {}
        name = annotations.get("volume.beta.kubernetes.io/storage-class") or spec.get("storageClassName")
        by_class = {f"{name}{_STORAGE_CLASS}{what}": amount for what, amount in used.items()} if name else {}
        return {"count/persistentvolumeclaims": ONE, **used, **by_class}

    def is_in_scope(self, selector: Json, value: Json) -> bool:
        spec, status = value["spec"], value.get("status") or {}
        named = (
            spec.get("volumeAttributesClassName"),
            status.get("currentVolumeAttributesClassName"),
            (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
        )
        is_about = selector.get("scopeName") == "VolumeAttributesClass"
        return is_about and _selects(selector, [name for name in named if name])


class DeviceClaimCount(Count):
    """Claims for devices by the class of these. Of alternatives, the largest counts."""

    def matching(self, names: Iterable[str]) -> set[str]:
        return {one for one in names if one in self._names or one.endswith(_DEVICE_CLASS)}

    def handles(self, change: Change) -> bool:
        return not change.part

    def usage(self, value: Json, now_s: float) -> Amounts:
        used = super().usage(value, now_s)
        for request in (value["spec"].get("devices") or {}).get("requests") or ():
            most: Amounts = {}
            for one in request.get("firstAvailable") or (request.get("exactly") or {},):
                counted = _ALL_DEVICES if one.get("allocationMode") == "All" else one.get("count") or 0
                most = greater(most, {f"{one.get('deviceClassName', '')}{_DEVICE_CLASS}": of_value(counted)})
            used = added(used, most)
        return used


_SPECIAL: Mapping[str, type[Count]] = {
    "pods": PodCount,
    "services": ServiceCount,
    "persistentvolumeclaims": ClaimCount,
    "resourceclaims.resource.k8s.io": DeviceClaimCount,
}
_UNCOUNTED = frozenset({"events", "events.events.k8s.io"})


def count_of(resource: str) -> Count | None:
    """How objects of a resource are counted, as in `jobs.batch`; None for those that no quota limits."""
    return None if resource in _UNCOUNTED else _SPECIAL.get(resource, Count)(resource)


def resources_of(names: Iterable[str]) -> set[str]:
    """The resources that names of a quota may be about, as in `jobs.batch`."""
    wanted = tuple(names)
    special = {resource for resource, count in _SPECIAL.items() if count(resource).matching(wanted)}
    plain = {name.removeprefix(_COUNT) for name in wanted if name.startswith(_COUNT)} | (_ALIASES & {*wanted})
    return special | (plain - _UNCOUNTED)


def _measured(requests: Amounts, limits: Amounts) -> Amounts:
    """Requests and limits by the names that quotas have for them."""
    used: Amounts = {}
    for name, amount in requests.items():
        if name in _MEASURED or name.startswith(HUGE_PAGES):
            used[name] = used[_REQUESTS + name] = amount
        elif _is_foreign(name) or name.startswith(_IMPLICIT_DEVICES):
            used[_REQUESTS + name] = amount
    used |= {f"limits.{name}": amount for name, amount in limits.items() if name in _MEASURED}
    return used


def _is_extended(name: str) -> bool:
    """Whether a quota limits huge pages or a resource of a device plugin by that name."""
    if name.startswith((HUGE_PAGES, _REQUESTS + HUGE_PAGES)):
        return True
    return name.startswith(_REQUESTS) and (_is_foreign(name) or name.startswith(_REQUESTS + _IMPLICIT_DEVICES))


def _is_foreign(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name


def _has_deadline(pod: Json) -> bool:
    seconds = pod["spec"].get("activeDeadlineSeconds")
    return seconds is not None and seconds >= 0


def _is_charged(pod: Json, now_s: float) -> bool:
    """Whether the pod uses resources: it has not ended, and did not outlive its deletion."""
    metadata = pod["metadata"]
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return False
    ends, grace_s = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    return not (ends and grace_s is not None) or now_s <= datetime.fromisoformat(ends).timestamp() + grace_s


def _looks_elsewhere(affinity: Json) -> bool:
    """Whether a term is about pods of other namespaces."""
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms = [*(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())]
        terms += [one.get("podAffinityTerm") or {} for one in preferred]
        if any(one.get("namespaces") or one.get("namespaceSelector") is not None for one in terms):
            return True
    return False


def _selects(selector: Json, names: list[str]) -> bool:
    """Whether a scope with values selects one of the names, or none."""
    operator, values = selector.get("operator"), selector.get("values") or ()
    if operator == "Exists":
        return bool(names)
    if operator == "DoesNotExist":
        return not names
    if operator == "In":
        return any(name in values for name in names)
    return operator == "NotIn" and (not names or any(name not in values for name in names))
