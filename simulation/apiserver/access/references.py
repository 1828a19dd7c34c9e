"""The objects that pods and volumes refer to. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simulation.apiserver.status import Json

Key = tuple[str, str]
"""Namespace and name."""

_REFERENCES: Mapping[str, str] = {
    **dict.fromkeys(("configMap", "configMapKeyRef", "configMapRef"), "configmaps"),
    **dict.fromkeys(("azureFile", "imagePullSecrets", "nodePublishSecretRef"), "secrets"),
    **dict.fromkeys(("secret", "secretKeyRef", "secretRef"), "secrets"),
    "persistentVolumeClaim": "persistentvolumeclaims",
}
"""Fields of a pod that name an object in its namespace, with the resource of that object."""
_NAMES = ("name", "secretName", "claimName")


def references_of(pod: Json) -> dict[str, set[Key]]:
    """Plural -> namespace and name of the objects that the pod refers to."""
    metadata, spec = pod["metadata"], pod["spec"]
    named = [*_named(spec), ("serviceaccounts", spec.get("serviceAccountName"))]
    named += [
        ("persistentvolumeclaims", f"{metadata['name']}-{volume['name']}")
        for volume in spec.get("volumes") or ()
        if volume.get("ephemeral")
    ]
    status = pod.get("status") or {}
    extended = status.get("extendedResourceClaimStatus") or {}
    made = [*(status.get("resourceClaimStatuses") or ()), extended, *(spec.get("resourceClaims") or ())]
    named += [("resourceclaims", each.get("resourceClaimName")) for each in made]
    found: dict[str, set[Key]] = {}
    for plural, name in named:
        if name:
            found.setdefault(plural, set()).add((metadata.get("namespace", ""), name))
    return found


def _named(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Plural and name of each reference in a part of a spec, which is the content of that field."""
    if isinstance(value, list):
        for item in value:
            yield from _named(item, field)
    elif isinstance(value, dict):
        if field in _REFERENCES:
            yield from ((_REFERENCES[field], value[name]) for name in _NAMES if value.get(name))
        for name, item in value.items():
            yield from _named(item, name)


def volume_secrets(volume: Json) -> set[Key]:
    """The secrets of a persistent volume that nodes need, without those of controllers."""
    spec: Json = volume.get("spec") or {}
    source, file = spec.get("csi") or {}, spec.get("azureFile") or {}
    names = ("nodeStageSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")
    found = {(one.get("namespace", ""), one["name"]) for name in names if (one := source.get(name) or {}).get("name")}
    if file.get("secretName"):
        home = file.get("secretNamespace") or (spec.get("claimRef") or {}).get("namespace", "")
        found.add((home, file["secretName"]))
    return found
