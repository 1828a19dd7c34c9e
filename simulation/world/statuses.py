"""Reads what the rules ask of statuses in the API: of pods and of nodes, as JSON."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def is_ready(status: Json) -> bool:
    """The condition Ready, of a pod or of a node."""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready":
            return bool(condition.get("status") == "True")
    return False


def running_in(status: Json) -> set[str]:
    """Ids of the containers that are shown to run, sidecars among them."""
    return {
        each.get("containerID", "").rpartition("/")[2]
        for kind in ("containerStatuses", "initContainerStatuses")
        for each in status.get(kind) or ()
        if (each.get("state") or {}).get("running") is not None
    }


def pressures_in(status: Json) -> list[str]:
    """Types of the conditions of pressure of a node that are true."""
    found = status.get("conditions") or ()
    return [each["type"] for each in found if each["type"].endswith("Pressure") and each["status"] == "True"]


def restarts_in(status: Json) -> int:
    """The restarts of all containers together."""
    restarts = 0
    for each in status.get("containerStatuses") or ():
        restarts += each.get("restartCount", 0)
    return restarts
