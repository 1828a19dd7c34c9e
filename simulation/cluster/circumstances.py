"""Which objects there are, and which cannot come: for a test that has waited in vain. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.store.store import Version

KINDS_AT_MOST = 12
NAMES_AT_MOST = 3
_OF_MANAGER = {
    "deployments.apps": "makes no ReplicaSet and no pods",
    "replicasets.apps": "makes no pods",
    "statefulsets.apps": "makes no pods",
    "daemonsets.apps": "makes no pods",
    "replicationcontrollers": "makes no pods",
    "jobs.batch": "makes no pods",
    "cronjobs.batch": "makes no Jobs",
    "horizontalpodautoscalers.autoscaling": "scales nothing",
    "poddisruptionbudgets.policy": "allows no eviction",
}
"""What comes of an object without the kube-controller-manager."""
_NOT_COUNTED = ("events", "events.events.k8s.io")
_REMEDY = "start the cluster with controller_manager=PATH"

Objects = Iterable[tuple[ServedResource, Version]]
Json = dict[str, Any]


def found(objects: Objects) -> Iterator[str]:
    """How many objects of each kind there are, with the first names: `2 pods: default/a, default/b`."""
    of: dict[str, list[str]] = {}
    for resource, version in objects:
        if resource.group_resource not in _NOT_COUNTED:
            name = f"{version.namespace}/{version.name}" if version.namespace else version.name
            of.setdefault(resource.group_resource, []).append(name)
    for kind, names in sorted(of.items())[:KINDS_AT_MOST]:
        more = f" and {len(names) - NAMES_AT_MOST} more" if len(names) > NAMES_AT_MOST else ""
        yield f"{len(names)} {kind}: {', '.join(names[:NAMES_AT_MOST])}{more}"


def missing(objects: Objects, *, has_manager: bool) -> Iterator[str]:
    """What is known to be missing: a program without which nothing comes of an object."""
    if has_manager:
        return
    told = Counter[str]()
    for resource, version in objects:
        kind = resource.group_resource
        owned = any(owner.get("controller") for owner in version.object["metadata"].get("ownerReferences") or ())
        if kind in _OF_MANAGER and not owned:
            told[kind] += 1
            if told[kind] <= NAMES_AT_MOST:
                yield f"{resource.kind} {version.namespace}/{version.name} {_OF_MANAGER[kind]} here; {_REMEDY}"
