"""What a PodDisruptionBudget says of the eviction of a pod. Pure.

Source: the eviction subresource of Kubernetes 1.36 (`pkg/registry/core/pod/storage/eviction.go`).
"""

from __future__ import annotations

from typing import NamedTuple

from simulation.apiserver.status import Json

PROCESSED_IN_S = 10
"""After so many seconds a client may ask again."""
DISRUPTED_AT_MOST = 2000
"""Evictions that the disruption controller has not seen yet."""
_ENDED_OR_NOT_BEGUN = ("Succeeded", "Failed", "Pending")
_ALLOWED = "DisruptionAllowed"


class Decision(NamedTuple):
    """About one eviction. With neither `wait` nor `forbidden` it may go on; `spends`: it counts."""

    spends: bool = False
    wait: str = ""
    """Why not now."""
    retry_after_s: int = 0
    forbidden: str = ""


def is_free(pod: Json) -> bool:
    """Whether no budget is asked: the pod serves nobody."""
    phase = (pod.get("status") or {}).get("phase") or "Pending"
    return phase in _ENDED_OR_NOT_BEGUN or "deletionTimestamp" in pod["metadata"]


def decide(budget: Json, pod: Json) -> Decision:
    metadata, status = budget["metadata"], budget.get("status") or {}
    healthy, desired = status.get("currentHealthy") or 0, status.get("desiredHealthy") or 0
    if not _is_ready(pod):
        always = budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
        if always or healthy >= desired > 0:
            return Decision()
    name = metadata["name"]
    if (status.get("observedGeneration") or 0) < (metadata.get("generation") or 0):
        return Decision(
            wait=f"The disruption budget {name} is still being processed by the server.", retry_after_s=PROCESSED_IN_S
        )
    allowed = status.get("disruptionsAllowed") or 0
    if allowed < 0:
        return Decision(forbidden="pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > DISRUPTED_AT_MOST:
        return Decision(
            forbidden="DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        )
    return Decision(spends=True) if allowed else Decision(wait=_why_none(name, status, healthy, desired))


def _why_none(name: str, status: Json, healthy: int, desired: int) -> str:
    found = [each for each in status.get("conditions") or () if each["type"] == _ALLOWED]
    refused = found[0] if found and found[0]["status"] == "False" and found[0].get("message") else None
    if refused is not None and refused.get("reason") == "SyncFailed":
        why = f"because it failed sync: {refused['message']}"
        return f"The disruption budget {name} does not allow evicting pods currently {why}"
    if healthy <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
    words = f"The disruption budget {name} does not allow evicting pods currently"
    return words if refused is None else f"{words} ({refused.get('reason', '')}): {refused['message']}"


def after_eviction(budget: Json, pod: str, now: str) -> Json:
    """The status with one disruption less. `now`: RFC3339."""
    status = dict(budget["status"])
    status["disruptionsAllowed"] -= 1
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: now}
    if status["disruptionsAllowed"] == 0:
        others = [each for each in status.get("conditions") or () if each["type"] != _ALLOWED]
        condition = {
            "type": _ALLOWED,
            "status": "False",
            "observedGeneration": status.get("observedGeneration") or 0,
            "lastTransitionTime": now,
            "reason": "InsufficientPods",
            "message": "",
        }
        status["conditions"] = [*others, condition]
    return status


def _is_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
