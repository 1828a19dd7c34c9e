"""The strategic merge patch that changes a pod's status in the API from one value to another. Pure.

It names only what differs, so that writers of different parts do not conflict. Its UID makes the write fail on another
pod of the same name. The API merges some lists by key (conditions by type, addresses by ip): conditions are written one
by one, addresses as a whole.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actors.pod_status.conditions import OWNED, by_type
from actors.status.merge import NOTHING
from config.objects import PodCondition, PodStatus

_FIELDS = msgspec.structs.fields(PodStatus)
_MERGED_BY_IP = frozenset({"podIPs", "hostIPs"})
_MAPS = frozenset({"allocatedResources", "resources"})
_REPLACED = _MERGED_BY_IP | _MAPS


def status_patch(uid: str, api: PodStatus | None, wanted: PodStatus) -> dict[str, Any] | None:
    """The body of the patch for the pod of that UID; None for no change.

    Parts that are written as a whole are the structs of `wanted`, to be encoded with the body.
    """
    before = NOTHING if api is None else api
    changes: dict[str, Any] = {}
    for field in _FIELDS:
        name, old, new = field.encode_name, getattr(before, field.name), getattr(wanted, field.name)
        if old == new:
            continue
        if name == "conditions":
            changed = _condition_changes(old, new)
            if changed:
                changes[name] = changed
        elif not new:
            changes[name] = None
        elif not old or name not in _REPLACED:
            changes[name] = new
        elif name in _MERGED_BY_IP:
            changes[name] = [{"$patch": "replace"}, *new]
        else:
            changes[name] = {"$patch": "replace", **msgspec.to_builtins(new)}
    return {"metadata": {"uid": uid}, "status": changes} if changes else None


def asked_in(body: dict[str, Any] | None) -> frozenset[str]:
    """The parts that a patch names: status fields, conditions, and fields to remove from a condition."""
    changes = {} if body is None else body["status"]
    asked = set(changes.keys() - {"conditions"})
    for each in changes.get("conditions", ()):
        if isinstance(each, dict):
            asked.update(f"{name} of {each['type']}" for name, value in each.items() if value is None)
        asked.add(f"condition {each['type'] if isinstance(each, dict) else each.type}")
    return frozenset(asked)


def _condition_changes(old: tuple[PodCondition, ...], new: tuple[PodCondition, ...]) -> list[Any]:
    before = by_type(old)
    written: list[Any] = []
    wanted = frozenset(each.type for each in new)
    for each in new:
        known = before.get(each.type)
        if known is None:
            written.append(each)
        elif known != each:
            written.append(_in_place_of(known, each) if known.reason or known.message else each)
    if wanted.issuperset(before):
        return written
    gone = [each for each in before if each not in wanted and each in OWNED]
    return written + [{"$patch": "delete", "type": each} for each in gone]


def _in_place_of(known: PodCondition, condition: PodCondition) -> PodCondition | dict[str, Any]:
    """The condition, with null for a removed reason or message: a patch would keep the old text."""
    gone: dict[str, Any] = {}
    if known.reason and not condition.reason:
        gone["reason"] = None
    if known.message and not condition.message:
        gone["message"] = None
    return {**gone, **msgspec.to_builtins(condition)} if gone else condition
