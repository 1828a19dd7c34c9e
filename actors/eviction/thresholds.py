"""The thresholds in force, and whether one is met (spec 7.1). Pure.

An amount is a quantity, or a share of the capacity. A threshold is met when less is left. Once met, it stays met until
the minimum reclaim is available on top. The containers' file system has no configured thresholds: it takes those of the
file system that it shares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

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
)
from config.kubelet import KubeletConfiguration
from config.kubelet.eviction import hard_thresholds
from config.values.durations import parse_duration_ns
from config.values.quantity import parse_quantity

RESOURCES: Mapping[str, str] = {
    MEMORY: "memory",
    ALLOCATABLE_MEMORY: "memory",
    NODE_FS: "ephemeral-storage",
    IMAGE_FS: "ephemeral-storage",
    CONTAINER_FS: "ephemeral-storage",
    NODE_FS_INODES: "inodes",
    IMAGE_FS_INODES: "inodes",
    CONTAINER_FS_INODES: "inodes",
    PIDS: "pids",
}
"""Signal -> the resource that runs short, by its name in events and messages."""

CONDITIONS: Mapping[str, str] = {
    "memory": "MemoryPressure",
    "ephemeral-storage": "DiskPressure",
    "inodes": "DiskPressure",
    "pids": "PIDPressure",
}
"""Resource -> the node condition."""

_OF_CONTAINERS = ((CONTAINER_FS, NODE_FS, IMAGE_FS), (CONTAINER_FS_INODES, NODE_FS_INODES, IMAGE_FS_INODES))


class Amount(msgspec.Struct, frozen=True):
    """A number of units, or a percentage (0 to 100) of the capacity."""

    units: int = 0
    percent: float | None = None

    def of(self, capacity: int) -> int:
        return self.units if self.percent is None else int(capacity * self.percent / 100)


NOTHING = Amount()


class Threshold(msgspec.Struct, frozen=True):
    """One threshold.

    `grace_ns` None: a hard one, pods end at once. `reclaim`: how much more must be left to end it.
    """

    signal: str
    least: Amount
    grace_ns: int | None = None
    reclaim: Amount = NOTHING

    @property
    def resource(self) -> str:
        return RESOURCES[self.signal]

    @property
    def condition(self) -> str:
        return CONDITIONS[self.resource]


class Layout(msgspec.Struct, frozen=True):
    """The layout of the file systems.

    `images_apart`: images are not on the node's file system. `containers_apart`: writable layers are not where images
    are.
    """

    images_apart: bool = False
    containers_apart: bool = False

    @property
    def is_split(self) -> bool:
        """Whether images alone lie on a file system of their own."""
        return self.images_apart and self.containers_apart

    @property
    def layers_with_images(self) -> bool:
        """Whether images and writable layers share a file system that is not the node's."""
        return self.images_apart and not self.containers_apart


def configured_thresholds(configuration: KubeletConfiguration) -> tuple[Threshold, ...]:
    """Hard thresholds first, each kind in the order of its signals.

    Allocatable memory has thresholds only where `enforceNodeAllocatable` names pods.
    """
    reclaim = {signal: amount(text) for signal, text in configuration.eviction_minimum_reclaim.items()}
    graces = configuration.eviction_soft_grace_period
    found = [
        Threshold(signal, amount(text), None, reclaim.get(signal, NOTHING))
        for signal, text in hard_thresholds(configuration).items()
        if signal in RESOURCES
    ]
    if "pods" in configuration.enforce_node_allocatable:
        of_memory = [each for each in found if each.signal == MEMORY]
        found += [msgspec.structs.replace(each, signal=ALLOCATABLE_MEMORY) for each in of_memory]
    found += [
        Threshold(signal, amount(text), parse_duration_ns(graces[signal]), reclaim.get(signal, NOTHING))
        for signal, text in configuration.eviction_soft.items()
        if signal in RESOURCES and signal in graces and text not in ("0%", "100%") and not _is_derived(signal)
    ]
    order = list(RESOURCES)
    return tuple(sorted(found, key=lambda each: (each.grace_ns is not None, order.index(each.signal))))


def thresholds_for(configured: Sequence[Threshold], layout: Layout) -> tuple[Threshold, ...]:
    """The configured thresholds, and copies of them for the containers' file system."""
    derived = []
    for signal, node_fs, image_fs in _OF_CONTAINERS:
        origin = image_fs if layout.layers_with_images else node_fs
        derived += [msgspec.structs.replace(each, signal=signal) for each in configured if each.signal == origin]
    return (*configured, *derived)


def is_met(threshold: Threshold, reading: SignalReading, *, with_reclaim: bool) -> bool:
    """Whether too little is left.

    `with_reclaim`: it was met before, so the minimum reclaim must be left on top.
    """
    wanted = threshold.least.of(reading.capacity)
    if with_reclaim:
        wanted += threshold.reclaim.of(reading.capacity)
    return reading.available < wanted


def amount(text: str) -> Amount:
    """Parse a value of the configuration, already checked by `config.kubelet.eviction.eviction_faults`."""
    if text.endswith("%"):
        return Amount(percent=float(text[:-1]))
    return Amount(parse_quantity(text).value())


def _is_derived(signal: str) -> bool:
    return signal in (CONTAINER_FS, CONTAINER_FS_INODES, ALLOCATABLE_MEMORY)
