"""PersistentVolumeClaimResize: a claim grows only if it is bound and its class lets it (403)."""

from __future__ import annotations

from config.values.quantity import ZERO
from simulation.apiserver.admission.attributes import UPDATE, Attributes, Plugin
from simulation.apiserver.kinds.table import CLAIMS, STORAGE_CLASSES
from simulation.apiserver.status import Json
from simulation.quotas.resource_lists import read

_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_FIXED = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


def validate(this: Attributes) -> None:
    """Raises StatusError (403)."""
    old, new = this.old, this.new
    if old is None or new is None or _size(new) <= _size(old):
        return
    if (old.get("status") or {}).get("phase") != "Bound":
        raise this.forbidden("Only bound persistent volume claims can be expanded")
    name = _class_of(new)
    found = this.core.store.get(STORAGE_CLASSES.store_key, "", name) if name and name == _class_of(old) else None
    if found is None or not found.object.get("allowVolumeExpansion"):
        raise this.forbidden(_FIXED)


PLUGIN = Plugin("PersistentVolumeClaimResize", frozenset({(CLAIMS, "", UPDATE)}), validate=validate)


def _size(claim: Json) -> int:
    return read((claim["spec"].get("resources") or {}).get("requests")).get("storage", ZERO).nanos


def _class_of(claim: Json) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    return annotations.get(_ANNOTATION) or claim["spec"].get("storageClassName") or ""
