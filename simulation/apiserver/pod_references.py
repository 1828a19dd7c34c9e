"""Which secrets, config maps, claims and service accounts pods refer to. Pure; over JSON builtins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from config.pods.volume_sources import VOLUME_SOURCES, json_name_of
from simulation.apiserver.status import Json

Key = tuple[str, str]


class References(msgspec.Struct):
    """Namespace and name of each."""

    secrets: set[Key] = msgspec.field(default_factory=set)
    config_maps: set[Key] = msgspec.field(default_factory=set)
    claims: set[Key] = msgspec.field(default_factory=set)
    accounts: set[Key] = msgspec.field(default_factory=set)

    def by_kind(self) -> tuple[tuple[str, set[Key]], ...]:
        """With the name of the kind, for messages."""
        return (
            ("secrets", self.secrets),
            ("configmaps", self.config_maps),
            ("persistentvolumeclaims", self.claims),
            ("serviceaccounts", self.accounts),
        )


def references_of(pods: Iterable[Json]) -> References:
    """All references of these pods."""
    found = References()
    for pod in pods:
        namespace, name = pod["metadata"].get("namespace", ""), pod["metadata"]["name"]
        spec = pod["spec"]
        if spec.get("serviceAccountName"):
            found.accounts.add((namespace, spec["serviceAccountName"]))
        for pull in spec.get("imagePullSecrets") or ():
            found.secrets.add((namespace, pull.get("name", "")))
        for field_name in ("initContainers", "containers", "ephemeralContainers"):
            for container in spec.get(field_name) or ():
                _of_environment(found, namespace, container)
        for volume in spec.get("volumes") or ():
            _of_volume(found, namespace, name, volume)
    return found


def _of_environment(found: References, namespace: str, container: Json) -> None:
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        _add(found.secrets, namespace, source.get("secretKeyRef"))
        _add(found.config_maps, namespace, source.get("configMapKeyRef"))
    for source in container.get("envFrom") or ():
        _add(found.secrets, namespace, source.get("secretRef"))
        _add(found.config_maps, namespace, source.get("configMapRef"))


def _of_volume(found: References, namespace: str, pod: str, volume: Json) -> None:
    if volume.get("secret"):
        found.secrets.add((namespace, volume["secret"].get("secretName", "")))
    _add(found.config_maps, namespace, volume.get("configMap"))
    if volume.get("persistentVolumeClaim"):
        found.claims.add((namespace, volume["persistentVolumeClaim"].get("claimName", "")))
    if volume.get("ephemeral"):
        found.claims.add((namespace, f"{pod}-{volume.get('name', '')}"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        _add(found.secrets, namespace, source.get("secret"))
        _add(found.config_maps, namespace, source.get("configMap"))
    _add(found.secrets, namespace, (volume.get("csi") or {}).get("nodePublishSecretRef"))
    for name, kind in VOLUME_SOURCES.items():
        if kind.secret_ref:
            _add(found.secrets, namespace, (volume.get(json_name_of(name)) or {}).get("secretRef"))
    if volume.get("azureFile"):
        found.secrets.add((namespace, volume["azureFile"].get("secretName", "")))


def volume_secrets(spec: Json) -> set[Key]:
    """The secrets of a persistent volume that nodes need; those of controllers are not among them."""
    found: set[Key] = set()
    source: dict[str, Any] = spec.get("csi") or {}
    for name in ("nodeStageSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef"):
        reference = source.get(name) or {}
        _add(found, reference.get("namespace", ""), reference)
    file: dict[str, Any] = spec.get("azureFile") or {}
    if file.get("secretName"):
        claim = spec.get("claimRef") or {}
        found.add((file.get("secretNamespace") or claim.get("namespace", ""), file["secretName"]))
    return found


def _add(into: set[Key], namespace: str, reference: Any) -> None:
    if reference and reference.get("name"):
        into.add((namespace, reference["name"]))
