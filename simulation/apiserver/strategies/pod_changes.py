"""The allowed changes of a pod's status: container states do not go back. Pure."""

from __future__ import annotations

from simulation.apiserver.kinds.table import PODS
from simulation.apiserver.status import Json, forbidden_field, invalid


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
