"""The words of a resize (spec 10.16): its events, and what a status has said of it. Pure.

The events have a kubelet's words. Tools read the JSON in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from config.objects import Container, Pod
from config.values.api_time import seconds_of

STARTED, COMPLETED, ERROR = "ResizeStarted", "ResizeCompleted", "ResizeError"
DEFERRED, INFEASIBLE = "ResizeDeferred", "ResizeInfeasible"


def resize_message(what: str, pod: Pod, generation: int | None, error: str = "") -> str:
    """`what`: `started`, `completed`, `error`, or the reason for which it is pending."""
    said: dict[str, Any] = {}
    for group, containers in (("initContainers", pod.spec.init_containers), ("containers", pod.spec.containers)):
        if found := [_said(each) for each in containers]:
            said[group] = found
    said["generation"] = generation or 0
    if error:
        said["error"] = error
    return f"Pod resize {what}: {msgspec.json.encode(said).decode()}"


def _said(container: Container) -> dict[str, Any]:
    """Limits before requests, as upstream encodes them."""
    own, resources = container.resources, {}
    if own is not None:
        amounts = (("limits", own.limits), ("requests", own.requests))
        resources = {kind: dict(sorted(found.items())) for kind, found in amounts if found}
    return {"name": container.name, "resources": resources}


def below_usage(what: str, limit: int, used: int) -> str:
    """`what`: the pod, or a container by its name. Amounts are bytes."""
    return f"attempting to set {what} memory limit ({limit}) below current usage ({used})"


def memory_not_lowered(reasons: Sequence[str]) -> str:
    """The error for one or more `below_usage`."""
    return f"cannot decrease memory limits: {reasons[0] if len(reasons) == 1 else '[' + ', '.join(reasons) + ']'}"


def sandbox_refused(resource: str, sandbox_id: str, answer: str) -> str:
    """`answer`: of the runtime, as programs in Go write it.

    A kubelet misspells `sandboxID`, and tools may look for its words.
    """
    return (
        f"failed to notify runtime for UpdatePodSandboxResources (resource={resource}); resize rejected: "
        f'updatePodSandboxResources failed for sanboxID "{sandbox_id}": {answer}'
    )


def generation_shown(pod: Pod, kind: str) -> int | None:
    """The generation in a condition of the status; without one that of the pod."""
    conditions = pod.status.conditions if pod.status is not None else ()
    shown = [each.observed_generation for each in conditions if each.type == kind]
    return shown[0] if shown and shown[0] is not None else pod.metadata.generation


def since_shown(pod: Pod, kind: str) -> int | None:
    """The time since which the status has a condition, in s since 1970."""
    conditions = pod.status.conditions if pod.status is not None else ()
    shown = [seconds_of(each.last_transition_time) for each in conditions if each.type == kind]
    return shown[0] if shown else None
