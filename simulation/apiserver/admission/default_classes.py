"""DefaultStorageClass and DefaultIngressClass: who names no class gets the newest default one."""

from __future__ import annotations

from simulation.apiserver.admission.attributes import CREATE, Attributes, Plugin
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import CLAIMS, INGRESS_CLASSES, INGRESSES, STORAGE_CLASSES, ServedResource

_OF_STORAGE = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_OF_INGRESSES = ("ingressclass.kubernetes.io/is-default-class",)


def admit_claim(this: Attributes) -> None:
    found = _default_class(this.core, STORAGE_CLASSES, _OF_STORAGE)
    _set(this, found, "storageClassName", "volume.beta.kubernetes.io/storage-class")


def admit_ingress(this: Attributes) -> None:
    found = _default_class(this.core, INGRESS_CLASSES, _OF_INGRESSES)
    _set(this, found, "ingressClassName", "kubernetes.io/ingress.class")


STORAGE_PLUGIN = Plugin("DefaultStorageClass", frozenset({(CLAIMS, "", CREATE)}), admit=admit_claim)
INGRESS_PLUGIN = Plugin("DefaultIngressClass", frozenset({(INGRESSES, "", CREATE)}), admit=admit_ingress)


def _set(this: Attributes, name: str, field: str, annotation: str) -> None:
    """Set the class, unless the field or the annotation names one already."""
    spec = this.object.get("spec")
    is_named = annotation in (this.object["metadata"].get("annotations") or {})
    if name and isinstance(spec, dict) and spec.get(field) is None and not is_named:
        this.object["spec"] = {**spec, field: name}


def _default_class(core: Core, resource: ServedResource, annotations: tuple[str, ...]) -> str:
    """The newest class that is marked as the default, of several the first by name; "" without one."""
    marked = [
        (one.object["metadata"]["creationTimestamp"], one.name)
        for one in core.store.of[resource.store_key].in_namespace("")
        if any((one.object["metadata"].get("annotations") or {}).get(each) == "true" for each in annotations)
    ]
    return max(marked, key=lambda each: each[0])[1] if marked else ""
