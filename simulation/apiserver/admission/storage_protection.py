"""StorageObjectInUseProtection: new claims, volumes and classes of attributes get a finalizer.

`controllers.storage_protection`, or a controller manager, takes it away when nobody uses the object any longer.
"""

from __future__ import annotations

from simulation.apiserver.admission.attributes import CREATE, Attributes, Plugin
from simulation.apiserver.kinds.table import ATTRIBUTES_CLASSES, CLAIMS, VOLUMES

PROTECTION = {
    CLAIMS: "kubernetes.io/pvc-protection",
    VOLUMES: "kubernetes.io/pv-protection",
    ATTRIBUTES_CLASSES: "kubernetes.io/vac-protection",
}


def admit(this: Attributes) -> None:
    """Add the finalizer as the last one."""
    metadata, finalizer = this.object["metadata"], PROTECTION[this.call.resource]
    known = metadata.get("finalizers") or []
    if finalizer not in known:
        metadata["finalizers"] = [*known, finalizer]


PLUGIN = Plugin(
    "StorageObjectInUseProtection", frozenset((resource, "", CREATE) for resource in PROTECTION), admit=admit
)
