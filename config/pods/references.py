"""References of a pod to objects of an API server: secrets, config maps, claims, accounts (spec 1.2).

A static pod must not depend on the API server, so each reference is a fault (`PreventStaticPodAPIReferences`). Pure;
every reference is found, with its place.
"""

from __future__ import annotations

from config.documents.places import DocumentPlace
from config.objects import Container, PodSpec, Volume, VolumeProjection
from config.pods.volume_sources import VOLUME_SOURCES

_HINT = "remove it: a static pod runs without the API server"

_PROJECTIONS = {
    "secret": "a secret",
    "config_map": "a config map",
    "service_account_token": "a service account token",
    "cluster_trust_bundle": "a cluster trust bundle",
    "pod_certificate": "a pod certificate",
}


def check_api_references(place: DocumentPlace, spec: PodSpec, *, every: bool) -> None:
    """Report a fault for every reference in the spec at `place`.

    With `every` false (the gate is off), only resource claims and trust bundles are faults.
    """
    for at, _ in place.items("resourceClaims", spec.resource_claims):
        _refuse(at, "a resource claim")
    for at, volume in place.items("volumes", spec.volumes):
        _check_volume(at, volume, every)
    if not every:
        return
    if spec.service_account_name or spec.service_account:
        field = "serviceAccountName" if spec.service_account_name else "serviceAccount"
        _refuse(place / field, "a service account")
    for at, _ in place.items("imagePullSecrets", spec.image_pull_secrets):
        _refuse(at, "a secret")
    groups: tuple[tuple[str, tuple[Container, ...]], ...] = (
        ("initContainers", spec.init_containers),
        ("containers", spec.containers),
        ("ephemeralContainers", spec.ephemeral_containers),
    )
    for field, containers in groups:
        for at, container in place.items(field, containers):
            _check_environment(at, container)


def _check_environment(at: DocumentPlace, container: Container) -> None:
    for place, variable in at.items("env", container.env):
        source = variable.value_from
        if source is not None and source.secret_key_ref is not None:
            _refuse(place / "valueFrom" / "secretKeyRef", "a secret")
        if source is not None and source.config_map_key_ref is not None:
            _refuse(place / "valueFrom" / "configMapKeyRef", "a config map")
    for place, source_of_many in at.items("envFrom", container.env_from):
        if source_of_many.secret_ref is not None:
            _refuse(place / "secretRef", "a secret")
        if source_of_many.config_map_ref is not None:
            _refuse(place / "configMapRef", "a config map")


def _check_volume(at: DocumentPlace, volume: Volume, every: bool) -> None:
    if volume.projected is not None:
        for place, projection in (at / "projected").items("sources", volume.projected.sources):
            _check_projection(place, projection, every)
    if not every:
        return
    for name, kind in VOLUME_SOURCES.items():
        source = getattr(volume, name, None)
        if source is not None and kind.api_data:
            _refuse(at, kind.api_data)
        if source is not None and kind.secret_ref and source.secret_ref is not None:
            _refuse(at, "a secret")


def _check_projection(at: DocumentPlace, projection: VolumeProjection, every: bool) -> None:
    for name, what in _PROJECTIONS.items():
        if getattr(projection, name) is not None and (every or name == "cluster_trust_bundle"):
            _refuse(at, what)


def _refuse(at: DocumentPlace, what: str) -> None:
    at.fault(f"a static pod cannot use {what}", _HINT)
