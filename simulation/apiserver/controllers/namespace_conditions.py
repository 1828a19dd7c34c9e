"""The conditions of a namespace that is being deleted: what has gone, and what keeps it. Pure.

The types, reasons and messages are those of the namespace controller of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simulation.apiserver.status import Json

_WELL = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Reason and message of each type while nothing stands in the way, in their order."""


class Left(NamedTuple):
    """What a look found in the namespace.

    `objects`: their numbers by resource, as `configmaps.` and `deployments.apps`. `finalizers`: how many objects have
    each.
    """

    objects: Mapping[str, int] = {}
    finalizers: Mapping[str, int] = {}

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is left."""
        return not self.objects


def conditions_of(before: Sequence[Json], left: Left, now: str) -> list[Json]:
    """All conditions; one whose status has not changed keeps its time. `now`: RFC3339."""
    since = {each["type"]: (each["status"], each["lastTransitionTime"]) for each in before}
    found = _WELL | _remaining(left)
    conditions = []
    for kind, (reason, message) in found.items():
        status = "False" if (reason, message) == _WELL[kind] else "True"
        was, at = since.get(kind, ("", now))
        conditions.append(
            {
                "type": kind,
                "status": status,
                "lastTransitionTime": at if was == status else now,
                "reason": reason,
                "message": message,
            }
        )
    return conditions


def _remaining(left: Left) -> dict[str, tuple[str, str]]:
    found = {}
    if left.objects:
        names = ", ".join(sorted(f"{name} has {number} resource instances" for name, number in left.objects.items()))
        found["NamespaceContentRemaining"] = ("SomeResourcesRemain", f"Some resources are remaining: {names}")
    if left.finalizers:
        names = ", ".join(sorted(f"{name} in {number} resource instances" for name, number in left.finalizers.items()))
        words = f"Some content in the namespace has finalizers remaining: {names}"
        found["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", words)
    return found
