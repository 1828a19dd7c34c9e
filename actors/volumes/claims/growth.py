"""The patch of a claim's status after its file system has grown, or could not grow (spec 8.8). Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.volumes.claims.rules import STORAGE
from config.objects import PersistentVolumeClaim
from runtime.volumes.csi_material import Expansion

PENDING = "FileSystemResizePending"
INFEASIBLE = "NodeResizeInfeasible"


def growth_patch(claim: PersistentVolumeClaim, wanted: str, outcome: Expansion) -> dict[str, Any] | None:
    """A merge patch of the claim's status; None for no change.

    `wanted`: the capacity of the persistent volume.

    It names the resource version of the claim it was made from, because it replaces all conditions.
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
