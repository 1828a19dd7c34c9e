"""The strategic merge patch that brings a pod's status in the API from one value to another. Pure.

It names what differs and nothing else, so that two writers of different parts do not meet. The UID in it makes
the write fail on another pod of the same name. Lists that the API merges by key (conditions by type, addresses by ip)
are written as the API wants them: conditions one by one, addresses as a whole.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actors.api_status.merge import NODE_CONDITIONS, NOTHING
from config.objects import PodCondition, PodStatus

_NAMES = tuple((field.name, field.encode_name) for field in msgspec.structs.fields(PodStatus))
_MERGED_BY_IP = frozenset({"pod_ips", "host_ips"})
_MAPS = frozenset({"allocated_resources", "resources"})


def status_patch(uid: str, api: PodStatus | None, wanted: PodStatus) -> dict[str, Any] | None:
    """The body of the patch for the pod of that UID; None when there is nothing to say."""
    before = NOTHING if api is None else api
    changes: dict[str, Any] = {}
    for name, json_name in _NAMES:
        old, new = getattr(before, name), getattr(wanted, name)
        if old == new:
            continue
        if name == "conditions":
            changed = _condition_changes(old, new)
            if changed:
                changes[json_name] = changed
        elif new is None or not new:
            changes[json_name] = None
        elif name in _MERGED_BY_IP and old:
            changes[json_name] = [{"$patch": "replace"}, *msgspec.to_builtins(new)]
        elif name in _MAPS and old:
            changes[json_name] = {"$patch": "replace", **msgspec.to_builtins(new)}
        elif isinstance(new, tuple):
            changes[json_name] = list(msgspec.to_builtins(new))
        else:
            changes[json_name] = msgspec.to_builtins(new)
    return {"metadata": {"uid": uid}, "status": changes} if changes else None


def asked_in(body: dict[str, Any] | None) -> frozenset[str]:
    """What a patch names: fields of the status, and conditions one by one."""
    changes = {} if body is None else body["status"]
    conditions = {f"condition {each['type']}" for each in changes.get("conditions", ())}
    return frozenset(changes.keys() - {"conditions"} | conditions)


def _condition_changes(old: tuple[PodCondition, ...], new: tuple[PodCondition, ...]) -> list[dict[str, Any]]:
    before = {each.type: each for each in old}
    changes = [_whole(each) for each in new if before.get(each.type) != each]
    kept = {each.type for each in new}
    gone = (each.type for each in old if each.type in NODE_CONDITIONS and each.type not in kept)
    return changes + [{"$patch": "delete", "type": each} for each in gone]


def _whole(condition: PodCondition) -> dict[str, Any]:
    """A condition in which what is absent is said to be absent: a patch would keep the old text."""
    written: dict[str, Any] = msgspec.to_builtins(condition)
    return {"reason": None, "message": None, **written}
