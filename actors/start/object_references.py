"""Which ConfigMaps and Secrets a pod refers to, where, and what for (spec 8.9). Pure.

Refuses to know what is in them. Every reference is of the pod's own namespace; one without a name refers to nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

import msgspec

from actors.messages.references import ObjectRef
from actors.start.environment import CONFIG_MAP, SECRET
from config.objects import Container, Pod, PodSpec, Volume, VolumeProjection
from config.pods.once_per_spec import once_per_spec
from config.pods.volume_sources import kind_of, source_of


class Purpose(enum.Enum):
    """What an object is needed for: to start a container, all the time, or to pull an image."""

    ENVIRONMENT = "environment"
    VOLUME = "volume"
    PULL = "pull"


class Reference(msgspec.Struct, frozen=True):
    """One reference of a pod. `optional`: it may lead nowhere."""

    ref: ObjectRef
    optional: bool
    purpose: Purpose


def references(pod: Pod) -> tuple[Reference, ...]:
    """Every one, in the order: pull secrets, containers, volumes. One object may be named more than once."""
    named = _named_in(pod.spec)
    if not named:
        return ()
    namespace = pod.metadata.namespace
    return tuple(
        Reference(ObjectRef(kind, namespace, name), optional, purpose) for kind, name, optional, purpose in named
    )


def environment_objects(pod: Pod) -> tuple[ObjectRef, ...]:
    """What the variables of all containers are taken from, each once."""
    found = references(pod)
    return _objects(found, Purpose.ENVIRONMENT) if found else ()


def pull_secrets(pod: Pod) -> tuple[ObjectRef, ...]:
    """The secrets for pulling, in the order of the pod, each once."""
    return _objects(references(pod), Purpose.PULL)


def has_environment_objects(container: Container) -> bool:
    """Whether a variable of this container is taken from an object."""
    return any(True for _ in _of_container(container))


def uses_tokens(pod: Pod) -> bool:
    """Whether a volume of the pod holds a token of its service account."""
    return _uses_tokens(pod.spec)


def everyone(pod: Pod) -> tuple[Container, ...]:
    """Every container of the pod."""
    return _everyone_in(pod.spec)


@once_per_spec
def _everyone_in(spec: PodSpec) -> tuple[Container, ...]:
    return (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)


@once_per_spec
def _uses_tokens(spec: PodSpec) -> bool:
    return any(
        source.service_account_token is not None
        for volume in spec.volumes
        if volume.projected is not None
        for source in volume.projected.sources
    )


@once_per_spec
def _named_in(spec: PodSpec) -> tuple[tuple[str, str, bool, Purpose], ...]:
    """Kind, name, whether it may lead nowhere, and purpose of each reference."""
    found = [
        *((SECRET, each.name, True, Purpose.PULL) for each in spec.image_pull_secrets),
        *((*each, Purpose.ENVIRONMENT) for container in _everyone_in(spec) for each in _of_container(container)),
        *((*each, Purpose.VOLUME) for volume in spec.volumes for each in _of_volume(volume)),
    ]
    return tuple((kind, name, bool(optional), purpose) for kind, name, optional, purpose in found if name)


def _objects(found: Iterable[Reference], purpose: Purpose) -> tuple[ObjectRef, ...]:
    return tuple(dict.fromkeys(each.ref for each in found if each.purpose is purpose))


_Found = tuple[str, str | None, bool | None]


def _of_container(container: Container) -> Iterator[_Found]:
    for origin in container.env_from:
        if origin.config_map_ref is not None:
            yield CONFIG_MAP, origin.config_map_ref.name, origin.config_map_ref.optional
        if origin.secret_ref is not None:
            yield SECRET, origin.secret_ref.name, origin.secret_ref.optional
    for variable in container.env:
        source = variable.value_from
        if source is not None and source.config_map_key_ref is not None:
            yield CONFIG_MAP, source.config_map_key_ref.name, source.config_map_key_ref.optional
        if source is not None and source.secret_key_ref is not None:
            yield SECRET, source.secret_key_ref.name, source.secret_key_ref.optional


def _of_volume(volume: Volume) -> Iterator[_Found]:
    if volume.config_map is not None:
        yield CONFIG_MAP, volume.config_map.name, volume.config_map.optional
    if volume.secret is not None:
        yield SECRET, volume.secret.secret_name, volume.secret.optional
    if volume.projected is not None:
        for source in volume.projected.sources:
            yield from _of_projection(source)
    if volume.azure_file is not None:
        yield SECRET, volume.azure_file.secret_name, False
    if volume.csi is not None and volume.csi.node_publish_secret_ref is not None:
        yield SECRET, volume.csi.node_publish_secret_ref.name, False
    if kind_of(volume).secret_ref:
        credentials = getattr(volume, source_of(volume)).secret_ref
        if credentials is not None:
            yield SECRET, credentials.name, False


def _of_projection(source: VolumeProjection) -> Iterator[_Found]:
    if source.config_map is not None:
        yield CONFIG_MAP, source.config_map.name, source.config_map.optional
    if source.secret is not None:
        yield SECRET, source.secret.name, source.secret.optional
