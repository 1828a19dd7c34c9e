"""Every signal of eviction, and how it is made of what the machine says (spec 7.1)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.eviction.signals import (
    ALLOCATABLE_MEMORY,
    CONTAINER_FS,
    CONTAINER_FS_INODES,
    IMAGE_FS,
    IMAGE_FS_INODES,
    MEMORY,
    NODE_FS,
    NODE_FS_INODES,
    PIDS,
    SignalReading,
    signals_of,
)
from actors.eviction.thresholds import CONDITIONS, RESOURCES
from config.kubelet.eviction import DEFAULT_EVICTION_HARD
from runtime.stats.readings import (
    CgroupReading,
    FsReading,
    MemoryReading,
    NetworkReading,
    NodeReading,
    SystemContainer,
)
from runtime.stats.samples import NodeSample

MIB = 2**20
GIB = 2**30

SIGNALS = [
    (MEMORY, "memory", "MemoryPressure", "100Mi"),
    (ALLOCATABLE_MEMORY, "memory", "MemoryPressure", None),
    (NODE_FS, "ephemeral-storage", "DiskPressure", "10%"),
    (NODE_FS_INODES, "inodes", "DiskPressure", "5%"),
    (IMAGE_FS, "ephemeral-storage", "DiskPressure", "15%"),
    (IMAGE_FS_INODES, "inodes", "DiskPressure", "5%"),
    (CONTAINER_FS, "ephemeral-storage", "DiskPressure", None),
    (CONTAINER_FS_INODES, "inodes", "DiskPressure", None),
    (PIDS, "pids", "PIDPressure", None),
]


@pytest.mark.parametrize(("signal", "resource", "condition", "default"), SIGNALS)
# (spec 7.1.1)
def test_a_signal_has_a_resource_a_condition_and_maybe_a_default(
    signal: str, resource: str, condition: str, default: str | None
) -> None:
    assert RESOURCES[signal] == resource
    assert CONDITIONS[resource] == condition
    assert DEFAULT_EVICTION_HARD.get(signal) == default


# (spec 7.1.1)
def test_the_table_has_every_signal() -> None:
    assert {signal for signal, *_ in SIGNALS} == RESOURCES.keys()
    assert DEFAULT_EVICTION_HARD.keys() <= RESOURCES.keys()


def disk(available: int, capacity: int, inodes_free: int = 50, inodes: int = 1000, at_ns: int = 5) -> FsReading:
    return FsReading(at_ns, capacity, available, capacity - available, inodes, inodes_free, inodes - inodes_free)


def memory(working_set: int, limit: int | None = None, at_ns: int = 7) -> MemoryReading:
    """Usage is more than the working set, which leaves out cached files that nobody reads."""
    return MemoryReading(at_ns, working_set=working_set, usage=working_set + GIB, limit=limit)


def machine(
    used: MemoryReading | None = None,
    of_pods: MemoryReading | None = None,
    memory_bytes: int = 16 * GIB,
    pids: int | None = None,
    pids_limit: int | None = None,
) -> NodeSample:
    group = CgroupReading("/", memory=used)
    system = () if of_pods is None else (SystemContainer("pods", 0, None, of_pods),)
    network = NetworkReading(0, "", ())
    node = NodeReading(3, 0, 4, group, memory_bytes, 0, 0, network, pids_limit, pids, system)
    return NodeSample(0, node=node)


@pytest.mark.parametrize(
    ("sample", "signal", "reading"),
    [
        # What the machine has less the working set of everything on it.
        (machine(memory(4 * GIB)), MEMORY, SignalReading(12 * GIB, 16 * GIB, 7)),
        (machine(memory(17 * GIB)), MEMORY, SignalReading(0, 16 * GIB, 7)),
        # What all pods may have together less what they have.
        (machine(None, memory(5 * GIB, 6 * GIB)), ALLOCATABLE_MEMORY, SignalReading(GIB, 6 * GIB, 7)),
        # How many processes there may be less how many there are.
        (machine(pids=900, pids_limit=1000), PIDS, SignalReading(100, 1000, 3)),
        (machine(pids=1001, pids_limit=1000), PIDS, SignalReading(0, 1000, 3)),
        # What is left of the file system, and of its inodes.
        (NodeSample(0, root_fs=disk(10, 100)), NODE_FS, SignalReading(10, 100, 5)),
        (NodeSample(0, root_fs=disk(10, 100, 50, 1000)), NODE_FS_INODES, SignalReading(50, 1000, 5)),
        (NodeSample(0, image_fs=disk(20, 200)), IMAGE_FS, SignalReading(20, 200, 5)),
        (NodeSample(0, image_fs=disk(20, 200, 60, 600)), IMAGE_FS_INODES, SignalReading(60, 600, 5)),
        (NodeSample(0, container_fs=disk(30, 300)), CONTAINER_FS, SignalReading(30, 300, 5)),
        (NodeSample(0, container_fs=disk(30, 300, 70, 700)), CONTAINER_FS_INODES, SignalReading(70, 700, 5)),
    ],
)
# (spec 7.1.5)
def test_a_signal_is_what_is_left_of_what_there_is(sample: NodeSample, signal: str, reading: SignalReading) -> None:
    assert signals_of(sample)[signal] == reading


@pytest.mark.parametrize(
    ("fields", "signal"),
    [
        ({"used": None}, MEMORY),
        ({"used": memory(1), "memory_bytes": 0}, MEMORY),
        ({"of_pods": None}, ALLOCATABLE_MEMORY),
        ({"of_pods": memory(1)}, ALLOCATABLE_MEMORY),  # without a limit
        ({"pids": 5}, PIDS),
        ({"pids_limit": 5}, PIDS),
    ],
)
def test_a_signal_of_which_something_is_not_known_is_none(fields: dict[str, Any], signal: str) -> None:
    assert signal not in signals_of(machine(**fields))


def test_a_file_system_without_a_fixed_number_of_inodes_has_no_signal_of_them() -> None:
    assert set(signals_of(NodeSample(0, root_fs=disk(10, 100, 0, 0)))) == {NODE_FS}


def test_a_sample_without_numbers_gives_no_signals() -> None:
    assert signals_of(NodeSample(0)) == {}
