"""The owners of a Scale, which shows one field of an object in another shape.

A kube-apiserver gives what an update owns there an entry of its own without a time, and reads only the last of several
entries of one manager (`managedfields/scalehandler.go`).
"""

from __future__ import annotations

from collections.abc import Sequence

from simulation.apiserver.fields.managers import APPLY, UPDATE, Entry, Managed, Manager, in_order
from simulation.apiserver.fields.sets import fields_at, has, without

API_VERSION = "autoscaling/v1"
_REPLICAS = fields_at(("spec", "replicas"))


def of_scale(managed: Managed, names: Sequence[str]) -> Managed:
    """The owners of a Scale. `names`: where the object has its number of replicas."""
    path = tuple(f"f:{name}" for name in names)
    owners = [entry for entry in managed if has(entry.fields, path)]
    return in_order(Entry(_of_scale(entry.manager), API_VERSION, _REPLICAS, entry.time) for entry in owners)


def _of_scale(manager: Manager) -> Manager:
    if manager.operation == APPLY:
        return manager
    return Manager(manager.name, UPDATE, API_VERSION, manager.subresource)


def of_object(managed: Managed, scale: Managed, names: Sequence[str], api_version: str) -> Managed:
    """The owners of an object whose Scale has those owners now."""
    path, fields = tuple(f"f:{name}" for name in names), fields_at(names)
    new = {entry.manager: entry for entry in scale}
    made: list[Entry] = []
    for entry in managed:
        if not has(entry.fields, path):
            made.append(entry)
        elif entry.manager in new:
            made.append(entry)
            del new[entry.manager]
        elif left := without(entry.fields, fields):
            made.append(entry.with_fields(left))
    for manager in new:
        own = manager if manager.operation == APPLY else Manager(manager.name, UPDATE, api_version, manager.subresource)
        made.append(Entry(own, api_version, fields))
    return in_order(made)
