"""Nodes: readiness and what keeps pods away, roles from labels, and what the node says of itself."""

from __future__ import annotations

from simulation.apiserver.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Cell,
    Column,
    Json,
    View,
    age_of,
    items,
    joined,
    name_of,
    part,
    wide,
)

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"
_COLUMNS = (
    NAME,
    Column("Status", "Whether the node is ready, and whether pods may be bound to it."),
    Column("Roles", "The roles that labels give the node."),
    AGE,
    Column("Version", "The version of the node's agent, as of a kubelet."),
    wide("Internal-IP", "The address of the node within the cluster."),
    wide("External-IP", "The address of the node for the world."),
    wide("OS-Image", "The operating system of the node."),
    wide("Kernel-Version", "The kernel of the node."),
    wide("Container-Runtime", "Name and version of the container runtime."),
)


def _cells(json: Json, wall_ns: int) -> list[Cell]:
    info = part(json, "status", "nodeInfo")
    return [
        name_of(json),
        _status(json),
        joined(_roles(part(json, "metadata", "labels"))),
        age_of(json, wall_ns),
        info.get("kubeletVersion", ""),
        _address(json, "InternalIP"),
        _address(json, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _status(json: Json) -> str:
    conditions = items(part(json, "status"), "conditions")
    ready = next((condition.get("status") for condition in conditions if condition.get("type") == "Ready"), None)
    word = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if part(json, "spec").get("unschedulable") else word


def _roles(labels: Json) -> list[str]:
    roles = {label.removeprefix(_ROLE_PREFIX) for label in labels if label.startswith(_ROLE_PREFIX)}
    return sorted((roles | {labels.get(_ROLE_LABEL, "")}) - {""})


def _address(json: Json, kind: str) -> str:
    addresses = items(part(json, "status"), "addresses")
    return next((str(address.get("address")) for address in addresses if address.get("type") == kind), NONE)


NODES = View(_COLUMNS, _cells)
