"""The resource changes that a pod requests, as labels of a kubelet's metric (spec 10.16).

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from actors.model.pod_resources import PodResources, amounts_of

RESOURCES = ("cpu", "memory")
REQUIREMENTS = ("limits", "requests")


class Change(msgspec.Struct, frozen=True):
    """`operation`: `add`, `remove`, `increase` or `decrease`."""

    resource: str
    requirement: str
    operation: str


def changes(given: PodResources, wanted: PodResources) -> Iterator[Change]:
    """One change for each limit and request of a container that differs. Raises QuantityError."""
    for name in wanted.containers:
        before, after = amounts_of(given.containers.get(name)), amounts_of(wanted.containers[name])
        for requirement, had, has in zip(REQUIREMENTS, before, after, strict=True):
            for resource in RESOURCES:
                operation = _operation(had.get(resource), has.get(resource))
                if operation:
                    yield Change(resource, requirement, operation)


def _operation(before: int | None, after: int | None) -> str:
    if before == after:
        return ""
    if before is None:
        return "add"
    if after is None:
        return "remove"
    return "increase" if after > before else "decrease"
