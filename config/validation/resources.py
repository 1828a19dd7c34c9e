"""Rules for the resources of a container or a pod (spec 10.17).

Pure; faults go to the `DocumentPlace`. Nothing here compares them with the node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from contextlib import suppress

from config.documents.places import DocumentPlace
from config.objects import ContainerResizePolicy, PodSpec, ResourceRequirements
from config.values.name_rules import check, qualified_name
from config.values.quantity import Quantity, QuantityError, parse_quantity

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_POD_LEVEL = frozenset({"cpu", "memory"})
_HUGE_PAGES = "hugepages-"


def check_quantity(place: DocumentPlace, text: str) -> Quantity | None:
    """The quantity, or None after a fault: it must be readable and not negative."""
    try:
        quantity = parse_quantity(text)
    except QuantityError as error:
        place.fault(f"{text!r} is not a quantity: {error.reason}", "write a number such as 500m, 2 or 1Gi")
        return None
    if quantity.nanos < 0:
        place.fault(f"must not be negative, but is {text}")
        return None
    return quantity


def check_resources(place: DocumentPlace, resources: ResourceRequirements | None, claims: frozenset[str]) -> None:
    """Check names, amounts, requests against limits, and claims, which must be among `claims` of the pod."""
    if resources is None:
        return
    limits = _check_amounts(place / "limits", resources.limits)
    requests = _check_amounts(place / "requests", resources.requests)
    for name, request in requests.items():
        limit = limits.get(name)
        if limit is not None and request > limit:
            (place / "requests" / name).fault(
                f"{resources.requests[name]} is more than the limit of {resources.limits[name]}",
                "raise the limit or lower the request",
            )
        elif not _can_be_overcommitted(name) and request != limit:
            (place / "requests" / name).fault(f"must be equal to the limit: {name} cannot be overcommitted")
    for name in limits:
        if name.startswith(_HUGE_PAGES) and not {"cpu", "memory"} & (requests.keys() | limits.keys()):
            (place / "limits" / name).fault("huge pages need cpu or memory beside them", "add a request for memory")
    _check_claims(place, resources, claims)


def check_pod_resources(place: DocumentPlace, spec: PodSpec) -> None:
    """Pod-level resources: few kinds, no claims, and requests of at least the total of the containers."""
    resources = spec.resources
    if resources is None:
        return
    check_resources(place, resources, frozenset())
    for field, amounts in (("limits", resources.limits), ("requests", resources.requests)):
        for name in amounts:
            if name not in _POD_LEVEL and not name.startswith(_HUGE_PAGES):
                (place / field / name).fault("is not supported for the pod as a whole", "use cpu, memory, hugepages")
    totals = _totals(spec, resources.requests.keys())
    for name, text in resources.requests.items():
        total = totals.get(name)
        with suppress(QuantityError):  # the unreadable one has its own fault already
            if total is not None and total > parse_quantity(text):
                (place / "requests" / name).fault(f"{text} is less than the {total} its containers ask for")


def _totals(spec: PodSpec, names: Set[str]) -> Mapping[str, Quantity]:
    """By resource: what the containers ask for together, if all amounts of it can be read."""
    totals: dict[str, Quantity] = {}
    unreadable: set[str] = set()
    for container in spec.containers:
        asked = {} if container.resources is None else container.resources.requests
        for name in sorted(names & asked.keys()):
            try:
                totals[name] = totals.get(name, Quantity(0)) + parse_quantity(asked[name])
            except QuantityError:
                unreadable.add(name)
    return {name: total for name, total in totals.items() if name not in unreadable}


def check_resize_policies(place: DocumentPlace, policies: Iterable[ContainerResizePolicy], spec: PodSpec) -> None:
    """Each resource and policy must be known, and each resource has one policy.

    Containers of a pod that never restarts cannot restart for a resize.
    """
    seen: set[str] = set()
    for at, policy in place.items("resizePolicy", policies):
        (at / "resourceName").one_of(policy.resource_name, ("cpu", "memory"))
        (at / "restartPolicy").one_of(policy.restart_policy, ("NotRequired", "RestartContainer"))
        if policy.resource_name in seen:
            (at / "resourceName").fault(f"{policy.resource_name!r} is given twice", "keep one of them")
        if spec.restart_policy == "Never" and policy.restart_policy == "RestartContainer":
            (at / "restartPolicy").fault("must be NotRequired in a pod with restartPolicy: Never")
        seen.add(policy.resource_name)


def _check_amounts(place: DocumentPlace, amounts: Mapping[str, str]) -> dict[str, Quantity]:
    """The readable amounts, by name."""
    good: dict[str, Quantity] = {}
    for name, text in amounts.items():
        at = place / name
        check(at, qualified_name(name))
        if "/" not in name and name not in _STANDARD and not name.startswith(_HUGE_PAGES):
            at.fault(
                f"{name!r} is not a resource of a container", "use cpu, memory, ephemeral-storage or vendor.org/name"
            )
        quantity = check_quantity(at, text)
        if quantity is None:
            continue
        good[name] = quantity
        if not _can_be_overcommitted(name) and quantity.nanos % 10**9:
            at.fault(f"{name} comes in whole numbers, not {text}")
    return good


def _can_be_overcommitted(name: str) -> bool:
    return ("/" not in name or "kubernetes.io/" in name) and not name.startswith(_HUGE_PAGES)


def _check_claims(place: DocumentPlace, resources: ResourceRequirements, known: frozenset[str]) -> None:
    seen: set[tuple[str, str | None]] = set()
    for at, claim in place.items("claims", resources.claims):
        if (at / "name").required(claim.name) and claim.name not in known:
            (at / "name").fault(f"no claim {claim.name!r} in $.spec.resourceClaims", "add it there")
        if (claim.name, claim.request) in seen:
            at.fault("is given twice", "keep one of them")
        seen.add((claim.name, claim.request))
