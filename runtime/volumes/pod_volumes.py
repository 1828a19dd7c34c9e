"""The volumes in a pod: which ones its containers use, and their document paths. Pure."""

from __future__ import annotations

from config.objects import Container, Pod, PodSpec, Volume
from config.pods.once_per_spec import once_per_spec
from config.pods.volume_sources import VOLUME_SOURCES, json_name_of, source_of
from runtime.volumes.capability import VolumeSpec


def used_volumes(pod: Pod) -> frozenset[str]:
    """Names of the volumes that some container mounts or uses as a device."""
    return used_in(pod.spec)


def specs_of(pod: Pod) -> tuple[VolumeSpec, ...]:
    """Every volume that a container uses (spec 8.3), in the order of the pod.

    Claims are not resolved here: the pod alone is read.
    """
    return _specs(pod.spec)


@once_per_spec
def used_in(spec: PodSpec) -> frozenset[str]:
    """See `used_volumes`."""
    mounted = {mount.name for container in _containers(spec) for mount in container.volume_mounts}
    return frozenset(mounted | _used_as_devices(spec))


@once_per_spec
def _specs(spec: PodSpec) -> tuple[VolumeSpec, ...]:
    used = used_in(spec)
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


def keeps_labels(spec: VolumeSpec) -> bool:
    """Whether its files keep their SELinux labels: they belong to the host or a server, or are read-only.

    A `hostPath` of /etc with the label of one pod would be closed to the host itself. A volume that is mounted with a
    label has it already.
    """
    return not VOLUME_SOURCES[spec.source].labelled or spec.read_only or bool(spec.context)


def field_path_of(index: int, volume: Volume) -> str:
    """The document path of the volume: `spec.volumes[2].nfs`."""
    source = source_of(volume)
    return f"spec.volumes[{index}]" + (f".{json_name_of(source)}" if source else "")
