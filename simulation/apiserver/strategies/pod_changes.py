"""The allowed changes of a pod after its creation: a few fields of the spec.

Container states do not go back. Pure.
"""

from __future__ import annotations

from typing import Any

from simulation.apiserver.kinds.table import PODS
from simulation.apiserver.status import Json, forbidden_field, invalid

_MAY_CHANGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_spec_change(name: str, old: Json, new: Json) -> None:
    """Check a change of the spec. Raises StatusError (422)."""
    changed = sorted(field for field in {*new, *old} if not _may_become(field, old, new))
    if changed:
        raise invalid(PODS, name, [forbidden_field("spec", f"{_MAY_CHANGE}; changed: {', '.join(changed)}")])


def _may_become(field: str, old: Json, new: Json) -> bool:
    """Whether the field may be what it is in `new`."""
    before, after = old.get(field), new.get(field)
    if before == after:
        return True
    gates, gates_left = old.get("schedulingGates") or [], new.get("schedulingGates") or []
    match field:
        case "containers" | "initContainers":
            return _without(before, "image") == _without(after, "image")
        case "activeDeadlineSeconds":
            return before is None or (after is not None and after < before)
        case "tolerations":
            lasting = _without(after, "tolerationSeconds")
            return all(each in lasting for each in _without(before, "tolerationSeconds"))
        case "terminationGracePeriodSeconds":
            return (before or 0) < 0 and after == 1
        case "schedulingGates":
            return gates_left == [gate for gate in gates if gate in gates_left]
        case "nodeSelector":
            return bool(gates)
    return False


def _without(items: Any, field: str) -> list[Json]:
    return [{name: part for name, part in item.items() if name != field} for item in items or ()]


def check_container_states(name: str, spec: Json, old: Json, new: Json) -> None:
    """A container that ended for good does not come back in a later status. Raises StatusError (422)."""
    policy = spec.get("restartPolicy", "Always")
    if policy == "Always":
        return
    causes = []
    for field, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        restarted = {one["name"] for one in spec.get(containers) or () if one.get("restartPolicy")}
        after = {one["name"]: one.get("state") or {} for one in new.get(field) or ()}
        for index, before in enumerate(old.get(field) or ()):
            ended, container = (before.get("state") or {}).get("terminated"), before["name"]
            if ended is None or container in restarted or (policy == "OnFailure" and ended.get("exitCode")):
                continue
            if after.get(container, before["state"]).get("terminated") is None:
                why = "may not be transitioned to non-terminated state"
                causes.append(forbidden_field(f"status.{field}[{index}].state", why))
    if causes:
        raise invalid(PODS, name, causes)
