"""What is written to a claim's status when its file system was made to grow, or could not be (spec 8.8). Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.volumes.claims.rules import STORAGE
from config.objects import PersistentVolumeClaim
from runtime.volumes.csi_material import Expansion

PENDING = "FileSystemResizePending"
INFEASIBLE = "NodeResizeInfeasible"


def growth_patch(claim: PersistentVolumeClaim, wanted: str, outcome: Expansion) -> dict[str, Any] | None:
    """A merge patch of the claim's status; None when there is nothing to say. `wanted`: the size as the volume has it.

    It names the version of the claim that it was made from: conditions are written as a whole.
    """
    status = claim.status
    if status is None or (outcome.error and not outcome.infeasible):
        return None
    meta = {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}
    if outcome.error:
        return {"metadata": meta, "status": {"allocatedResourceStatuses": {STORAGE: INFEASIBLE}}}
    body: dict[str, Any] = {"capacity": {STORAGE: wanted}}
    if STORAGE in status.allocated_resource_statuses:
        body["allocatedResourceStatuses"] = {STORAGE: None}
    left = [condition for condition in status.conditions if condition.type != PENDING]
    if len(left) != len(status.conditions):
        body["conditions"] = msgspec.to_builtins(left)
    return {"metadata": meta, "status": body}
