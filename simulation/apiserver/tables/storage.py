"""Storage: volumes, claims, attachments, and the drivers of nodes."""

from __future__ import annotations

from simulation.apiserver.tables.columns import (
    AGE,
    NAME,
    UNSET,
    Cell,
    Column,
    Json,
    View,
    age_of,
    is_leaving,
    items,
    joined,
    name_of,
    part,
    wide,
)

_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

_CAPACITY = Column("Capacity", "How much it holds.")
_ACCESS = Column("Access Modes", "Who may use it at once: RWO, ROX, RWX, RWOP.")
_CLASS = Column("StorageClass", "The storage class.")
_ATTRIBUTES_CLASS = Column("VolumeAttributesClass", "The class of its attributes.")
_VOLUME_MODE = wide("VolumeMode", "Filesystem or Block.")


def _access(modes: object) -> str:
    listed = modes if isinstance(modes, list) else []
    return ",".join(short for mode, short in _MODES.items() if mode in listed)


def _phase(json: Json) -> str:
    return "Terminating" if is_leaving(json) else part(json, "status").get("phase", "")


def _class(json: Json) -> str:
    annotated = part(json, "metadata", "annotations").get(_CLASS_ANNOTATION)
    return str(annotated or part(json, "spec").get("storageClassName") or "")


def _volume(json: Json, wall_ns: int) -> list[Cell]:
    spec = part(json, "spec")
    claim = part(spec, "claimRef")
    return [
        name_of(json),
        str(part(spec, "capacity").get("storage", "")),
        _access(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(json),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class(json),
        spec.get("volumeAttributesClassName") or UNSET,
        part(json, "status").get("reason", ""),
        age_of(json, wall_ns),
        spec.get("volumeMode") or UNSET,
    ]


def _claim(json: Json, wall_ns: int) -> list[Cell]:
    spec, status = part(json, "spec"), part(json, "status")
    # Until it is bound, what a claim has is not said: that is what it asks for.
    bound = bool(spec.get("volumeName"))
    return [
        name_of(json),
        _phase(json),
        spec.get("volumeName", ""),
        str(part(status, "capacity").get("storage", "")) if bound else "",
        _access(status.get("accessModes")) if bound else "",
        _class(json),
        spec.get("volumeAttributesClassName") or UNSET,
        age_of(json, wall_ns),
        spec.get("volumeMode") or UNSET,
    ]


def _attachment(json: Json, wall_ns: int) -> list[Cell]:
    spec = part(json, "spec")
    return [
        name_of(json),
        spec.get("attacher", ""),
        part(spec, "source").get("persistentVolumeName") or "",
        spec.get("nodeName", ""),
        bool(part(json, "status").get("attached")),
        age_of(json, wall_ns),
    ]


def _driver(json: Json, wall_ns: int) -> list[Cell]:
    spec = part(json, "spec")
    return [
        name_of(json),
        bool(spec.get("attachRequired", True)),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        joined((request.get("audience", "") for request in items(spec, "tokenRequests")), UNSET),
        bool(spec.get("requiresRepublish")),
        joined(items(spec, "volumeLifecycleModes")),
        age_of(json, wall_ns),
    ]


def _node_drivers(json: Json, wall_ns: int) -> list[Cell]:
    return [name_of(json), len(items(part(json, "spec"), "drivers")), age_of(json, wall_ns)]


PERSISTENT_VOLUMES = View(
    (
        NAME,
        _CAPACITY,
        _ACCESS,
        Column("Reclaim Policy", "What becomes of it when its claim is gone."),
        Column("Status", "Whether it is available, bound, released or has failed."),
        Column("Claim", "The claim it is bound to."),
        _CLASS,
        _ATTRIBUTES_CLASS,
        Column("Reason", "Why it has failed."),
        AGE,
        _VOLUME_MODE,
    ),
    _volume,
)
PERSISTENT_VOLUME_CLAIMS = View(
    (
        NAME,
        Column("Status", "Whether it is pending, bound or lost."),
        Column("Volume", "The volume it is bound to."),
        _CAPACITY,
        _ACCESS,
        _CLASS,
        _ATTRIBUTES_CLASS,
        AGE,
        _VOLUME_MODE,
    ),
    _claim,
)
VOLUME_ATTACHMENTS = View(
    (
        NAME,
        Column("Attacher", "The driver that attaches it.", format="name"),
        Column("PV", "The volume."),
        Column("Node", "The node that it is attached to."),
        Column("Attached", "Whether that is done.", type="boolean"),
        AGE,
    ),
    _attachment,
)
CSI_DRIVERS = View(
    (
        NAME,
        Column("AttachRequired", "Whether its volumes are attached before they are mounted.", type="boolean"),
        Column("PodInfoOnMount", "Whether it is told of the pod when it mounts.", type="boolean"),
        Column("StorageCapacity", "Whether scheduling is to mind its capacity.", type="boolean"),
        Column("TokenRequests", "Audiences of the tokens that it is given."),
        Column("RequiresRepublish", "Whether its volumes are published again and again.", type="boolean"),
        Column("Modes", "Persistent, Ephemeral or both."),
        AGE,
    ),
    _driver,
)
CSI_NODES = View((NAME, Column("Drivers", "How many drivers the node has.", type="integer"), AGE), _node_drivers)
