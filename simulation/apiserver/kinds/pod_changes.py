"""What may change in a pod after its creation: a few fields of the spec, and container states that do not go back.

Pure. What can fail is the change (422).
"""

from __future__ import annotations

from typing import Any

from simulation.apiserver.resources import PODS
from simulation.apiserver.status import Json, forbidden_field, invalid, invalid_value

_MAY_CHANGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_spec_change(name: str, old: Json, new: Json) -> None:
    """Raises StatusError (422)."""
    causes = [*_container_faults(old, new), *_deadline_faults(old, new), *_toleration_faults(old, new)]
    leveled = {**new}
    for field in ("containers", "initContainers"):
        if field in leveled and len(leveled[field]) == len(old.get(field) or ()):
            pairs = zip(old[field], leveled[field], strict=True)
            leveled[field] = [{**after, "image": before.get("image")} for before, after in pairs]
    for field in ("activeDeadlineSeconds", "tolerations"):
        _set(leveled, field, old.get(field))
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and new.get("terminationGracePeriodSeconds") == 1:
        leveled["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    gates = [gate for gate in old.get("schedulingGates") or () if gate in (new.get("schedulingGates") or ())]
    if gates == (new.get("schedulingGates") or []):
        _set(leveled, "schedulingGates", old.get("schedulingGates"))
        if old.get("schedulingGates"):
            _set(leveled, "nodeSelector", old.get("nodeSelector"))
    if not causes and leveled != old:
        changed = sorted(field for field in {*leveled, *old} if leveled.get(field) != old.get(field))
        causes.append(forbidden_field("spec", f"{_MAY_CHANGE}; changed: {', '.join(changed)}"))
    if causes:
        raise invalid(PODS, name, causes)


def _set(spec: Json, field: str, value: Any) -> None:
    if value is None:
        spec.pop(field, None)
    else:
        spec[field] = value


def _container_faults(old: Json, new: Json) -> list[tuple[str, str, str]]:
    if len(old["containers"]) == len(new.get("containers") or ()):
        return []
    return [forbidden_field("spec.containers", "pod updates may not add or remove containers")]


def _deadline_faults(old: Json, new: Json) -> list[tuple[str, str, str]]:
    before, after = old.get("activeDeadlineSeconds"), new.get("activeDeadlineSeconds")
    if before is None or before == after:
        return []
    if after is None:
        why = "must not update from a positive integer to nil value"
        return [invalid_value("spec.activeDeadlineSeconds", before, why)]
    if after > before:
        return [invalid_value("spec.activeDeadlineSeconds", after, f"must be less than or equal to {before}")]
    return []


def _toleration_faults(old: Json, new: Json) -> list[tuple[str, str, str]]:
    after = new.get("tolerations") or []
    lost = [one for one in old.get("tolerations") or () if one not in after and not _prolonged(one, after)]
    if not lost:
        return []
    return [forbidden_field("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")]


def _prolonged(toleration: Json, others: list[Json]) -> bool:
    def without(one: Json) -> Json:
        return {field: value for field, value in one.items() if field != "tolerationSeconds"}

    return any(without(toleration) == without(other) for other in others)


def check_container_states(name: str, spec: Json, old: Json, new: Json) -> None:
    """A container that ended for good does not come back in a later status. Raises StatusError (422)."""
    policy = spec.get("restartPolicy", "Always")
    if policy == "Always":
        return
    causes = []
    for field, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        free = {one["name"] for one in spec.get(containers) or () if one.get("restartPolicy")}
        after = {one["name"]: one for one in new.get(field) or ()}
        for index, before in enumerate(old.get(field) or ()):
            ended = (before.get("state") or {}).get("terminated")
            other = after.get(before["name"])
            if ended is None or other is None or before["name"] in free:
                continue
            if policy == "OnFailure" and ended.get("exitCode"):
                continue
            if (other.get("state") or {}).get("terminated") is None:
                why = "may not be transitioned to non-terminated state"
                causes.append(forbidden_field(f"status.{field}[{index}].state", why))
    if causes:
        raise invalid(PODS, name, causes)
