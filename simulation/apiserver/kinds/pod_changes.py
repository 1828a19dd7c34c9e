"""What may change in a pod after its creation: a few fields of the spec; container states do not go back. Pure."""

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
    causes = []
    if len(old["containers"]) != len(new.get("containers") or ()):
        causes.append(forbidden_field("spec.containers", "pod updates may not add or remove containers"))
    causes += _deadline_faults(old.get("activeDeadlineSeconds"), new.get("activeDeadlineSeconds"))
    tolerations = [_lasting(one) for one in new.get("tolerations") or ()]
    if any(_lasting(one) not in tolerations for one in old.get("tolerations") or ()):
        why = "existing toleration can not be modified except its tolerationSeconds"
        causes.append(forbidden_field("spec.tolerations", why))
    free = _free_fields(old, new)
    changed = sorted(field for field in {*new, *old} - free if _leveled(field, new, old) != old.get(field))
    if changed and not causes:
        causes.append(forbidden_field("spec", f"{_MAY_CHANGE}; changed: {', '.join(changed)}"))
    if causes:
        raise invalid(PODS, name, causes)


def _free_fields(old: Json, new: Json) -> set[str]:
    free = {"activeDeadlineSeconds", "tolerations"}
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and new.get("terminationGracePeriodSeconds") == 1:
        free.add("terminationGracePeriodSeconds")
    before, after = old.get("schedulingGates") or [], new.get("schedulingGates") or []
    if after == [gate for gate in before if gate in after]:
        free |= {"schedulingGates", "nodeSelector"} if before else {"schedulingGates"}
    return free


def _leveled(field: str, new: Json, old: Json) -> Any:
    """The field with the images that it had."""
    if field not in ("containers", "initContainers") or len(new.get(field) or ()) != len(old.get(field) or ()):
        return new.get(field)
    pairs = zip(old.get(field) or (), new.get(field) or (), strict=True)
    return [{**after, "image": before.get("image")} for before, after in pairs]


def _lasting(toleration: Json) -> Json:
    return {field: value for field, value in toleration.items() if field != "tolerationSeconds"}


def _deadline_faults(before: int | None, after: int | None) -> list[tuple[str, str, str]]:
    if before is None or before == after:
        return []
    if after is None:
        why = "must not update from a positive integer to nil value"
        return [invalid_value("spec.activeDeadlineSeconds", before, why)]
    if after > before:
        return [invalid_value("spec.activeDeadlineSeconds", after, f"must be less than or equal to {before}")]
    return []


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
