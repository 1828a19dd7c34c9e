"""How much of a short resource a pod uses, by its sample and its spec (spec 7.4, 7.6). Pure.

Only volumes that lie on the node's disk and end with the pod count: emptyDir without a medium, ConfigMaps, and checked
out repositories. Volumes in memory and remote volumes do not use this disk.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from actors.eviction.signals import (
    CONTAINER_FS,
    CONTAINER_FS_INODES,
    IMAGE_FS,
    IMAGE_FS_INODES,
)
from actors.eviction.thresholds import Layout
from config.objects import Pod, PodSpec
from config.pods.once_per_spec import once_per_spec
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.stats.samples import ContainerSample, PodSample

EMPTY_DIR = VOLUME_SOURCES["empty_dir"].plugin
_ON_DISK = tuple(VOLUME_SOURCES[source].plugin for source in ("empty_dir", "config_map", "git_repo"))


class DiskPart(Enum):
    """The parts of a pod that lie on a disk."""

    LAYERS = "writable layers"
    LOGS = "logs"
    VOLUMES = "local volumes"


ALL_PARTS = frozenset(DiskPart)


class Candidate(msgspec.Struct, frozen=True):
    """A running pod. `sample` None: its usage is unknown."""

    pod: Pod
    sample: PodSample | None = None


def parts_on(signal: str, layout: Layout) -> frozenset[DiskPart]:
    """The parts of pods that lie on the file system of that signal."""
    if layout.is_split:
        return frozenset() if signal in (IMAGE_FS, IMAGE_FS_INODES) else ALL_PARTS
    if layout.layers_with_images:
        of_images = signal in (IMAGE_FS, IMAGE_FS_INODES, CONTAINER_FS, CONTAINER_FS_INODES)
        return frozenset({DiskPart.LAYERS}) if of_images else frozenset({DiskPart.LOGS, DiskPart.VOLUMES})
    return ALL_PARTS


def memory_of(candidate: Candidate) -> int | None:
    """Bytes of the working set; None when unknown."""
    sample = candidate.sample
    return None if sample is None or sample.memory is None else sample.memory.working_set


def processes_of(candidate: Candidate) -> int | None:
    """The number of processes; None when unknown."""
    return None if candidate.sample is None else candidate.sample.processes


def is_said(candidate: Candidate, resource: str, parts: frozenset[DiskPart]) -> bool:
    """Whether the sample has the pod's whole usage of a resource.

    Only the runtime knows the size of writable layers. `parts`: the ones that count, when the resource is a disk.
    """
    if candidate.sample is None:
        return False
    if resource == "memory":
        return memory_of(candidate) is not None
    if resource == "pids":
        return processes_of(candidate) is not None
    return DiskPart.LAYERS not in parts or all(each.layer is not None for each in candidate.sample.containers)


def disk_of(candidate: Candidate, parts: frozenset[DiskPart], *, inodes: bool) -> int | None:
    """Bytes, or inodes, of these parts; None when the pod has no sample."""
    sample = candidate.sample
    if sample is None:
        return None
    total = sum(container_disk(each, parts, inodes=inodes) for each in sample.containers)
    if DiskPart.VOLUMES in parts:
        memory = in_memory(candidate.pod)
        for name, used, used_inodes in local_volumes(candidate.pod, sample):
            total += (used_inodes if inodes else used) if name not in memory else 0
    return total


def container_disk(container: ContainerSample, parts: frozenset[DiskPart], *, inodes: bool) -> int:
    """Bytes, or inodes, of a container's layer and logs, as far as known."""
    total = 0
    if DiskPart.LAYERS in parts and container.layer is not None:
        total += (container.layer.inodes_used if inodes else container.layer.used) or 0
    if DiskPart.LOGS in parts and container.logs is not None:
        total += container.logs.inodes_used if inodes else container.logs.used
    return total


def local_volumes(pod: Pod, sample: PodSample) -> tuple[tuple[str, int, int], ...]:
    """(name, bytes, inodes) of the volumes that end with the pod, including those in memory."""
    named = _volume_names(pod.spec)
    return tuple(
        (name, reading.used, reading.inodes_used)
        for kind, name, reading in sample.disk.volumes
        if kind in _ON_DISK and name in named
    )


def in_memory(pod: Pod) -> frozenset[str]:
    """Names of the emptyDirs in memory."""
    return _in_memory(pod.spec)


@once_per_spec
def _in_memory(spec: PodSpec) -> frozenset[str]:
    return frozenset(each.name for each in spec.volumes if each.empty_dir is not None and each.empty_dir.medium)


@once_per_spec
def _volume_names(spec: PodSpec) -> frozenset[str]:
    return frozenset(volume.name for volume in spec.volumes)
