"""What a pod says of its volumes: which of them its containers use, of which kind they are, where they stand. Pure.

As the API has it, a volume without any source is an emptyDir.
"""

from __future__ import annotations

from config.objects import Container, PersistentVolumeSpec, Pod, PodSpec, Volume
from config.pods.once_per_spec import once_per_spec
from runtime.volumes.capability import VolumeSpec

_JSON_NAMES = dict(zip(Volume.__struct_fields__, Volume.__struct_encode_fields__, strict=True))
_ALL_JSON_NAMES = _JSON_NAMES | dict(
    zip(PersistentVolumeSpec.__struct_fields__, PersistentVolumeSpec.__struct_encode_fields__, strict=True)
)


def used_volumes(pod: Pod) -> frozenset[str]:
    """Names of the volumes that some container mounts or uses as a device."""
    return _used(pod.spec)


def specs_of(pod: Pod) -> tuple[VolumeSpec, ...]:
    """Every volume that a container uses (spec 8.3), as far as the pod itself tells, in the order of the pod."""
    return _specs(pod.spec)


@once_per_spec
def _used(spec: PodSpec) -> frozenset[str]:
    mounted = {mount.name for container in _containers(spec) for mount in container.volume_mounts}
    return frozenset(mounted | _used_as_devices(spec))


@once_per_spec
def _specs(spec: PodSpec) -> tuple[VolumeSpec, ...]:
    used = _used(spec)
    devices = _used_as_devices(spec)
    return tuple(
        VolumeSpec(
            name=volume.name,
            volume=volume,
            source=source_of(volume) or "empty_dir",
            field_path=field_path_of(index, volume),
            block=volume.name in devices,
        )
        for index, volume in enumerate(spec.volumes)
        if volume.name in used
    )


def _used_as_devices(spec: PodSpec) -> set[str]:
    return {device.name for container in _containers(spec) for device in container.volume_devices}


def _containers(spec: PodSpec) -> tuple[Container, ...]:
    return (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)


def source_of(volume: Volume) -> str:
    """The attribute of the volume's one source; empty when it has none."""
    return next((name for name in _JSON_NAMES if name != "name" and getattr(volume, name) is not None), "")


def json_name_of(source: str) -> str:
    """What a document calls the source of this attribute: `configMap`."""
    return _ALL_JSON_NAMES.get(source, source)


_LABELLED = frozenset({"empty_dir", "config_map", "secret", "downward_api", "projected", "local", "csi"})
"""Kinds of volumes whose files are the pod's, so that SELinux is to let it have them."""


def keeps_labels(spec: VolumeSpec) -> bool:
    """Whether its files keep the SELinux labels that they have: they are the host's or a server's, or only to be read.

    A `hostPath` of /etc with the label of one pod would be closed to the host itself.
    """
    return spec.source not in _LABELLED or spec.read_only


def field_path_of(index: int, volume: Volume) -> str:
    """Where the volume stands in its pod: `spec.volumes[2].nfs`."""
    source = source_of(volume)
    return f"spec.volumes[{index}]" + (f".{_JSON_NAMES[source]}" if source else "")
