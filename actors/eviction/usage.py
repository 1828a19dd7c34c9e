"""What a pod uses of what is short, by the sample and by its spec (spec 7.4, 7.6). Pure.

Of a pod's volumes those count that lie on the node's disk and end with it: emptyDir without a medium, ConfigMaps, and
checked out repositories. What is in memory, and what others serve, is not on this disk.
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
from actors.kernel import ActorRef
from config.objects import Pod
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.stats.samples import ContainerSample, PodSample

EMPTY_DIR = VOLUME_SOURCES["empty_dir"].plugin
_ON_DISK = tuple(VOLUME_SOURCES[source].plugin for source in ("empty_dir", "config_map", "git_repo"))


class Part(Enum):
    """What of a pod lies on a disk."""

    LAYERS = "writable layers"
    LOGS = "logs"
    VOLUMES = "local volumes"


ALL_PARTS = frozenset(Part)


class Candidate(msgspec.Struct, frozen=True):
    """A pod that runs here. `sample` None: nothing is known of what it uses. `worker`: who would end it."""

    pod: Pod
    sample: PodSample | None = None
    worker: ActorRef | None = None


def parts_on(signal: str, layout: Layout) -> frozenset[Part]:
    """What of pods lies on the file system of that signal."""
    if layout.is_split:
        return frozenset() if signal in (IMAGE_FS, IMAGE_FS_INODES) else ALL_PARTS
    if layout.layers_with_images:
        of_images = signal in (IMAGE_FS, IMAGE_FS_INODES, CONTAINER_FS, CONTAINER_FS_INODES)
        return frozenset({Part.LAYERS}) if of_images else frozenset({Part.LOGS, Part.VOLUMES})
    return ALL_PARTS


def memory_of(candidate: Candidate) -> int | None:
    """Bytes of its working set; None: not known."""
    sample = candidate.sample
    return None if sample is None or sample.memory is None else sample.memory.working_set


def processes_of(candidate: Candidate) -> int | None:
    """How many processes it has; None: not known."""
    return None if candidate.sample is None else candidate.sample.processes


def is_said(candidate: Candidate, resource: str, parts: frozenset[Part]) -> bool:
    """Whether all is known of what it uses of a resource, though the runtime has not said it: the kernel has.

    What lies in a writable layer only the runtime can say. `parts`: those that count, where it is a disk.
    """
    if candidate.sample is None:
        return False
    if resource == "memory":
        return memory_of(candidate) is not None
    if resource == "pids":
        return processes_of(candidate) is not None
    return Part.LAYERS not in parts or all(each.layer is not None for each in candidate.sample.containers)


def disk_of(candidate: Candidate, parts: frozenset[Part], *, inodes: bool) -> int | None:
    """Bytes, or inodes, of these parts; None: nothing is known of the pod."""
    sample = candidate.sample
    if sample is None:
        return None
    total = sum(container_disk(each, parts, inodes=inodes) for each in sample.containers)
    if Part.VOLUMES in parts:
        for name, used, used_inodes in local_volumes(candidate.pod, sample):
            total += (used_inodes if inodes else used) if name not in in_memory(candidate.pod) else 0
    return total


def container_disk(container: ContainerSample, parts: frozenset[Part], *, inodes: bool) -> int:
    """Bytes, or inodes, of the layer and the logs of a container, as far as known."""
    total = 0
    if Part.LAYERS in parts and container.layer is not None:
        total += (container.layer.inodes_used if inodes else container.layer.used) or 0
    if Part.LOGS in parts and container.logs is not None:
        total += container.logs.inodes_used if inodes else container.logs.used
    return total


def local_volumes(pod: Pod, sample: PodSample) -> tuple[tuple[str, int, int], ...]:
    """(name, bytes, inodes) of the volumes that end with the pod, those in memory as well."""
    named = {volume.name for volume in pod.spec.volumes}
    return tuple(
        (name, reading.used, reading.inodes_used)
        for kind, name, reading in sample.disk.volumes
        if kind in _ON_DISK and name in named
    )


def in_memory(pod: Pod) -> frozenset[str]:
    """Names of the emptyDirs that are not on the node's disk."""
    return frozenset(each.name for each in pod.spec.volumes if each.empty_dir is not None and each.empty_dir.medium)
