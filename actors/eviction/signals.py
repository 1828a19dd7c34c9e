"""The eviction signals of a sample.

They are capacity and remainder of memory, disks and process ids (spec 7.1).

Pure. A signal without data is left out: no pod is evicted on a guess.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from runtime.stats.readings import FsReading
from runtime.stats.samples import NodeSample

MEMORY = "memory.available"
ALLOCATABLE_MEMORY = "allocatableMemory.available"
NODE_FS = "nodefs.available"
NODE_FS_INODES = "nodefs.inodesFree"
IMAGE_FS = "imagefs.available"
IMAGE_FS_INODES = "imagefs.inodesFree"
CONTAINER_FS = "containerfs.available"
CONTAINER_FS_INODES = "containerfs.inodesFree"
PIDS = "pid.available"

PODS_GROUP = "pods"
"""The cgroup of all pods; its limit is what they may use together."""


class SignalReading(msgspec.Struct, frozen=True):
    """One signal. `at_ns`: wall time of the reading, which tells an old reading from a new one."""

    available: int
    capacity: int
    at_ns: int


def signals_of(sample: NodeSample) -> Mapping[str, SignalReading]:
    """Signal name -> reading, for every signal with data."""
    found: dict[str, SignalReading] = {}
    node = sample.node
    if node is not None:
        memory = node.cgroup.memory
        if memory is not None and node.memory_bytes:
            left = max(0, node.memory_bytes - memory.working_set)
            found[MEMORY] = SignalReading(left, node.memory_bytes, memory.at_ns)
        of_pods = next((each.memory for each in node.system if each.name == PODS_GROUP), None)
        if of_pods is not None and of_pods.limit:
            found[ALLOCATABLE_MEMORY] = SignalReading(of_pods.available or 0, of_pods.limit, of_pods.at_ns)
        if node.pids_limit is not None and node.pids is not None:
            found[PIDS] = SignalReading(max(0, node.pids_limit - node.pids), node.pids_limit, node.at_ns)
    of_disks = (
        (NODE_FS, NODE_FS_INODES, sample.root_fs),
        (IMAGE_FS, IMAGE_FS_INODES, sample.image_fs),
        (CONTAINER_FS, CONTAINER_FS_INODES, sample.container_fs),
    )
    for space, inodes, disk in of_disks:
        if disk is not None:
            found |= _of_disk(space, inodes, disk)
    return found


def _of_disk(space: str, inodes: str, disk: FsReading) -> Mapping[str, SignalReading]:
    found = {space: SignalReading(disk.available, disk.capacity, disk.at_ns)}
    if disk.inodes:  # some file systems have no fixed number of inodes
        found[inodes] = SignalReading(disk.inodes_free, disk.inodes, disk.at_ns)
    return found
