"""A strategic merge patch of the agent's part of a Node: labels, annotations and status.

It holds only differences, so that concurrent writes of others survive. Conditions are merged by type; the agent's own
are all named when any differs, because their heartbeats are news. Addresses are replaced as a whole: two of one type
are usual, and a merge by type would lose one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from actors.node_object.conditions import OWN
from config.objects import Node, NodeStatus


def node_patch(before: Node, after: Node) -> dict[str, Any]:
    """The patch from `before` to `after`; empty when nothing differs."""
    patch: dict[str, Any] = {}
    metadata = {
        name: changes
        for name in ("labels", "annotations")
        if (changes := difference(getattr(before.metadata, name), getattr(after.metadata, name)))
    }
    if metadata:
        patch["metadata"] = metadata
    status = status_patch(before.status or NodeStatus(), after.status or NodeStatus())
    if status:
        patch["status"] = status
    return patch


def status_patch(before: NodeStatus, after: NodeStatus) -> dict[str, Any]:
    """The `status` of the patch."""
    old, new = _plain(before), _plain(after)
    old_conditions, new_conditions = old.pop("conditions", []), new.pop("conditions", [])
    patch = difference(old, new)
    if "addresses" in patch and patch["addresses"] is not None:
        patch["addresses"] = [*patch["addresses"], {"$patch": "replace"}]
    if new_conditions != old_conditions:
        patch["conditions"] = [condition for condition in new_conditions if condition["type"] in OWN]
    return patch


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch from `before` to `after`.

    Removed fields are null, objects are compared in depth, and everything else is replaced as a whole.
    """
    changes: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            if inner := difference(old, value):
                changes[name] = inner
        elif name not in before or value != old:
            changes[name] = value
    return changes


def _plain(status: NodeStatus) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(status)
    return plain
